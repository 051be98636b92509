import NessPromise

/// Decides by a callback: the form that iONess has.
///
/// The callback is called from wherever the closure likes. The first call counts; a callback that is never called fails the request at
/// its deadline, or when the closure lets go of it, as if it had been called with `.noRetry`.
public struct ClosureRetryControl: RetryControl {
    /// Takes the request, the response, the error and what to call with the decision.
    public typealias Body =
        @Sendable (HTTPRequest, HTTPResponse?, (any Error)?, @escaping @Sendable (RetryControlDecision) -> Void) -> Void

    private let body: Body

    /// Makes a control.
    /// - Parameter body: Runs off the main thread.
    public init(_ body: @escaping Body) { self.body = body }

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
