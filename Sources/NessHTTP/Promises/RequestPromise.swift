import Foundation

/// A running request: a promise of its result, with its status and progress.
///
/// The request runs whether or not the caller keeps the promise. `drop()` ends it. Unless another caller shares the exchange, the drop also
/// cancels the exchange on the wire.
public class RequestPromise<Value: Sendable>: Promise<Value>, @unchecked Sendable {
    // `@unchecked Sendable` like `Promise`: this class adds constants.
    let call: Call
    private let makeValue: @Sendable (HTTPResponse) throws -> Value

    /// Starts a request.
    /// - Parameters:
    ///   - call: The call.
    ///   - sender: Sends the call's request.
    ///   - value: Makes the promise's value from the response.
    init(_ call: Call, by sender: any RequestSender, value: @escaping @Sendable (HTTPResponse) throws -> Value) {
        self.call = call
        makeValue = value
        super.init(makeDropError: { call.endError(.dropped, "dropped by the caller") })
        onSettle { error in call.promiseDidSettle(error) }
        // The closure retains the manager: its delegate and observers belong to the request until its end.
        call.start(for: self, in: sender.pipeline.running) { [sender] in try await sender.pipeline.send($0) }
    }

    /// Makes another promise of the same request, with changed errors.
    /// - Parameters:
    ///   - parent: The other promise.
    ///   - mapping: Changes an error, even that of a drop.
    ///   - file: The file of the caller, for an `UnhandledError`.
    ///   - line: The line of the caller.
    required init(
        of parent: RequestPromise<Value>, changingErrors mapping: @escaping @Sendable (any Error) -> any Error, _ file: StaticString,
        _ line: UInt
    ) {
        call = parent.call
        makeValue = parent.makeValue
        super.init(of: parent, changingErrors: mapping, changingValue: type(of: parent).changingErrors(by: mapping), file, line)
    }

    /// Returns a closure that changes the errors that a value throws later. Only the value of a stream throws any.
    class func changingErrors(by mapping: @escaping @Sendable (any Error) -> any Error) -> @Sendable (Value) -> Value { { $0 } }

    /// Returns a promise of the same kind and the same request, with another error, even after a drop: see `Promise.mapError(_:file:line:)`.
    /// - Parameters:
    ///   - transform: Takes the error of this promise and returns that of the new one. It runs inside the call that settles or drops a
    ///     promise, so it must not block. For one drop it may run more than once.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value, or with the error that `transform` returns.
    @discardableResult
    public override func mapError(
        _ transform: @escaping @Sendable (any Error) -> any Error, file: StaticString = #fileID, line: UInt = #line
    ) -> Self {
        Self(of: self, changingErrors: transform, file, line)
    }

    /// The status of the request. A paused transfer is `.idle`. A request that a loader ended with `NessError.Kind.dropped` is `.dropped`.
    public var status: RequestStatus {
        guard let outcome else { return call.attempts > 0 && !call.isPaused ? .running(progress.fractionCompleted ?? 0) : .idle }
        switch outcome {
        case .success: return successStatus
        case .failure(let error): return failureStatus(error)
        }
    }

    private var successStatus: RequestStatus {
        // The reader of a stream may have failed since the promise got its value.
        call.isDropped ? .dropped : call.failure.map(RequestStatus.error) ?? call.response.map(RequestStatus.completed) ?? .idle
    }

    private func failureStatus(_ error: any Error) -> RequestStatus {
        call.isDropped || wasDropped || (error as? NessError)?.kind == .dropped ? .dropped : .error(error)
    }

    /// The response; `nil` until the promise has its value, and after a stream has failed.
    public var response: HTTPResponse? { result == nil ? nil : call.response }

    /// The progress of the request. Until the head of the response has arrived, its fraction means the upload: see
    /// `TransferProgress.totalBytes`.
    public var progress: TransferProgress { call.progress }

    /// The progress of the request's body in the current attempt; for a resumable upload that of the file. The total is `nil` for a request without a body, and for a download.
    public var uploadProgress: TransferProgress { call.uploadProgress }

    /// The progress of the response's body in the current attempt, or for a download that of the file. The total is `nil` until the head of
    /// the response has arrived.
    public var downloadProgress: TransferProgress { call.downloadProgress }

    /// Adds handlers to a Foundation progress. Only some kinds of requests have such handlers.
    func addControls(to progress: Progress) {}
}

extension RequestPromise: CallOwner {
    func settlement(by response: HTTPResponse) throws -> @Sendable () -> Void {
        let value = try makeValue(response)
        return { self.settle(.success(value)) }
    }

    func settle(failing error: any Error) { settle(.failure(error)) }
}

/// A running request whose whole response is collected in memory.
///
/// `@unchecked Sendable` like `RequestPromise`: the class adds no state.
public final class DataPromise: RequestPromise<DataResult>, @unchecked Sendable {}

/// The result of a data request.
public struct DataResult: Sendable {
    /// The response.
    public let message: HTTPResponse

    /// The response, which iONess calls `message`.
    public var response: HTTPResponse { message }

    /// The response's body.
    public var responseData: Data { message.body }

    package init(message: HTTPResponse) { self.message = message }
}

/// The status of a request.
public enum RequestStatus: Sendable {
    /// The request has not reached the wire, or is paused.
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
