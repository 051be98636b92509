/// Counts the attempts and bytes of one call, and keeps the state that several stages share.
final class RequestTracker: LockedObject<RequestTracker.State>, RequestActivity, @unchecked Sendable {
    /// The counters of a call, and what its stages share.
    struct State: Sendable {
        fileprivate var attempts = 0
        fileprivate var sent: Int64 = 0
        fileprivate var toSend: Int64?
        fileprivate var received: Int64 = 0
        fileprivate var toReceive: Int64?
        /// True once the head of the current response has arrived.
        fileprivate var hasHead = false
        fileprivate var isDropped = false
        fileprivate var isLeft = false
        fileprivate var isFinal = false
        fileprivate var isAuthenticated = false
        fileprivate var renewals = CredentialRenewals()
        /// Reports progress to listeners; `nil` until the first listener is added.
        fileprivate var reporter: ProgressReporter?
        /// True if the request succeeded; `nil` until it has ended.
        fileprivate var isWhole: Bool?
        fileprivate var response: HTTPResponse?
        /// The source of the current exchange's partial response.
        fileprivate var partial: (any PartialResponse)?
    }

    private let kind: RequestKind
    /// The manager's clock.
    let clock: PipelineClock

    init(_ clock: PipelineClock, kind: RequestKind = .data) {
        self.kind = kind
        self.clock = clock
        super.init(State())
    }

    // MARK: attempts

    /// The number of attempts that reached the wire.
    var attempts: Int { withLock { $0.attempts } }
    /// True once an attempt has reached the wire.
    var isRunning: Bool { attempts > 0 }
    /// True once the request was dropped. Its task may not have noticed yet.
    var isDropped: Bool { withLock { $0.isDropped } }
    /// True if no retry control is to be asked about the outcome of the last attempt.
    var isFinal: Bool { withLock { $0.isFinal } }
    /// True if an `Authentication` answers a 401 to this request.
    var isAuthenticated: Bool { withLock { $0.isAuthenticated } }

    /// Keeps retry controls from being asked about the outcome of the last attempt.
    func makeFinal() { withLock { $0.isFinal = true } }

    /// Notes that an `Authentication` answers a 401 to this request.
    func markAuthenticated() { withLock { $0.isAuthenticated = true } }

    /// Uses up the renewal of a credential after a 401 or a 403. All attempts of the call share one of each.
    /// - Returns: True if the renewal was still unused.
    func consumeRenewal(after statusCode: Int) -> Bool { withLock { $0.renewals.consume(after: statusCode) } }

    /// Makes the renewals available again, because a credential may expire while a download is paused.
    func restoreRenewals() { withLock { $0.renewals = CredentialRenewals() } }

    /// Sets the source of the current exchange's partial response; `nil` once the exchange has ended.
    func setPartialResponse(_ source: (any PartialResponse)?) {
        // The previous source is released outside the lock.
        _ = withLock { state in
            defer { state.partial = source }
            return state.partial
        }
    }

    /// The source of the current exchange's partial response; `nil` between exchanges.
    var partialResponse: (any PartialResponse)? { withLock { $0.partial } }

    // MARK: progress

    /// The progress of the current attempt.
    var progress: TransferProgress {
        withLock { state in
            if kind == .upload { return TransferProgress(completedBytes: state.sent, totalBytes: state.toSend) }
            // Until the head has come, only the length of the request's body is known. A body of no bytes is no progress.
            let toSend = state.toSend ?? 0
            let total = state.hasHead ? state.toReceive.map { $0.saturatingAdd(toSend) } : toSend > 0 ? toSend : nil
            return TransferProgress(completedBytes: state.sent.saturatingAdd(state.received), totalBytes: total)
        }
    }

    /// The progress of the request's body in the current attempt.
    var uploadProgress: TransferProgress { withLock { TransferProgress(completedBytes: $0.sent, totalBytes: $0.toSend) } }

    /// The progress of the response's body in the current attempt.
    var downloadProgress: TransferProgress {
        withLock { TransferProgress(completedBytes: $0.received, totalBytes: $0.toReceive) }
    }

    /// Adds a progress listener. If bytes have moved already, it is notified at once.
    func listen(_ listener: @escaping ProgressReporter.Listener, atEnd end: (@Sendable () -> Void)?) {
        let (reporter, isWhole) = withLock { state in
            let reporter = state.reporter ?? ProgressReporter(clock)
            state.reporter = reporter
            return (reporter, state.isWhole)
        }
        // A reporter that was just made does not know that the request has ended.
        if let isWhole { reporter.finish(progress, isWhole: isWhole) }
        reporter.add(listener, atEnd: end)
        if progress.completedBytes > 0 { reporter.update(progress) }
    }

    func requestDidStart(attempt: Int) {
        withLock { state in
            state.attempts = attempt
            state.isFinal = false
            (state.sent, state.toSend) = (0, nil)
            // A download resumes its partial file, so the received bytes count for the next attempt, too.
            if kind != .download { (state.received, state.toReceive, state.hasHead) = (0, nil, false) }
        }
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        count { ($0.sent, $0.toSend) = (bytes, total) }
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        count { ($0.received, $0.toReceive, $0.hasHead) = (bytes, total, true) }
    }

    private func count(_ change: @Sendable (inout State) -> Void) {
        let reporter = withLock { state in
            change(&state)
            return state.reporter
        }
        reporter?.update(progress)
    }

    // MARK: the end

    /// True if the reader of a stream stopped before its end.
    var isLeft: Bool { withLock { $0.isLeft } }

    /// Notes that the reader of a stream stopped.
    func markLeft() { withLock { $0.isLeft = true } }

    /// True if the request has succeeded.
    var isWhole: Bool { withLock { $0.isWhole == true } }

    /// The response that the call ended with.
    var response: HTTPResponse? { withLock { $0.response } }

    /// Stores the response, just before the promise settles.
    func keep(_ response: HTTPResponse) { withLock { $0.response = response } }

    /// Notes that the request has ended.
    /// - Parameters:
    ///   - byDrop: True if the request was dropped.
    ///   - isWhole: True if the request succeeded.
    func settled(byDrop: Bool, isWhole: Bool) {
        let reporter = withLock { state in
            state.isDropped = byDrop
            // The promise of a stream has its value before the body has come: see `bodyDidEnd`.
            if kind == .stream, isWhole { return ProgressReporter?.none }
            state.isWhole = isWhole
            return state.reporter
        }
        reporter?.finish(progress, isWhole: isWhole)
    }

    /// Notes that the body of a stream has ended. No progress follows.
    /// - Parameter isWhole: True if the whole body has arrived.
    func bodyDidEnd(isWhole: Bool) {
        let reporter = withLock { state in
            if state.isWhole == nil { state.isWhole = isWhole }
            return state.reporter
        }
        reporter?.finish(progress, isWhole: isWhole)
    }
}

/// The credential renewals of one request: one after a 401, and one after a 403. A 401 after a renewal gets none.
struct CredentialRenewals: Sendable {
    private var last: Int?

    mutating func consume(after statusCode: Int) -> Bool {
        guard last == nil || (last == 401 && statusCode == 403) else { return false }
        last = statusCode
        return true
    }
}

/// A source of the part of a response that has arrived.
protocol PartialResponse: AnyObject, Sendable {
    /// The part of the response that has arrived; `nil` before the head.
    var response: HTTPResponse? { get }
}
