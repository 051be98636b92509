/// Ends a request, with its retries and waits, when its deadline passes.
struct Deadline: OptionalStage {
    let clock: PipelineClock

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { request.deadline != nil }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard let deadline = request.deadline else { return try await next(request) }
        let call = next.context.call
        guard deadline > .zero else { throw call.error(.invalidRequest, "the deadline is not positive") }
        // A drop settles the promise without waiting for the operation, so a loader that ignores cancellation cannot delay the caller.
        let response = Promise<HTTPResponse>()
        // The timer starts first, so that all time of the operation counts.
        let cancelTimer = clock.startTimer(after: deadline) {
            response.drop(becauseOf: call.error(.timedOut, "the deadline of \(deadline) has passed", response: call.responseSoFar))
        }
        defer { cancelTimer() }
        let end = clock.elapsed() + deadline.clampedForSleep
        let context = next.context.with { $0.deadlineEnd = end }
        response.start { try await next(request, in: context) }
        return try await response.value
    }
}

/// Ends an exchange when no byte has moved for longer than the request's timeout. The time in which a slow reader holds the server back does
/// not count: only the server's silence does.
///
/// A shared exchange has no timeout of its own. Each caller leaves it after the caller's own timeout.
struct IdleTimeout: HTTPLoader {
    let clock: PipelineClock

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let meter = ActivityMeter(clock, passingOn: next.context.activity)
        let metered = next.context.with { $0.activity = meter }
        // A request that was dropped before this stage must not reach the transport.
        try Task.checkCancellation()
        let response = Promise<HTTPResponse>()
        let watchdog = IdleWatchdog(clock, meter, response, timeout: request.timeout, in: metered)
        watchdog.look()
        defer { watchdog.stop() }
        response.start { try await next(request, in: metered) }
        return try await response.value
    }
}

/// Checks whether an exchange has been idle for too long. The next check is at the time when the timeout would pass if no byte moved until
/// then.
private final class IdleWatchdog: Sendable {
    private let clock: PipelineClock
    private let meter: ActivityMeter
    private let response: Promise<HTTPResponse>
    private let timeout: Duration
    private let call: Call
    private let audience: (any IdleAudience)?
    private let timer = Lock<(cancel: (@Sendable () -> Void)?, isStopped: Bool)>((nil, false))

    init(_ clock: PipelineClock, _ meter: ActivityMeter, _ response: Promise<HTTPResponse>, timeout: Duration, in context: CallContext) {
        self.clock = clock
        self.meter = meter
        self.response = response
        self.timeout = timeout
        call = context.call
        audience = context.audience
        audience?.onEarlierTimeout { [weak self] in self?.look() }
    }

    func look() {
        let now = clock.elapsed()
        switch audience?.judgeIdleness(since: meter.lastActivity, at: now) ?? .judge(since: meter.lastActivity, timeout, at: now) {
        case .tooLong(let timeout): response.drop(becauseOf: call.idleError(after: timeout))
        case .lookAgain(let time): if !response.isCompleted { startTimer(after: time - now) }
        }
    }

    private func startTimer(after delay: Duration) {
        let cancel = clock.startTimer(after: delay) { [weak self] in self?.look() }
        let superfluous: (@Sendable () -> Void)? = timer.withLock { timer in
            if timer.isStopped { return cancel }
            defer { timer.cancel = cancel }
            return timer.cancel
        }
        superfluous?()
    }

    func stop() {
        let cancel = timer.withLock { timer in
            timer.isStopped = true
            defer { timer.cancel = nil }
            return timer.cancel
        }
        cancel?()
    }
}

extension Call {
    /// Returns the error for an idle timeout.
    func idleError(after timeout: Duration) -> NessError {
        error(.timedOut, "no byte came or went for \(timeout)", response: responseSoFar)
    }
}

/// Stores the time of the last event on the wire.
private final class ActivityMeter: RequestActivity {
    private let clock: PipelineClock
    private let wrapped: (any RequestActivity)?
    private let state: Lock<(last: Duration, isHeldBack: Bool)>

    init(_ clock: PipelineClock, passingOn wrapped: (any RequestActivity)?) {
        self.clock = clock
        self.wrapped = wrapped
        state = Lock((clock.elapsed(), false))
    }

    /// The time of the last event; the current time while the server is held back.
    var lastActivity: Duration {
        let now = clock.elapsed()
        return state.withLock { $0.isHeldBack ? now : $0.last }
    }

    private func touch() {
        let now = clock.elapsed()
        state.withLock { $0.last = now }
    }

    func requestDidHoldBack(_ isHeldBack: Bool) {
        let now = clock.elapsed()
        state.withLock { $0 = (now, isHeldBack) }
        wrapped?.requestDidHoldBack(isHeldBack)
    }

    func requestDidStart(attempt: Int) {
        touch()
        wrapped?.requestDidStart(attempt: attempt)
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        touch()
        wrapped?.requestDidSend(bytes: bytes, of: total)
    }

    func requestDidMeasure(_ connection: ConnectionMetrics) { wrapped?.requestDidMeasure(connection) }

    func requestDidReceiveInterim(statusCode: Int, headers: HTTPHeaders) {
        // Its bytes count: a server sends a 102 to say that it is still working.
        touch()
        wrapped?.requestDidReceiveInterim(statusCode: statusCode, headers: headers)
    }

    func requestDidReceiveHead(statusCode: Int) {
        touch()
        wrapped?.requestDidReceiveHead(statusCode: statusCode)
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        touch()
        wrapped?.requestDidReceive(bytes: bytes, of: total)
    }
}
