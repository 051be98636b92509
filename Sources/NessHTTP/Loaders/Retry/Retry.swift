import Foundation

/// Makes attempts until one succeeds or the retry control decides to stop. The caller's validators judge each attempt.
///
/// Each attempt starts from the request as the caller made it, and passes all stages below again.
final class Retry: HTTPLoader {
    let clock: PipelineClock
    let ledger: RetryLedger
    /// The manager's control, for requests that bring none.
    let fallback: (any RetryControl)?

    init(clock: PipelineClock, ledger: RetryLedger, fallback: (any RetryControl)?) {
        self.clock = clock
        self.ledger = ledger
        self.fallback = fallback
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let start = clock.elapsed()
        ledger.countRequest(at: start)
        var context = next.context
        while true {
            let attempt: Attempt
            do {
                attempt = Attempt(request, in: context, .success(try await next(request, in: context)), elapsed: clock.elapsed() - start)
            } catch {
                attempt = Attempt(request, in: context, .failure(error), elapsed: clock.elapsed() - start)
            }
            guard attempt.hasFailed, try await waitForNextAttempt(after: attempt, in: context)
            else { return try result(of: attempt, in: context) }
            context = Self.nextAttempt(context)
        }
    }

    // The next three functions are not inlined, to keep the frame of `load` small: the frame lives as long as the request.

    /// Returns the context of the next attempt.
    @inline(never)
    private static func nextAttempt(_ context: CallContext) -> CallContext { context.with { $0.attempt += 1 } }

    /// Returns or throws the outcome of the last attempt.
    @inline(never)
    private func result(of attempt: Attempt, in context: CallContext) throws -> HTTPResponse {
        let isAsked = context.call.choices.retryControl != nil || fallback != nil
        return try attempt.result(namingRetryAfter: isAsked ? attempt.failed?.retryAfter : nil)
    }

    func reset() async { ledger.reset() }

    /// Asks the control, and waits for the delay that it sets.
    /// - Returns: False if no other attempt follows.
    @inline(never)
    private func waitForNextAttempt(after attempt: Attempt, in context: CallContext) async throws -> Bool {
        guard let failed = attempt.failed else { return false }
        guard let delay = await delay(after: failed, in: context) else { return false }
        // If the wait would pass the deadline, the request ends now, with the outcome of the last attempt.
        if let end = context.deadlineEnd, clock.elapsed() + delay >= end { return false }
        guard ledger.takeRetry() else { return false }
        context.observation?.notify { $0.requestWillRetry(failed.request, after: delay, becauseOf: failed) }
        // A drop during the wait cancels the sleep, and the `CancellationError` counts as a drop.
        if delay > .zero { try await clock.sleep(delay) }
        try Task.checkCancellation()
        return true
    }

    /// Returns the wait before the next attempt; `nil` if no other attempt follows.
    private func delay(after failed: FailedAttempt, in context: CallContext) async -> Duration? {
        guard let control = control(for: failed, in: context) else { return nil }
        let decision = await control.shouldRetry(failed)
        if decision == .noRetry || Task.isCancelled { return nil }
        guard case .retryAfter(let seconds) = decision, seconds > 0 else { return .zero }
        return seconds.isFinite ? .seconds(min(seconds, 1e9)) : .seconds(1_000_000_000)
    }

    /// Returns the control to ask about an attempt.
    ///
    /// A control that the request brings is always asked, because the caller chose it for this request. The manager's control is asked only
    /// if another attempt does no harm: the request is idempotent, or the server certainly has not seen it.
    private func control(for failed: FailedAttempt, in context: CallContext) -> (any RetryControl)? {
        if let own = context.call.choices.retryControl { return own }
        return failed.request.isIdempotent || !failed.mayHaveReachedServer ? fallback : nil
    }
}

/// The outcome of an attempt, with the verdict of the caller's validators. It is a class to keep the frame of the waiting task small.
private final class Attempt: Sendable {
    private let outcome: Result<HTTPResponse, any Error>
    /// The attempt as a failure; `nil` if it succeeded, or if another attempt cannot change the outcome.
    let failed: FailedAttempt?

