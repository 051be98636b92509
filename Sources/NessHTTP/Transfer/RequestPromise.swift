import Foundation

/// A running request: a promise of its result that also knows how far it has come.
///
/// It runs whether or not anyone keeps the promise. `drop()` ends it and, unless someone else waits for the same exchange, closes
/// its connection.
public class RequestPromise<Value: Sendable>: Promise<Value>, @unchecked Sendable {
    // `@unchecked` as `Promise` is: what this class adds is one constant.
    let tracker: RequestTracker

    /// Starts a request.
    /// - Parameters:
    ///   - sending: The call, or why there is none.
    ///   - running: Knows what is in flight.
    ///   - load: Brings the response.
    ///   - value: Makes the promised value of the response.
    init(
        _ sending: PreparedCall, running: RunningRequests,
        load: @escaping @Sendable (Call) async throws -> HTTPResponse, value: @escaping @Sendable (HTTPResponse) throws -> Value
    ) {
        let tracker = sending.tracker
        self.tracker = tracker
        super.init(makeDropError: sending.makeDropError)
        let remove = running.add(self, groups: sending.groups)
        start {
            let response = try await load(sending.call.get())
            let value = try value(response)
            tracker.keep(response)
            return value
        } settled: { [tracker, unowned self] error in
            // Told by this promise itself, which is there.
            tracker.settled(byDrop: error != nil, isWhole: result != nil)
            remove()
        }
    }

    /// The state of the request. `.dropped` also where a stage of the pipeline gave the request up as if it had been dropped.
    public var status: RequestStatus {
        guard let outcome else {
            return tracker.isRunning ? .running(progress.fractionCompleted ?? 0) : .idle
        }
        switch outcome {
        case .success where tracker.isDropped: return .dropped
        case .success: return tracker.response.map(RequestStatus.completed) ?? .idle
        case .failure(let error): return tracker.isDropped || (error as? NessError)?.kind == .dropped ? .dropped : .error(error)
        }
    }

    /// The response; nil until the promise has its value.
    public var response: HTTPResponse? { result == nil ? nil : tracker.response }

    /// The number of bytes that have moved.
    public var progress: TransferProgress { tracker.progress }

    /// Adds the handlers that only some kinds of requests have to their Foundation progress.
    func addControls(to progress: Progress) {}
}

/// A call that is ready to be sent, or why it cannot be.
struct PreparedCall: Sendable {
    let call: Result<Call, any Error>
    let tracker: RequestTracker
    let groups: Set<String>

    /// Makes the error of a request that is dropped without a reason.
    var makeDropError: @Sendable () -> any Error {
        { [call, tracker] in
            let reason = "dropped by the caller"
            switch call {
            case .success(let call): return call.error(.dropped, reason)
            case .failure: return NessError.dropped(NessError.Context(request: nil, attempts: tracker.attempts, reason: reason))
            }
        }
    }
}

/// Where a request is.
public enum RequestStatus: Sendable {
    /// It has not got to the wire.
    case idle
    /// It is on the wire: how much of it is done, from 0 to 1; 0 while that is not known.
    case running(Double)
    /// It was dropped.
    case dropped
    /// It has its response.
    case completed(HTTPResponse)
    /// It failed.
    case error(any Error)
}
