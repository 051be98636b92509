import Foundation

/// Tries again with growing, random delays, where that is safe and may help.
///
/// - Only idempotent requests (RFC 9110, 9.2.2), or any request that the server certainly has not seen.
/// - Only after transport errors that may pass, and after the statuses 408, 429, 502, 503 and 504.
/// - The delay before attempt *n* is random between nothing and `initialDelay` doubled *n* times, at most `maxDelay` ("full jitter"), so
///   that many clients do not come back at once. A server's `Retry-After` is waited for in full; one longer than `maxDelay`
///   ends the attempts.
public struct BackoffRetryControl: RetryControl {
    private let maximumCount: Int
    private let initialDelay: Duration
    private let maximumDelay: Duration
    private let statusCodes: Set<Int>
    private let random: @Sendable (ClosedRange<Double>) -> Double

    /// Makes a control.
    /// - Parameters:
    ///   - maxRetryCount: How many attempts may follow the first.
    ///   - initialDelay: The most that is waited before the second attempt.
    ///   - maxDelay: The most that is ever waited.
    ///   - statusCodes: The statuses that ask for another try.
    ///   - random: Where the randomness comes from; a test gives its own.
    public init(
        maxRetryCount: Int, initialDelay: Duration = .milliseconds(200), maxDelay: Duration = .seconds(20),
        statusCodes: Set<Int> = [408, 429, 502, 503, 504],
        random: @escaping @Sendable (ClosedRange<Double>) -> Double = { .random(in: $0) }
    ) {
        maximumCount = maxRetryCount
        self.initialDelay = max(.zero, initialDelay)
        maximumDelay = max(.zero, maxDelay)
        self.statusCodes = statusCodes
        self.random = random
    }

    /// Tries again where it is safe and may help.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        guard attempt.number <= maximumCount, mayHelp(attempt), attempt.request.isIdempotent || !attempt.mayHaveReachedServer
        else { return .noRetry }
        if let asked = attempt.retryAfter {
            return asked > maximumDelay ? .noRetry : .retryAfter(asked / .seconds(1))
        }
        // Seconds as a number: doubling a Duration often enough would overflow it.
        let ceiling = min(maximumDelay / .seconds(1), initialDelay / .seconds(1) * pow(2, Double(attempt.number - 1)))
        return .retryAfter(random(0...max(0, ceiling)))
    }

    private func mayHelp(_ attempt: FailedAttempt) -> Bool {
        // Whatever status the part of a response may have that arrived.
        if (attempt.error as? NessError)?.isTransient == true { return true }
        return attempt.response.map { statusCodes.contains($0.statusCode) } ?? false
    }
}
