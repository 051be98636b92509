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
        // A request that was dropped before this stage must not reach the transport.
        try Task.checkCancellation()
        let watchdog = IdleWatchdog(clock, timeout: request.timeout, in: next.context)
        watchdog.look()
        defer { watchdog.finish() }
        try watchdog.checkStop()
        return try await next(
            request,
            in: next.context.with { additions in
                additions.activity = watchdog
                additions.control = watchdog
            })
    }
}

/// Runs the loaders between the idle timeout and the transport in a task of their own, so that the timeout also ends their waits. The
/// pipeline contains this stage only if an application has inserted such loaders.
struct AbandonableStages: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        try await AbandonableWork.run(under: next.context.control) { try await next(request) }
    }
}
