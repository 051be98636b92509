import Foundation

/// A running request: a promise of its result, with its status and progress.
///
/// The request runs whether or not the caller keeps the promise. `drop()` ends it. Unless another caller shares the exchange, the drop also
/// cancels the exchange on the wire.
public class RequestPromise<Value: Sendable>: Promise<Value>, @unchecked Sendable {
    // `@unchecked Sendable` like `Promise`: this class adds one constant.
    let tracker: RequestTracker

    /// Starts a request.
    /// - Parameters:
    ///   - sending: The call, or the error that prevents it.
    ///   - running: The registry of the requests in flight.
    ///   - load: Sends the call's request, and returns the response.
    ///   - value: Makes the promise's value from the response.
    init(
        _ sending: PreparedCall, running: RunningRequests,
        load: @escaping @Sendable (Call) async throws -> HTTPResponse, value: @escaping @Sendable (HTTPResponse) throws -> Value
    ) {
        let tracker = sending.tracker
        self.tracker = tracker
        super.init(makeDropError: sending.makeDropError)
        let id = running.add(self, groups: sending.groups)
        start {
            let response = try await load(sending.call.get())
            let value = try value(response)
            tracker.keep(response)
            return value
        } settled: { [tracker, running, unowned self] error in
            // `unowned` is safe: this promise calls the closure itself.
            tracker.settled(byDrop: error != nil, isWhole: result != nil)
            running.remove(id)
        }
    }

    /// The status of the request. It is `.dropped` also for a request that a stage of the pipeline ended with `NessError.dropped`.
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

    /// The response; `nil` until the promise has its value.
    public var response: HTTPResponse? { result == nil ? nil : tracker.response }

    /// The progress of the request. Until the head of the response has arrived, its fraction means the upload: see
    /// `TransferProgress.totalBytes`.
    public var progress: TransferProgress { tracker.progress }

    /// The progress of the request's body in the current attempt. The total is `nil` for a request without a body, and for a download.
    public var uploadProgress: TransferProgress { tracker.uploadProgress }

    /// The progress of the response's body in the current attempt, or for a download that of the file. The total is `nil` until the head of
    /// the response has arrived.
    public var downloadProgress: TransferProgress { tracker.downloadProgress }

    /// Adds handlers to a Foundation progress. Only some kinds of requests have such handlers.
    func addControls(to progress: Progress) {}
}

/// A call that is ready to be sent, or the error that prevents it.
struct PreparedCall: Sendable {
    let call: Result<Call, any Error>
    let tracker: RequestTracker
    let groups: Set<String>

    /// Makes the error for a drop without a reason.
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

/// The status of a request.
public enum RequestStatus: Sendable {
    /// The request has not reached the wire.
    case idle
    /// The request is on the wire. The associated value is the completed fraction, from 0 to 1; 0 while it is unknown.
    case running(Double)
    /// The request was dropped.
    case dropped
    /// The request has its response.
    case completed(HTTPResponse)
    /// The request failed.
    case error(any Error)
}