    /// Returns the response, or throws the error.
    /// - Parameter retryAfter: The wait that the server asked for, which the error's reason names; `nil` to leave the reason unchanged.
    @inline(never)
    func result(namingRetryAfter retryAfter: Duration?) throws -> HTTPResponse {
        guard let retryAfter, case .failure(let error as NessError) = outcome else { return try outcome.get() }
        var context = error.context
        context.reason += "; the server asks to wait \(retryAfter) before another attempt"
        throw NessError(error.kind, context)
    }

    /// True if there is a failure that another attempt could change.
    var hasFailed: Bool { failed != nil }

    @inline(never)
    init(_ request: HTTPRequest, in context: CallContext, _ outcome: Result<HTTPResponse, any Error>, elapsed: Duration) {
        let response: HTTPResponse?
        switch outcome {
        case .success(let value):
            context.observation?.notify { $0.requestDidReceive(value, to: request) }
            response = value
            self.outcome = Result {
                do {
                    // A stream was judged by its head, before its body was passed on.
                    if context.sink?.isRestartable != false { for validator in context.validators { try value.judge(by: validator) } }
                    return value
                } catch {
                    throw context.call.explain(error)
                }
            }
        case .failure(let error):
            let explained = context.call.explain(error)
            response = (explained as? NessError)?.response
            self.outcome = .failure(explained)
        }
        var failed = FailedAttempt(request, in: context, self.outcome, response, elapsed: elapsed)
        failed?.retryAfter = response?.headers[HeaderName.retryAfter].flatMap { RetryAfter.duration($0, now: Date()) }
        self.failed = failed
    }
}

extension FailedAttempt {
    /// The attempt as a failure; `nil` if it succeeded, or if another attempt cannot change the outcome.
    fileprivate init?(
        _ request: HTTPRequest, in context: CallContext, _ outcome: Result<HTTPResponse, any Error>, _ response: HTTPResponse?,
        elapsed: Duration
    ) {
        switch outcome {
        case .success(let response):
            let suggestsRetry = [408, 429].contains(response.statusCode) || response.statusCode >= 500
            guard suggestsRetry, request.body?.isSpent != true else { return nil }
            self.init(request: request, response: response, number: context.attempt, elapsed: elapsed)
        case .failure(let error):
            let failure = error as? NessError
            // Another attempt cannot change these outcomes, or was ruled out by the caller.
            if [.dropped, .invalidRequest, .duplicate, .fileSystem, .tls, .decoding].contains(failure?.kind) || error is any FinalError {
                return nil
            }
            let tracker = context.call.tracker
            let mayRepeat = context.sink?.isRestartable != false && request.body?.isSpent != true
            if !mayRepeat || tracker.isFinal || failure?.context.isFinal == true { return nil }
            // The authentication has handled the 401, or has given up on it.
            if failure?.kind == .validation, response?.statusCode == 401, tracker.isAuthenticated { return nil }
            self.init(
                request: request, response: response, error: error, number: context.attempt, elapsed: elapsed,
                mayHaveReachedServer: failure?.mayHaveReachedServer ?? true)
        }
    }
}

extension HTTPResponse {
    /// Throws `NessError.validation` if a validator refuses this response.
    func judge(by validator: any ResponseValidator) throws {
        // The answer to a download that asked only for a changed file. The validators of the download that saved the file have judged it.
        if statusCode == 304, file != nil { return }
        let reason: String
        var cause: (any Error)?
        switch validator.validate(for: self) {
        case .valid: return
        case .invalid: reason = "the response was refused by \(type(of: validator))"
        case .invalidWithReason(let text): reason = text
        case .invalidBecauseOf(let error): (reason, cause) = ("the response was refused: \(error)", error)
        }
        var context = NessError.Context(request: request, response: self, reason: reason, underlying: cause)
        context.isFinal = validator is any FinalValidator
        throw NessError.validation(context)
    }
}
