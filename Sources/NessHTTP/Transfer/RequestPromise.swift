/// A running request: a promise of its result that also knows how far it has come.
///
/// It runs whether or not anyone keeps the promise. `drop()` ends it and, unless someone else waits for the same exchange, closes
/// its connection.
public class RequestPromise<Value: RequestResult>: Promise<Value>, @unchecked Sendable {
    // `@unchecked` as `Promise` is: what this class adds is one constant.
    let tracker: RequestTracker

    /// Starts a request.
    init(
        _ tracker: RequestTracker, request: HTTPRequest?, running: RunningRequests, operation: @escaping @Sendable () async throws -> Value
    ) {
        self.tracker = tracker
        super.init(makeDropError: tracker.makeDropError(request))
        let remove = running.add(self, groups: request?.groups ?? [])
        start(operation: operation) { [tracker, unowned self] error in
            // Told by this promise itself, which is there.
            tracker.settled(byDrop: error != nil, isWhole: result != nil)
            remove()
        }
    }

    /// Where the request is.
    public var status: RequestStatus {
        guard let outcome else {
            return tracker.isRunning ? .running(progress.fractionCompleted ?? 0) : .idle
        }
        switch outcome {
        case .success(let value): return .completed(value.message)
        case .failure(let error): return tracker.isDropped ? .dropped : .error(error)
        }
    }

    /// How many bytes have moved.
    public var progress: TransferProgress { tracker.progress }
}

/// What a request promises: something that holds the response.
public protocol RequestResult: Sendable {
    /// The response.
    var message: HTTPResponse { get }
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

/// Counts what one request does on the wire, over all its attempts.
final class RequestTracker: RequestActivity, AttemptCounter {
    private struct State: Sendable {
        var attempts = 0
        var sent: Int64 = 0
        var toSend: Int64?
        var received: Int64 = 0
        var toReceive: Int64?
        var isDropped = false
        var isFinal = false
        var renewals = CredentialRenewals()
        /// Tells those who want to know; made for the first of them.
        var reporter: ProgressReporter?
        /// Whether the request has what it promised; nil until it has ended.
        var isWhole: Bool?
    }

    private let state = Lock(State())
    private let kind: RequestKind
    private let clock: Timekeeper

    init(_ clock: Timekeeper, kind: RequestKind = .data) {
        self.kind = kind
        self.clock = clock
    }

    /// Adds a listener. What came before is told at once.
    func listen(_ listener: @escaping ProgressReporter.Listener, atEnd end: (@Sendable () -> Void)?) {
        let (reporter, isWhole) = state.withLock { state in
            let reporter = state.reporter ?? ProgressReporter(clock)
            state.reporter = reporter
            return (reporter, state.isWhole)
        }
        // One that nobody had listened to does not know of the end.
        if let isWhole { reporter.finish(progress, isWhole: isWhole) }
        reporter.add(listener, atEnd: end)
        if progress.completedBytes > 0 { reporter.update(progress) }
    }

    var attempts: Int { state.withLock { $0.attempts } }
    var isRunning: Bool { attempts > 0 }
    var isDropped: Bool { state.withLock { $0.isDropped } }
    var isFinal: Bool { state.withLock { $0.isFinal } }

    var progress: TransferProgress {
        state.withLock { state in
            if kind == .upload { return TransferProgress(completedBytes: state.sent, totalBytes: state.toSend) }
            // The total is known once both directions are.
            let total = state.toReceive.map { $0 + (state.toSend ?? 0) }
            return TransferProgress(completedBytes: state.sent + state.received, totalBytes: total)
        }
    }

    func requestDidStart(attempt: Int) {
        state.withLock { state in
            state.attempts = attempt
            state.isFinal = false
            (state.sent, state.toSend) = (0, nil)
            // What there is of a file is there for another attempt, too.
            if kind != .download { (state.received, state.toReceive) = (0, nil) }
        }
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        count { ($0.sent, $0.toSend) = (bytes, total) }
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        count { ($0.received, $0.toReceive) = (bytes, total) }
    }

    private func count(_ change: @Sendable (inout State) -> Void) {
        let reporter = state.withLock { state in
            change(&state)
            return state.reporter
        }
        reporter?.update(progress)
    }

    func makeFinal() { state.withLock { $0.isFinal = true } }

    func takeRenewal(after statusCode: Int) -> Bool { state.withLock { $0.renewals.take(after: statusCode) } }

    /// Gives the renewal back: what goes on after a pause may meet a credential that is too old by then.
    func giveRenewal() { state.withLock { $0.renewals = CredentialRenewals() } }

    /// Makes the error of a request that is dropped without a reason.
    func makeDropError(_ request: HTTPRequest?) -> @Sendable () -> any Error {
        { [self] in NessError.dropped(NessError.Context(request: request, attempts: attempts, reason: "dropped by the caller")) }
    }

    /// The request has ended.
    /// - Parameter isWhole: Whether it has what it promised.
    func settled(byDrop: Bool, isWhole: Bool) {
        let reporter = state.withLock { state in
            state.isDropped = byDrop
            state.isWhole = isWhole
            return state.reporter
        }
        reporter?.finish(progress, isWhole: isWhole)
    }
}
