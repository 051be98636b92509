import Foundation

/// A retry policy with growing random delays ("exponential backoff with full jitter"). It retries if that is safe and may help.
///
/// - It retries idempotent requests (RFC 9110, section 9.2.2), and any request that certainly never reached the server. With
///   `repeatsRefused` it also retries others that the server has not processed, such as a POST after a 429.
/// - It retries after transient errors of the transport, and after the statuses 408, 429, 502, 503 and 504.
/// - The delay before attempt *n* + 1 is random. It lies between zero and `initialDelay` × 2^(*n* − 1), and never exceeds `maxDelay`.
///   Random delays keep many clients from returning at the same moment.
/// - It honors `Retry-After` in full. If that is longer than `maxDelay`, it does not retry.
public struct BackoffRetryControl: RetryControl {
    private let maximumCount: Int
    private let initialDelay: Duration
    private let maximumDelay: Duration
    private let statusCodes: Set<Int>
    private let retriesNonIdempotentRequests: Bool
    /// The statuses that mean that the server has not processed the request.
    public let repeatsRefused: Set<Int>
    private let random: @Sendable (ClosedRange<Double>) -> Double

    /// Makes a policy.
    /// - Parameters:
    ///   - maxRetryCount: The largest number of retries.
    ///   - initialDelay: The longest delay before the first retry.
    ///   - maxDelay: The longest delay before any retry.
    ///   - statusCodes: The statuses after which it retries.
    ///   - repeatsRefused: The statuses, such as 429, 503 and 529, that mean that this server has not processed the request. After them it
    ///     retries every request, even a POST, and even as the manager's policy. None by default, because a 503 of some servers means that
    ///     they failed halfway.
    ///   - retriesNonIdempotentRequests: True to retry every request, even if the server may have acted on it. It has an effect only in a
    ///     policy set on a request: the manager's policy never applies to such requests.
    ///   - random: Returns a random number in the range. A test can pass its own closure.
    public init(
        maxRetryCount: Int, initialDelay: Duration = .milliseconds(200), maxDelay: Duration = .seconds(20),
        statusCodes: Set<Int> = [408, 429, 502, 503, 504], repeatsRefused: Set<Int> = [], retriesNonIdempotentRequests: Bool = false,
        random: @escaping @Sendable (ClosedRange<Double>) -> Double = { .random(in: $0) }
    ) {
        maximumCount = maxRetryCount
        self.initialDelay = max(.zero, initialDelay)
        maximumDelay = max(.zero, maxDelay)
        self.statusCodes = statusCodes
        self.repeatsRefused = repeatsRefused
        self.retriesNonIdempotentRequests = retriesNonIdempotentRequests
        self.random = random
    }

    /// Retries if that is safe and may help.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        guard attempt.number <= maximumCount, mayHelp(attempt) || attempt.isRefused(by: self),
            retriesNonIdempotentRequests || attempt.isSafeToRepeat(by: self)
        else { return .noRetry }
        if let asked = attempt.retryAfter {
            return asked > maximumDelay ? .noRetry : .retryAfter(asked / .seconds(1))
        }
        // Computed in seconds as a number, because a `Duration` overflows when it is doubled often enough.
        // With a limited exponent, because zero times infinity is not a number.
        let ceiling = min(maximumDelay / .seconds(1), initialDelay / .seconds(1) * pow(2, min(Double(attempt.number) - 1, 1_000)))
        return .retryAfter(random(0...max(0, ceiling)))
    }

    private func mayHelp(_ attempt: FailedAttempt) -> Bool {
        // A transient error counts even if a part of a response with another status arrived.
        if (attempt.error as? NessError)?.isTransient == true { return true }
        return attempt.response.map { statusCodes.contains($0.statusCode) } ?? false
    }
}

extension RetryControl where Self == BackoffRetryControl {
    /// Retries with growing random delays, if a retry is safe and may help: see `BackoffRetryControl`.
    ///
    /// ```swift
    /// let cats = try await ness.get("cats")
    ///     .set(retry: .backoff(maxRetryCount: 3))
    ///     .decoded(as: [Cat].self)
    /// ```
    /// - Parameter maxRetryCount: The largest number of retries.
    public static func backoff(maxRetryCount: Int) -> BackoffRetryControl { BackoffRetryControl(maxRetryCount: maxRetryCount) }
}
