import Foundation

/// Sends a request again while its control wants to, and has the caller's validators judge each attempt.
///
/// Every attempt begins with the request as the caller made it; all below runs anew.
final class Retry: HTTPLoader {
    let clock: Timekeeper
    let ledger: RetryLedger
    /// The manager's control, for requests that have none.
    let fallback: (any RetryControl)?

    init(clock: Timekeeper, ledger: RetryLedger, fallback: (any RetryControl)?) {
        self.clock = clock
        self.ledger = ledger
        self.fallback = fallback
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let start = clock.elapsed()
        ledger.countRequest(at: start)
        var request = request
        while true {
            let attempt: Attempt
            do {
                attempt = Attempt(request, .success(try await next(request)), elapsed: clock.elapsed() - start)
            } catch {
                attempt = Attempt(request, .failure(error), elapsed: clock.elapsed() - start)
            }
            guard attempt.failed != nil, try await mayGoOn(after: attempt) else { return try attempt.result() }
            request.attempt += 1
        }
    }

    func reset() async { ledger.reset() }

    /// Waits as long as the control says. Returns false if there is to be no other attempt.
    @inline(never)
    private func mayGoOn(after attempt: Attempt) async throws -> Bool {
        guard let failed = attempt.failed else { return false }
        guard let delay = await delay(after: failed) else { return false }
        failed.request.observation?.tell { $0.requestWillRetry(failed.request, after: delay, becauseOf: failed) }
        // A wait that is cut short by a drop is a drop.
        if delay > .zero { try await clock.sleep(delay) }
        try Task.checkCancellation()
        return true
    }

    /// How long to wait before the next attempt; nil if there is none.
    private func delay(after failed: FailedAttempt) async -> Duration? {
        guard let control = failed.request.retryControl ?? fallback else { return nil }
        let decision = await control.shouldRetry(failed)
        if decision == .noRetry || Task.isCancelled || !ledger.takeRetry() { return nil }
        guard case .retryAfter(let seconds) = decision, seconds > 0 else { return .zero }
        return seconds.isFinite ? .seconds(min(seconds, 1e9)) : .seconds(1_000_000_000)
    }
}

/// What an attempt came to, with the verdict of the caller's validators. A class, as the frame of a waiting task would have to hold it all.
private final class Attempt: Sendable {
    private let outcome: Result<HTTPResponse, any Error>
    /// The attempt as a failure; nil if it is none, or none that another attempt could change.
    let failed: FailedAttempt?

    @inline(never)
    func result() throws -> HTTPResponse { try outcome.get() }

    @inline(never)
    init(_ request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>, elapsed: Duration) {
        let response: HTTPResponse?
        switch outcome {
        case .success(let value):
            request.observation?.tell { $0.requestDidReceive(value, to: request) }
            response = value
            self.outcome = Result {
                // What was handed on as it came was judged by its head, before.
                if request.sink?.isRestartable != false { for validator in request.validators { try value.judge(by: validator) } }
                return value
            }
        case .failure(let error):
            // What was refused on its way was not sent.
            let sent = (request.activity as? any AttemptCounter)?.attempts ?? request.attempt
            let explained = NessError.explain(error, request, attempts: sent)
            response = (explained as? NessError)?.response
            self.outcome = .failure(explained)
        }
        var failed = FailedAttempt(request, self.outcome, response, elapsed: elapsed)
        failed?.retryAfter = response?.headers["retry-after"].flatMap { RetryAfter.duration($0, now: Date()) }
        self.failed = failed
    }
}

extension FailedAttempt {
    /// The attempt as a failure; nil if it is none, or none that another attempt could change.
    fileprivate init?(
        _ request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>, _ response: HTTPResponse?, elapsed: Duration
    ) {
        var reached = true
        switch outcome {
        case .success(let response):
            guard [408, 429].contains(response.statusCode) || response.statusCode >= 500 else { return nil }
            self.init(request: request, response: response, number: request.attempt, elapsed: elapsed)
        case .failure(let error):
            switch error as? NessError {
            // Nobody can want these again.
            case .dropped, .invalidRequest, .duplicate, .fileSystem: return nil
            case .cannotConnect, .offline, .circuitOpen: reached = false
            default: break
            }
            if error is CancellationError || error is any FinalError || request.sink?.isRestartable == false { return nil }
            if (request.activity as? any AttemptCounter)?.isFinal == true { return nil }
            // One that was cut short never came to be answered.
            if case .validation = error as? NessError, response?.statusCode == 401, response?.request.isAuthenticated == true { return nil }
            self.init(
                request: request, response: response, error: error, number: request.attempt, elapsed: elapsed, mayHaveReachedServer: reached
            )
        }
    }
}

extension HTTPResponse {
    /// Throws `NessError.validation` if a validator refuses this response.
    func judge(by validator: any ResponseValidator) throws {
        let reason: String
        switch validator.validate(for: self) {
        case .valid: return
        case .invalid: reason = "the response was refused by \(type(of: validator))"
        case .invalidWithReason(let text): reason = text
        }
        throw NessError.validation(NessError.Context(request: request, response: self, reason: reason))
    }
}
