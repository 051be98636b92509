import Foundation

/// The attempt of a call as `CredentialStep` sees it.
struct CredentialAttempt: AuthenticatedAttempt {
    let context: CallContext
    let running: RunningRequests
    /// True if the manager has a cache. It may have a response for the user when the credential cannot be refreshed.
    let hasReplacement: Bool
    /// Sends the request with the credential.
    let next: @Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse

    var credentialScope: URL? { context.credentialScope }
    var hasEnded: Bool { context.call.hasEnded }
    var isRefused: Bool { running.refusal(of: context.call.options.epoch) != nil }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await next(request, context) }

    func run<Value: Sendable>(
        for userIdentifier: String?, _ method: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard hasReplacement, !context.isLoaderMade, userIdentifier != nil else { return try await method() }
        return try await context.call.untilDeadline(method)
    }

    func consumeRenewal(after statusCode: Int) -> Bool { context.call.consumeRenewal(after: statusCode) }

    func noteFailedAuthentication() { context.call.noteFailedAuthentication() }

    func beginWaitForRefresh(startsRefresh: Bool) {
        guard let observation = context.call.observation else { return }
        if startsRefresh { observation.willRefresh() }
        observation.wait(at: .refresh)
    }

    func endWaitForRefresh() { context.call.observation?.endWait(at: .refresh) }

    func register(_ refresh: RunningRefresh) -> (@Sendable () -> Void)? { running.add(refresh, context.call.options.epoch) }
}
