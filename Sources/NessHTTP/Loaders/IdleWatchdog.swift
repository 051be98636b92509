/// Watches one exchange: notes the time of the last byte in either direction, and stops the exchange when that was too long ago.
///
/// The next check is at the time when the timeout would pass if no byte moved until then.
final class IdleWatchdog: LockedObject<IdleWatchdog.State>, @unchecked Sendable {
    /// The state of an exchange.
    struct State: Sendable {
        /// The time of the last event on the wire.
        fileprivate var lastActivity: Duration
        /// True while a slow reader holds the server back.
        fileprivate var isHeldBack = false
        fileprivate var timer: StartedTimer?
        fileprivate var hasFinished = false
        /// Ends the exchange. `nil` while nothing runs that could be ended.
        fileprivate var end: (@Sendable (any Error) -> Void)?
        /// The error with which the exchange was stopped.
        fileprivate var stopError: (any Error)?
    }

    private let clock: PipelineClock
    private let timeout: Duration
    private let context: CallContext

    init(_ clock: PipelineClock, timeout: Duration, in context: CallContext) {
        self.clock = clock
        self.timeout = timeout
        self.context = context
        super.init(State(lastActivity: clock.elapsed()))
        context.audience?.beginIdleCheck(self)
    }

    /// Stops the exchange if it has been idle for too long. Otherwise starts a timer for the next check.
    func look() {
        let now = clock.elapsed()
        let last = withLock { $0.isHeldBack ? now : $0.lastActivity }
        switch context.audience?.judgeIdleness(since: last, at: now) ?? .judge(since: last, timeout, at: now) {
        case .tooLong(let timeout): stop(context.call.idleError(after: timeout))
        case .again(let time): startTimer(after: time - now)
        }
    }

    private func startTimer(after delay: Duration) {
        if withLock({ $0.hasFinished }) { return }
        let timer = clock.startTimer(after: delay, for: self)
        let superfluous: StartedTimer? = withLock { state in
            if state.hasFinished { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        superfluous?.cancel()
    }

    private func stop(_ error: any Error) {
        let end: (@Sendable (any Error) -> Void)? = withLock { state in
            if state.hasFinished || state.stopError != nil { return nil }
            state.stopError = error
            return state.end
        }
        end?(error)
    }

    /// Throws the error with which the exchange was stopped, if it was.
    func checkStop() throws {
        if let error = withLock({ $0.stopError }) { throw error }
    }

    /// Ends the watch, because the exchange has ended.
    func finish() {
        // The audience and the watchdog retain each other until now.
        context.audience?.endIdleCheck(self)
        // The closure is released outside the lock.
        let (timer, _) = withLock { state in
            state.hasFinished = true
            defer { (state.timer, state.end) = (nil, nil) }
            return (state.timer, state.end)
        }
        timer?.cancel()
    }

    private func touch() {
        let now = clock.elapsed()
        withLock { $0.lastActivity = now }
    }
}

extension IdleWatchdog: TimerTarget {
    func timerDidFire() { look() }
}

extension IdleWatchdog: ExchangeControl {
    var isStreamed: Bool { context.sink != nil }

    func enterSlot() -> Bool { context.slot?.enter() ?? true }

    func leaveSlot() { context.slot?.leave() }

    func onStop(_ end: @escaping @Sendable (any Error) -> Void) {
        let error = withLock { state in
            if state.end == nil, !state.hasFinished { state.end = end }
            return state.stopError
        }
        if let error { end(error) }
    }
}

extension IdleWatchdog: RequestActivity {
    func requestDidHoldBack(_ isHeldBack: Bool) {
        let now = clock.elapsed()
        withLock { ($0.lastActivity, $0.isHeldBack) = (now, isHeldBack) }
        context.activity?.requestDidHoldBack(isHeldBack)
    }

    func requestDidStart(attempt: Int) {
        touch()
        context.activity?.requestDidStart(attempt: attempt)
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        touch()
        context.activity?.requestDidSend(bytes: bytes, of: total)
    }

    func requestDidMeasure(_ connection: ConnectionMetrics) { context.activity?.requestDidMeasure(connection) }

    func requestDidReceiveInterim(statusCode: Int, headers: HTTPHeaders) {
        // Its bytes count: a server sends a 102 to say that it is still working.
        touch()
        context.activity?.requestDidReceiveInterim(statusCode: statusCode, headers: headers)
    }

    func requestDidReceiveHead(statusCode: Int) {
        touch()
        context.activity?.requestDidReceiveHead(statusCode: statusCode)
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        touch()
        context.activity?.requestDidReceive(bytes: bytes, of: total)
    }
}

extension Call {
    /// Returns the error for an idle timeout.
    func idleError(after timeout: Duration) -> NessError {
        error(.timedOut, "no byte came or went for \(timeout)", response: responseSoFar)
    }
}
