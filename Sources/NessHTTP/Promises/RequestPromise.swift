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
        sender.start(call, for: self)
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

    /// The status of the request. A paused download is `.idle`. A request that a loader ended with `NessError.Kind.dropped` is `.dropped`.
    public var status: RequestStatus {
        guard let outcome else {
            return call.attempts > 0 && !call.isPaused ? .running(progress.fractionCompleted ?? 0) : .idle
        }
        switch outcome {
        case .success where call.isDropped: return .dropped
        // The reader of a stream may have failed since the promise got its value.
        case .success: return call.failure.map(RequestStatus.error) ?? call.response.map(RequestStatus.completed) ?? .idle
        case .failure where call.isDropped || wasDropped: return .dropped
        case .failure(let error): return (error as? NessError)?.kind == .dropped ? .dropped : .error(error)
        }
    }

    /// The response; `nil` until the promise has its value, and after a stream has failed.
    public var response: HTTPResponse? { result == nil ? nil : call.response }

    /// The progress of the request. Until the head of the response has arrived, its fraction means the upload: see
    /// `TransferProgress.totalBytes`.
    public var progress: TransferProgress { call.progress }

    /// The progress of the request's body in the current attempt. The total is `nil` for a request without a body, and for a download.
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

    func settle(failing error: any Error) { _ = settle(.failure(error)) }
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
