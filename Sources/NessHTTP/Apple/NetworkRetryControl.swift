#if canImport(Network)
import Foundation

/// Waits until there is a network that the request may use, if an attempt failed without one (`NessError.Kind.offline`), and then makes
/// another attempt. A request that excludes cellular, expensive or constrained networks waits for another one.
///
/// ```swift
/// configuration.retryControl = .any([
///     NetworkRetryControl(), BackoffRetryControl(maxRetryCount: 4),
/// ])
/// ```
///
/// It exists on Apple platforms only. Linux reports addresses and routes, but not whether a network can be used, and a container without
/// any network has both.
public struct NetworkRetryControl: RetryControl {
    private let maximumCount: Int
    private let maximumWait: Duration

    /// Makes a policy.
    /// - Parameters:
    ///   - maxRetryCount: The largest number of attempts after the first.
    ///   - maxWait: The longest wait for a network before each of them, in real time.
    public init(maxRetryCount: Int = 3, maxWait: Duration = .seconds(60)) {
        maximumCount = maxRetryCount
        maximumWait = maxWait
    }

    /// Waits for a network if the attempt had none. Does not retry after any other failure.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        guard attempt.number <= maximumCount, (attempt.error as? NessError)?.kind == .offline else { return .noRetry }
        let reason = ((attempt.error as? NessError)?.underlying as? URLError)?.networkUnavailableReason?.rawValue
        let refused = NetworkTraits(refusedBy: attempt.request, reason: reason)
        return (try? await refused.waitForOther(atMost: maximumWait)) == nil ? .noRetry : .retry
    }
}
#endif
