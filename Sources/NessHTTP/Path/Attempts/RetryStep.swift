import Foundation

/// Decides after each attempt whether another one follows.
final class RetryStep: Sendable {
    let ledger: RetryLedger
    /// The manager's retry policy, for requests that set none.
    let control: (any RetryControl)?
    private let clock: PipelineClock

    init(_ control: (any RetryControl)?, ledger: RetryLedger, clock: PipelineClock) {
        self.control = control
        self.ledger = ledger
        self.clock = clock
    }

    /// Counts a request for the retry budget.
    /// - Returns: The start of its first attempt.
    @inline(never)
    func begin() -> Duration {
        let start = clock.elapsed()
        ledger.countRequest(at: start)
        return start
    }

    /// The decision after an attempt.
    enum Decision {
        case again(after: Duration)
        case end(Unaccepted)
    }

    /// Decides what follows a failed attempt: calls the retry policy, and checks the deadline and the retry budget.
    /// - Parameters:
    ///   - failure: The outcome of the last attempt.
    ///   - context: The context of the next attempt.
    @inline(never)
    func decide(after failure: Unaccepted, in context: CallContext) async -> Decision {
        guard let failed = failure.attempt else { return .end(failure) }
        if !failure.isOpenCircuit { context.call.noteFailure(failure) }
        guard let delay = await delay(after: failed, in: context) else { return .end(failure) }
        // If the wait would pass the deadline, the request ends now, with the outcome of the last attempt.
        if let end = context.call.deadlineEnd, clock.elapsed() + delay >= end { return .end(failure) }
        guard ledger.takeRetry() else {
            let reason = "the retry budget of the manager allows no other attempt now"
            context.call.observation?.notify { $0.requestDidWarn(reason, about: failed.request) }
            return .end(failure.adding(reason))
        }
        context.call.observation?.attemptDidEnd()
        context.call.observation?.notify { $0.requestWillRetry(failed.request, after: delay, becauseOf: failed) }
        return .again(after: delay)
    }

    // Functions that make an error are not inlined: an error is large, and the async frame of the attempts would have room for it.

    /// Returns the response of the last attempt, or throws its error.
    @inline(never)
    func result(of last: Unaccepted, in context: CallContext) throws -> HTTPResponse {
        try last.keepingCause(of: context.call).result(asking: context.options.retryControl ?? control)
    }

    /// Returns the wait before the next attempt; `nil` if no other attempt follows.
    private func delay(after failed: FailedAttempt, in context: CallContext) async -> Duration? {
        guard let control = control(for: failed, in: context) else { return nil }
        let decision = await control.shouldRetry(failed)
        if decision == .noRetry || Task.isCancelled { return nil }
        if failed.isRefused(by: control) { context.call.noteUnprocessed(inAttempt: context.attempt - 1) }
        guard case .retryAfter(let seconds) = decision, seconds > 0 else { return .zero }
        return seconds.isFinite ? .seconds(min(seconds, 1e9)) : .seconds(1_000_000_000)
    }

    /// Returns the policy that decides about an attempt.
    ///
    /// A request's policy always applies, because the caller chose it for that request. The manager's policy applies only if a retry is
    /// safe: the request is idempotent, the server certainly has not seen it, or the server rejected it with a status that the policy
    /// names.
    private func control(for failed: FailedAttempt, in context: CallContext) -> (any RetryControl)? {
        if let control = context.options.retryControl { return control }
        guard let control else { return nil }
        return failed.isSafeToRepeat(by: control) ? control : nil
    }

