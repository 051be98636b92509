/// Ends a logical request, with its retries and waits, when its deadline passes.
struct Deadline: HTTPLoader {
    let clock: Timekeeper

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard let deadline = request.deadline else { return try await next(request) }
        guard deadline > .zero else { throw TransportError(.invalidRequest, "the deadline is not positive") }
        return try await withWatchdog(
            { try await clock.watch(deadline) }, error: TransportError(.timedOut, "the deadline of \(deadline) has passed")
        ) { try await next(request) }
    }
}

/// Ends an exchange when no byte has moved for longer than the request's timeout.
struct IdleTimeout: HTTPLoader {
    let clock: Timekeeper

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let timeout = request.timeout
        let meter = ActivityMeter(clock, passingOn: request.activity)
        var request = request
        request.activity = meter
        return try await withWatchdog(
            {
                while true {
                    let left = timeout - meter.idleTime
                    if left <= .zero { return }
                    try await clock.watch(left)
                }
            }, error: TransportError(.timedOut, "no byte came or went for \(timeout)")
        ) { [request] in try await next(request) }
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

/// Runs an operation until it ends or the watchdog does, whichever is first. The operation is then cancelled and not waited for: a
/// loader that does not notice can't keep its caller.
private func withWatchdog(
    _ watchdog: @escaping @Sendable () async throws -> Void, error: TransportError,
    _ operation: @escaping @Sendable () async throws -> HTTPResponse
) async throws -> HTTPResponse {
    let response = Promise { try await operation() }
    let timer = Task {
        // A clock that fails, as on cancellation, ends nothing.
        guard (try? await watchdog()) != nil else { return }
        response.drop(becauseOf: error)
    }
    defer { timer.cancel() }
    return try await response.value
}
