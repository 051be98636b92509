import Foundation

/// Decides whether the library makes another attempt after a failed one.
///
/// A manager has one control for all its requests (`Ness.Configuration.retryControl`). A request can bring its own: `set(retry: control)`
/// or `dataRequest(with: control)`. `BackoffRetryControl` suits most clients. Write your own if the decision depends on your server.
///
/// ```swift
/// /// Waits out a maintenance window that ends within a minute.
/// struct MaintenanceRetry: RetryControl {
///     func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
///         guard attempt.response?.statusCode == 503, attempt.number < 3 else {
///             return .noRetry
///         }
///         let wait = attempt.retryAfter ?? .seconds(5)
///         return wait <= .seconds(60) ? .retryAfter(wait / .seconds(1)) : .noRetry
///     }
/// }
/// ```
///
/// **When the library asks.** After each attempt that ended in one of these ways:
///
/// - an error, such as a timeout, a lost connection, or one that a loader of the application threw
/// - a response that a validator rejected
/// - a response with status 408, 429, or 500 and above, even if every validator accepts it
///
/// It does not ask after a drop, an invalid request, a failed TLS handshake, a decoding error or a failed file operation, or if a duplicate
/// policy excluded the caller. It does not ask about a 401 that a request's `Authentication` handles, even if the authentication gave up or
/// failed. It does not ask about a stream whose reader has received bytes, nor about a response that a typed result rejects for its
/// `Content-Type`, nor about a request whose body is a sequence that can be sent only once, if an attempt has started to read it.
///
/// **Safety.** The library asks the manager's control only if another attempt does no harm. Either the request is idempotent (by its
/// method, or by `set(isIdempotent:)`), or the server certainly has not seen it, or the response has a status in the control's
/// `repeatsRefused`. A request's own control always applies, because the caller chose it for this request.
///
/// **Limits.** The library makes no further attempt if the wait would pass the request's deadline, or if the manager's `retryBudget` is
/// used up.
///
/// **Threads.** One control serves any number of requests at the same time. `FailedAttempt` holds everything about one request, so a
/// control needs no state. `shouldRetry` runs off the main thread, in the request's task. It may suspend: when the caller drops the
/// request, the library cancels the task and ignores the decision.
///
/// **Testing.** `FailedAttempt` has a public initializer:
///
/// ```swift
/// let response = HTTPResponse(statusCode: 503, request: request)
/// let attempt = FailedAttempt(request: request, response: response)
/// #expect(await MaintenanceRetry().shouldRetry(attempt) == .retryAfter(5))
/// ```
public protocol RetryControl: Sendable {
    /// Decides whether to make another attempt, and after which wait. Runs off the main thread, in the request's task.
    /// - Parameter attempt: The attempt that failed: its request, its response or error, and its number.
    /// - Returns: The decision.
    func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision

    /// The statuses with which the server says that it has not processed a request, such as 429. After such a response a manager's control
    /// decides even about a request that is not idempotent, such as a POST. None by default.
    var repeatsRefused: Set<Int> { get }
}

extension RetryControl {
    /// None.
    public var repeatsRefused: Set<Int> { [] }
}

/// An attempt that failed, or whose response has a status that suggests another attempt.
public struct FailedAttempt: Sendable {
    /// The request as the caller made it, without the changes of the pipeline.
    public var request: HTTPRequest
    /// The response, or the part of it that arrived; `nil` if none did.
    public var response: HTTPResponse?
    /// The error; `nil` if every validator accepted the response.
    public var error: (any Error)?
    /// The number of the attempt, counted from 1.
    public var number: Int
    /// The time since the first attempt started, by the manager's clock.
    public var elapsed: Duration
    /// A Boolean value that indicates whether the server may have seen the request. `false` only if the server certainly has not.
    public var mayHaveReachedServer: Bool
    /// The wait that the server asks for in its `Retry-After` field (RFC 9110, 10.2.3); `nil` without that field.
    public var retryAfter: Duration?

    /// Makes an attempt, to test a control on its own.
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response, if there was one.
    ///   - error: The error, if there was one.
    ///   - number: The number of the attempt, counted from 1.
    ///   - elapsed: The time since the first attempt started.
    ///   - mayHaveReachedServer: A Boolean value that indicates whether the server may have seen the request.
    ///   - retryAfter: The wait that the server asks for.
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
    /// Returns true if the server rejected the request unprocessed, by the statuses of a control. A response to the GET that followed a
    /// POST, after a redirect with 303, says nothing about the POST.
    func isRefused(by control: any RetryControl) -> Bool {
        guard let response, response.request.method == request.method else { return false }
        return control.repeatsRefused.contains(response.statusCode)
    }
}

/// An error about which no control decides.
package protocol FinalError: Error {}

/// The decision of a `RetryControl`.
public enum RetryControlDecision: Sendable, Hashable {
    /// Makes no further attempt. The request ends with the outcome of the last one.
    case noRetry
    /// Makes another attempt immediately.
    case retry
    /// Makes another attempt after a wait, in seconds. Zero and less mean immediately.
    case retryAfter(TimeInterval)
}
