import NessPromise

/// Decides by a callback: the form that iONess has.
///
/// The callback is called from wherever the closure likes. The first call counts; a callback that is never called fails the request at
/// its deadline, or when the closure lets go of it, as if it had been called with `.noRetry`.
public struct ClosureRetryControl: RetryControl {
    private let body: @Sendable (HTTPRequest, HTTPResponse?, (any Error)?, @escaping @Sendable (RetryControlDecision) -> Void) -> Void

    /// Makes a control.
    /// - Parameter body: Takes the request, the response, the error and a callback for the decision. Runs off the main thread.
    public init(
        _ body:
            @escaping @Sendable (
                _ request: HTTPRequest, _ response: HTTPResponse?, _ error: (any Error)?,
                _ decide: @escaping @Sendable (RetryControlDecision) -> Void
            ) -> Void
    ) { self.body = body }

    /// Asks the closure.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        // An abandoned callback and a dropped request end here alike.
        (try? await ask(attempt).value) ?? .noRetry
    }

    /// In a function of its own: only the callback may hold the resolver, or one that is never called would never be missed.
    private func ask(_ attempt: FailedAttempt) -> Promise<RetryControlDecision> {
        let (decision, resolver) = Promise<RetryControlDecision>.pending()
        body(attempt.request, attempt.response, attempt.error) { resolver.resolve($0) }
        return decision
    }
}
