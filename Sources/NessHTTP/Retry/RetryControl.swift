import Foundation

/// A retry policy: decides whether Ness makes another attempt after a failed one.
///
/// A manager has one policy for all its requests (`Ness.Configuration.retryControl`). A request can set its own with `set(retry:)` or
/// `dataRequest(with:)`. `BackoffRetryControl` suits most clients. Write your own policy if the decision depends on your server.
///
/// ```swift
/// /// Waits out a maintenance window that ends within a minute.
/// struct MaintenanceRetry: RetryControl {
///     func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
///         guard attempt.response?.statusCode == 503, attempt.number < 3 else {
///             return .noRetry
///         }
///         let wait = attempt.retryAfter ?? .seconds(5)
///         return wait <= .seconds(60) ? .retry(after: wait) : .noRetry
///     }
/// }
/// ```
///
/// **When it is called.** Ness calls the policy after each attempt that ended in one of these ways:
///
/// - an error, such as a timeout, a lost connection, or one that a custom loader threw
/// - a response that a validator rejected
/// - a response with status 408, 429, or 500 and above, even if every validator accepts it
///
/// Ness does not call it:
///
/// - after a drop, an invalid request, a failed TLS handshake, a decoding error, a failed file operation, an exclusion by a duplicate
///   handler, or the end of an `only-if-cached` request
/// - for a 401 that the request's `Authentication` handles, even if the authentication gave up or failed
/// - for a stream whose reader has received bytes
/// - for a response that a typed result rejects for its `Content-Type`
/// - for a request whose body is a sequence that can be sent only once, if an attempt has started to read it
///
/// **Safety.** The manager's policy applies only when a retry is safe. That is so if the request is idempotent (by its method, or by
/// `set(isIdempotent:)`), if it certainly never reached the server, or if the response's status is in the policy's `repeatsRefused`. A
/// request's policy applies to any method, because you chose it for that request.
///
/// **Limits.** Ness does not retry if the wait would pass the request's deadline, or if the manager's `retryBudget` is exhausted. It then
/// reports the last response or error.
///
/// **Threads.** One policy serves any number of concurrent requests. It needs no state, because `FailedAttempt` holds everything about one
/// request. `shouldRetry` runs off the main thread, in the request's task. It may suspend: if the caller drops the request, Ness cancels
/// the task and ignores the decision.
///
/// **Testing.** `FailedAttempt` has a public initializer:
///
/// ```swift
/// let response = HTTPResponse(statusCode: 503, request: request)
/// let attempt = FailedAttempt(request: request, response: response)
/// let decision = await MaintenanceRetry().shouldRetry(attempt)
/// #expect(decision == .retry(after: .seconds(5)))
/// ```
public protocol RetryControl: Sendable {
    /// Decides whether to retry, and after which wait. Runs off the main thread, in the request's task.
    /// - Parameter attempt: The attempt that failed: its request, its response or error, and its number.
    /// - Returns: The decision.
    func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision

    /// The statuses, such as 429, that mean that the server has not processed the request. After such a response, the manager's policy
    /// applies even to a request that is not idempotent, such as a POST, unless a redirecting server may have acted on it. None by default.
    var repeatsRefused: Set<Int> { get }
}

extension RetryControl {
    /// The empty set.
    public var repeatsRefused: Set<Int> { [] }
}

/// An attempt that failed, or whose response has a status that suggests a retry.
public struct FailedAttempt: Sendable {
    /// The request as the caller made it, without the pipeline's changes.
    public var request: HTTPRequest
    /// The response, or the part of it that arrived; `nil` if none did.
    public var response: HTTPResponse?
    /// The error; `nil` if every validator accepted the response.
    public var error: (any Error)?
    /// The number of the attempt, counted from 1; for a resumable upload from the last attempt that moved it.
    public var number: Int
    /// The time since the first attempt started, by the manager's clock.
    public var elapsed: Duration
    /// A Boolean value that indicates whether the server may have seen the request. `false` only if it certainly never reached the server.
    public var mayHaveReachedServer: Bool
    /// The wait that the response's `Retry-After` field requests (RFC 9110, 10.2.3); `nil` without that field.
    public var retryAfter: Duration?

    /// Makes an attempt, to test a policy without a manager.
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response, if there was one.
    ///   - error: The error, if there was one.
    ///   - number: The number of the attempt, counted from 1.
    ///   - elapsed: The time since the first attempt started.
    ///   - mayHaveReachedServer: A Boolean value that indicates whether the server may have seen the request.
    ///   - retryAfter: The wait that the server requests.
    public init(
        request: HTTPRequest, response: HTTPResponse? = nil, error: (any Error)? = nil, number: Int = 1, elapsed: Duration = .zero,
        mayHaveReachedServer: Bool = true, retryAfter: Duration? = nil
    ) {
        self.request = request
        self.response = response
        self.error = error
        self.number = number
        self.elapsed = elapsed
        self.mayHaveReachedServer = mayHaveReachedServer
        self.retryAfter = retryAfter
    }
}

extension FailedAttempt {
    /// Returns true if another attempt is safe: the request is idempotent, or the server has not processed it.
    func isSafeToRepeat(by control: any RetryControl) -> Bool {
        request.isIdempotent || !mayHaveReachedServer || isRefused(by: control)
    }

    /// Returns true if the server rejected the request unprocessed, by the statuses of a policy. A response after a redirect, such as that
    /// to the GET that follows a POST with 303, says nothing about what the redirecting server did.
    func isRefused(by control: any RetryControl) -> Bool {
        guard let response, !response.history.contains(where: { $0.mayFollowAction && !$0.request.method.isSafe }) else { return false }
        return control.repeatsRefused.contains(response.statusCode)
    }
}

/// The decision of a `RetryControl`.
public enum RetryControlDecision: Sendable, Hashable {
    /// Does not retry. The request ends with the last response or error.
    case noRetry
    /// Retries immediately.
    case retry
    /// Retries after a wait, in seconds. Zero and less mean immediately.
    case retryAfter(TimeInterval)

    /// Retries after a wait. Zero and less mean immediately.
    public static func retry(after delay: Duration) -> RetryControlDecision { .retryAfter(delay.seconds) }
}
