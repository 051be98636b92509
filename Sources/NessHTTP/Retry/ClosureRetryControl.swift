import NessPromise

/// A retry policy made from a closure: see `.decide(_:)`.
///
/// As in iONess, the closure can also decide through a callback, from any thread. Only the first call counts. A closure that releases the
/// callback without calling it decides `.noRetry`. A closure that keeps the callback and never calls it holds the request until its
/// deadline.
public struct ClosureRetryControl: RetryControl {
    private let body: @Sendable (FailedAttempt) async -> RetryControlDecision
    /// The statuses of the policies that `.any(_:)` combines; otherwise none.
    public fileprivate(set) var repeatsRefused: Set<Int> = []

    fileprivate init(body: @escaping @Sendable (FailedAttempt) async -> RetryControlDecision) { self.body = body }

    /// Makes a policy from a closure with a callback.
    /// - Parameter body: Takes the request, the response, the error and the callback for the decision. Runs off the main thread.
    public init(
        _ body:
            @escaping @Sendable (
                _ request: HTTPRequest, _ response: HTTPResponse?, _ error: (any Error)?,
                _ decide: @escaping @Sendable (RetryControlDecision) -> Void
            ) -> Void
    ) {
        /// Calls the closure. A separate function, so that only the callback holds the resolver: releasing the callback then settles the
        /// promise.
        @Sendable func ask(_ attempt: FailedAttempt) -> Promise<RetryControlDecision> {
            let (decision, resolver) = Promise<RetryControlDecision>.pending()
            body(attempt.request, attempt.response, attempt.error) { resolver.resolve($0) }
            return decision
        }
        // The promise fails if the callback is released uncalled, and if the request is dropped. Both mean no retry.
        self.body = { attempt in (try? await ask(attempt).value) ?? .noRetry }
    }

    /// Calls the closure, and waits for its decision.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision { await body(attempt) }
}

extension RetryControl where Self == ClosureRetryControl {
    /// Makes a policy from a closure.
    ///
    /// ```swift
    /// request.dataRequest(with: .decide { attempt in
    ///     attempt.number < 3 ? .retry(after: .seconds(1)) : .noRetry
    /// })
    /// ```
    /// - Parameter body: Takes the failed attempt, and returns the decision. Runs off the main thread, in the request's task.
    public static func decide(_ body: @escaping @Sendable (FailedAttempt) async -> RetryControlDecision) -> ClosureRetryControl {
        ClosureRetryControl(body: body)
    }
    /// Combines policies: Ness retries if one of them decides so. The first one that does also decides the wait.
    /// - Parameter controls: The policies, called in this order.
    public static func any(_ controls: [any RetryControl]) -> ClosureRetryControl {
        var combined = decide { attempt in
            for control in controls {
                let decision = await control.shouldRetry(attempt)
                if decision != .noRetry { return decision }
            }
            return .noRetry
        }
        for control in controls { combined.repeatsRefused.formUnion(control.repeatsRefused) }
        return combined
    }

    /// Never retries. Suits a request that must not be retried although the manager has a policy.
    public static var never: ClosureRetryControl { decide { _ in .noRetry } }
}