    /// Evaluates the outcome of an attempt with the caller's validators.
    @inline(never)
    func evaluated(
        _ outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest, in context: CallContext, since start: Duration
    ) -> Result<HTTPResponse, Unaccepted> {
        var outcome = outcome
        var response = try? outcome.get()
        if let received = response {
            context.call.observation?.didReceive(received, to: request)
            do {
                // The validators judged the head of a stream before its body was delivered.
                if context.options.sink?.isRestartable != false {
                    for validator in context.validators { try received.judge(by: validator) }
                }
                if !received.suggestsRetry { return .success(received) }
            } catch {
                outcome = .failure(error)
            }
        }
        // The retry policy receives the same error that the caller would.
        if case .failure(let error) = outcome {
            let explained = context.explain(error)
            response = response ?? (explained as? NessError)?.response
            outcome = .failure(explained)
        }
        let repetition = Repetition(after: outcome, response, of: request, in: context)
        if repetition.isRuledOut { return .failure(Unaccepted(outcome, nil)) }
        let error: (any Error)? = if case .failure(let error) = outcome { error } else { nil }
        let number = max(1, context.attempt - context.call.facts.attemptsBeforeProgress)
        let attempt = FailedAttempt(
            request: request, response: response, error: error, number: number, elapsed: clock.elapsed() - start,
            mayHaveReachedServer: repetition == .ifSafe, retryAfter: response?.retryAfter)
        return .failure(Unaccepted(outcome, attempt))
    }
}

/// An attempt that did not succeed. It is a class to keep the frame of the waiting task small.
final class Unaccepted: Error {
    /// The error, or a response that suggests a retry.
    private let outcome: Result<HTTPResponse, any Error>
    /// The attempt as retry policies see it; `nil` if another attempt cannot change the outcome.
    let attempt: FailedAttempt?

    fileprivate init(_ outcome: Result<HTTPResponse, any Error>, _ attempt: FailedAttempt?) {
        self.outcome = outcome
        self.attempt = attempt
    }

    /// Returns the response, or throws the error.
    /// - Parameter control: The retry policy; `nil` for none. With a policy, the error names the wait that the server requested.
    func result(asking control: (any RetryControl)?) throws -> HTTPResponse {
        guard control != nil, let retryAfter = attempt?.retryAfter else { return try outcome.get() }
        return try adding("the server asks to wait \(retryAfter) before another attempt").outcome.get()
    }

    /// True if an open circuit breaker stopped the attempt. Its error does not show why the server failed.
    var isOpenCircuit: Bool {
        if case .failure(let error as NessError) = outcome { error.kind == .circuitOpen } else { false }
    }

    /// Returns this outcome. The error of an open circuit breaker receives the response and the error of the attempt before it.
    @inline(never)
    func keepingCause(of call: Call) -> Unaccepted {
        guard isOpenCircuit, case .failure(let error as NessError) = outcome else { return self }
        return Unaccepted(.failure(call.keepingCause(in: error)), attempt)
    }

    /// Returns this outcome with another reason added to its error.
    @inline(never)
    func adding(_ reason: String) -> Unaccepted {
        guard case .failure(var error as NessError) = outcome else { return self }
        error.context.reason += "; \(reason)"
        return Unaccepted(.failure(error), attempt)
    }
}

extension Repetition {
    /// Decides whether a request may be sent again after an attempt. No other code decides this.
    fileprivate init(
        after outcome: Result<HTTPResponse, any Error>, _ response: HTTPResponse?, of request: HTTPRequest, in context: CallContext
    ) {
        let call = context.call
        if let response, response.source == .cache || response.source == .stale,
            CacheControl(ofRequest: response.request.headers).has("only-if-cached")
        {
            self = .never("the request forbids the network, so no attempt changes what is stored")
        } else if request.body?.isSpent == true {
            self = .never("the request's body can be sent only once")
        } else if case .failure(let error) = outcome {
            let rejects401 = response?.statusCode == 401 && (error as? NessError)?.kind == .validation
            switch (call.facts.authentication, (error as? any RepetitionSource)?.repetition) {
            case _ where context.options.sink?.isRestartable == false: self = .never("the reader has a part of the response's body")
            case (.hasFailed, _): self = .never("the credential could not be renewed")
            case (.handles401, _) where rejects401: self = .never("the authentication has handled the 401, or has given up on it")
            case (_, .always?) where call.mayHaveActed: self = .ifSafe
            case (_, let known): self = known ?? .ifSafe
            }
        } else {
            self = .ifSafe
        }
    }
}

extension HTTPResponse {
    /// True for a status after which another attempt may succeed.
    fileprivate var suggestsRetry: Bool { statusCode == 408 || statusCode == 429 || statusCode >= 500 }
}
