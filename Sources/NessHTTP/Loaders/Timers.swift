/// Ends a logical request, with its retries and waits, when its deadline passes.
struct Deadline: OptionalStage {
    let clock: Timekeeper

    func isNeeded(by request: HTTPRequest) -> Bool { request.deadline != nil }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard let deadline = request.deadline else { return try await next(request) }
        guard deadline > .zero else { throw TransportError(.invalidRequest, "the deadline is not positive") }
        // The operation is not waited for when it is cancelled: a loader that does not notice can't keep its caller.
        let response = Promise<HTTPResponse>()
        // Before it begins: all that it does counts.
        let cancelTimer = clock.startTimer(after: deadline) {
            response.drop(becauseOf: TransportError(.timedOut, "the deadline of \(deadline) has passed"))
        }
        defer { cancelTimer() }
        response.start { try await next(request) }
        return try await response.value
    }
}

/// Ends an exchange when no byte has moved for longer than the request's timeout.
struct IdleTimeout: HTTPLoader {
    let clock: Timekeeper

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let meter = ActivityMeter(clock, passingOn: request.activity)
        var metered = request
        metered.activity = meter
        // A request that was dropped before must not begin to be sent.
        try Task.checkCancellation()
        let response = Promise<HTTPResponse>()
        let watchdog = IdleWatchdog(clock, meter, response, timeout: request.timeout)
        watchdog.start()
        defer { watchdog.stop() }
        response.start { [metered] in try await next(metered) }
        return try await response.value
    }
}

/// Drops a response when its exchange has been idle for too long; looks again when it would have been, had no byte moved.
private final class IdleWatchdog: Sendable {
    private let clock: Timekeeper
    private let meter: ActivityMeter
    private let response: Promise<HTTPResponse>
    private let timeout: Duration
    private let cancel = Lock<(@Sendable () -> Void)?>(nil)

    init(_ clock: Timekeeper, _ meter: ActivityMeter, _ response: Promise<HTTPResponse>, timeout: Duration) {
        self.clock = clock
        self.meter = meter
        self.response = response
        self.timeout = timeout
    }

    func start() {
        let left = timeout - meter.idleTime
        guard left > .zero else {
            return response.drop(becauseOf: TransportError(.timedOut, "no byte came or went for \(timeout)"))
        }
        guard !response.isCompleted else { return }
        let cancelTimer = clock.startTimer(after: left) { [weak self] in self?.start() }
        cancel.withLock { $0 = cancelTimer }
    }

    func stop() {
        let cancelTimer = cancel.withLock { $0 }
        cancelTimer?()
    }
}

/// Remembers when a byte last moved.
private final class ActivityMeter: RequestActivity {
    private let clock: Timekeeper
    private let wrapped: (any RequestActivity)?
    private let last: Lock<Duration>

    init(_ clock: Timekeeper, passingOn wrapped: (any RequestActivity)?) {
        self.clock = clock
        self.wrapped = wrapped
        last = Lock(clock.elapsed())
    }

    var idleTime: Duration { last.withLock { clock.elapsed() - $0 } }

    private func touch() {
        let now = clock.elapsed()
        last.withLock { $0 = now }
    }

    func requestDidStart(attempt: Int) {
        touch()
        wrapped?.requestDidStart(attempt: attempt)
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        touch()
        wrapped?.requestDidSend(bytes: bytes, of: total)
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        touch()
        wrapped?.requestDidReceive(bytes: bytes, of: total)
    }
}
