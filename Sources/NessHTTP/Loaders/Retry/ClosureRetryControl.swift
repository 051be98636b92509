import NessPromise

/// A retry control made from a closure that decides through a callback, as in iONess.
///
/// The closure may call the callback from any thread. Only the first call counts. A closure that releases the callback without calling it
/// decides `.noRetry`. A closure that keeps the callback and never calls it holds the request until its deadline.
public struct ClosureRetryControl: RetryControl {
    private let body: @Sendable (HTTPRequest, HTTPResponse?, (any Error)?, @escaping @Sendable (RetryControlDecision) -> Void) -> Void

    /// Makes a control.
    /// - Parameter body: Takes the request, the response, the error and the callback for the decision. Runs off the main thread.
    public init(
        _ body:
            @escaping @Sendable (
                _ request: HTTPRequest, _ response: HTTPResponse?, _ error: (any Error)?,
                _ decide: @escaping @Sendable (RetryControlDecision) -> Void
            ) -> Void
    ) { self.body = body }

    /// Calls the closure, and waits for its decision.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        // The promise fails if the callback is released uncalled, and if the request is dropped. Both mean no retry.
        (try? await ask(attempt).value) ?? .noRetry
    }

    /// Calls the closure. A separate function, so that only the callback holds the resolver: releasing the callback then settles the
    /// promise.
    private func ask(_ attempt: FailedAttempt) -> Promise<RetryControlDecision> {
        let (decision, resolver) = Promise<RetryControlDecision>.pending()
        body(attempt.request, attempt.response, attempt.error) { resolver.resolve($0) }
        return decision
    }
}
