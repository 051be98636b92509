import Foundation

/// A retry policy that retries a fixed number of times, for every method.
///
/// The limit applies to each request. The policy does not retry if another attempt cannot change the outcome: after an untrusted
/// certificate, a body that is too large, or a redirect that must not be followed.
public struct CounterRetryControl: RetryControl {
    private let maximumCount: Int
    private let delay: TimeInterval
    private let maximumRetryAfter: Duration

    /// Makes a policy.
    /// - Parameters:
    ///   - maxRetryCount: The largest number of retries.
    ///   - timeIntervalBeforeTryToRetry: The wait before each retry, in seconds. A longer `Retry-After` takes its place.
    ///   - maxRetryAfter: The longest `Retry-After` to wait for. After a longer one the policy does not retry.
    public init(maxRetryCount: Int, timeIntervalBeforeTryToRetry: TimeInterval = 0, maxRetryAfter: Duration = .seconds(120)) {
        maximumCount = maxRetryCount
        delay = timeIntervalBeforeTryToRetry
        maximumRetryAfter = maxRetryAfter
    }

    /// Retries while attempts are left.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        // The errors of a redirect that must not be followed, and of a body that is too large, would be the same again.
        let mayHelp = (attempt.error as? NessError).map { $0.isTransient || $0.kind == .validation } ?? true
        guard attempt.number <= maximumCount, mayHelp else { return .noRetry }
        let asked = attempt.retryAfter ?? .zero
        guard asked <= maximumRetryAfter else { return .noRetry }
        // In this order, a delay that is not a number counts as none.
        let wait = max(asked / .seconds(1), delay)
        return wait > 0 ? .retryAfter(wait) : .retry
    }
}
