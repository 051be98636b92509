import Foundation

/// Tries again so many times, for every method: the caller asked for it.
///
/// It counts the attempts of one request, and keeps no state. It does not try again where that could change nothing: a certificate that
/// is not trusted, a body that is too large, a redirect that must not be followed.
public struct CounterRetryControl: RetryControl {
    private let maximumCount: Int
    private let delay: TimeInterval
    private let maximumRetryAfter: Duration

    /// Makes a control.
    /// - Parameters:
    ///   - maxRetryCount: How many attempts may follow the first.
    ///   - timeIntervalBeforeTryToRetry: The seconds before each of them; longer where the server asks for longer.
    ///   - maxRetryAfter: The longest `Retry-After` that is waited for; a server that asks for longer ends the attempts.
    public init(maxRetryCount: Int, timeIntervalBeforeTryToRetry: TimeInterval = 0, maxRetryAfter: Duration = .seconds(120)) {
        maximumCount = maxRetryCount
        delay = timeIntervalBeforeTryToRetry
        maximumRetryAfter = maxRetryAfter
    }

    /// Tries again while there are attempts left.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        guard attempt.number <= maximumCount, !attempt.isFinal else { return .noRetry }
        let asked = attempt.retryAfter ?? .zero
        guard asked <= maximumRetryAfter else { return .noRetry }
        let wait = max(delay, asked / .seconds(1))
        return wait > 0 ? .retryAfter(wait) : .retry
    }
}

extension FailedAttempt {
    /// True if another attempt could only bring the same.
    var isFinal: Bool {
        guard let error = error as? NessError else { return false }
        return !error.isTransient && error.kind != .validation
    }
}
