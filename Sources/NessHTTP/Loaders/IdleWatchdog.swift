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
        /// `nil` once the exchange has ended: a transport may keep its request, and with it this object, for longer.
        fileprivate var context: CallContext?
        /// The number of checks that have begun.
        fileprivate var lookCount = 0
        fileprivate var timer: (number: Int, timer: StartedTimer)?
        /// Ends the exchange. `nil` while nothing runs that could be ended.
        fileprivate var end: (@Sendable (any Error) -> Void)?
        /// The error with which the exchange was stopped.
        fileprivate var stopError: (any Error)?

        fileprivate var hasFinished: Bool { context == nil }
    }

    private let clock: PipelineClock
    private let timeout: Duration
    private let slot: HostSlot?

    init(_ clock: PipelineClock, timeout: Duration, in context: CallContext) {
        self.clock = clock
        self.timeout = timeout
        slot = context.slot
        super.init(State(lastActivity: clock.elapsed(), context: context))
        context.audience?.beginIdleCheck(self)
    }

    /// Stops the exchange if it has been idle for too long. Otherwise starts a timer for the next check. Several checks may run at once.
    func look() {
        let now = clock.elapsed()
        let (context, last, number): (CallContext?, Duration, Int) = withLock { state in
            state.lookCount += 1
            return (state.context, state.isHeldBack ? now : state.lastActivity, state.lookCount)
        }
        guard let context else { return }
        switch context.audience?.judgeIdleness(since: last, at: now) ?? .judge(since: last, timeout, at: now) {
        case .tooLong(let timeout): stop(context.call.idleError(after: timeout))
        case .again(let time): startTimer(after: time - now, number)
        }
    }

    /// Starts the timer of a check. The timer of the latest check stays: it knows the callers who joined last.
    private func startTimer(after delay: Duration, _ number: Int) {
        let timer = clock.startTimer(after: delay, for: self)
        let superfluous: StartedTimer? = withLock { state in
            if state.hasFinished || state.timer.map({ $0.number > number }) ?? false { return timer }
            defer { state.timer = (number, timer) }
            return state.timer?.timer
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
        // The closure and the context are released outside the lock.
        let (timer, context, _) = withLock { state in
            defer { (state.timer, state.context, state.end) = (nil, nil, nil) }
            return (state.timer, state.context, state.end)
        }
        // The audience and the watchdog retain each other until now.
        context?.audience?.endIdleCheck(self)
        timer?.timer.cancel()
    }

    /// Notes that bytes have moved. Returns the listener of the exchange.
    private func touch() -> (any RequestActivity)? {
        let now = clock.elapsed()
        return withLock { state in
            state.lastActivity = now
            return state.context?.activity
        }
    }
}

extension IdleWatchdog: TimerTarget {
    func timerDidFire() { look() }
}

extension IdleWatchdog: ExchangeControl {
    func enterSlot() -> Bool { slot?.enter() ?? true }

    func leaveSlot() { slot?.leave() }

    func bytesDidMove() { _ = touch() }

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
        let activity = withLock { state in
            (state.lastActivity, state.isHeldBack) = (now, isHeldBack)
            return state.context?.activity
        }
        activity?.requestDidHoldBack(isHeldBack)
    }

    // No byte moves yet. The timeout runs since the watchdog was made, whenever a test advances its clock.
    func requestDidStart(attempt: Int) { withLock { $0.context?.activity }?.requestDidStart(attempt: attempt) }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        // None, at the start of an attempt with a body.
        let activity = bytes > 0 ? touch() : withLock { $0.context?.activity }
        activity?.requestDidSend(bytes: bytes, of: total)
    }

    func requestDidMeasure(_ connection: ConnectionMetrics) { withLock { $0.context?.activity }?.requestDidMeasure(connection) }

    // The bytes of an interim response count: a server sends a 102 to say that it is still working.
    func requestDidReceiveInterim(_ head: ReceivedHead) { touch()?.requestDidReceiveInterim(head) }

    func requestDidReceiveHead(_ head: ReceivedHead) { touch()?.requestDidReceiveHead(head) }

    func requestDidReceive(bytes: Int64, of total: Int64?) { touch()?.requestDidReceive(bytes: bytes, of: total) }
}

extension Call {
    /// Returns the error for an idle timeout.
    func idleError(after timeout: Duration) -> NessError {
        error(.timedOut, "no byte came or went for \(timeout)", response: responseSoFar)
    }
}
