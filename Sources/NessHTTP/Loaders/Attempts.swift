import Foundation

/// The attempts of a call, from the caller's request to the exchange that completes it.
extension Pipeline {
    /// Sends a call's request.
    func send(_ call: Call) async throws -> HTTPResponse {
        try call.begin(in: running)
        let context = CallContext(call)
        let loaders = loaders(at: .call, context)
        if loaders.isEmpty { return try await attempts(call.request, context) }
        return try await loaders.load(call.request, in: context) { [self] request, context in try await attempts(request, context) }
    }

    /// Makes attempts until one succeeds or the retry control decides to stop. The caller's validators judge each attempt, and each starts
    /// from the request as the caller made it.
    func attempts(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        let start = clock.elapsed()
        ledger.countRequest(at: start)
        var context = context
        while true {
            let outcome: Result<HTTPResponse, any Error>
            do { outcome = .success(try await attempt(request, context)) } catch { outcome = .failure(error) }
            if case .failure = outcome, try await context.call.waitWhilePaused() { continue }
            switch judged(outcome, of: request, in: context, since: start) {
            case .success(let response): return response
            case .failure(let failure):
                if let failure = try await waitForNextAttempt(after: failure, in: context) {
                    return try failure.result(asking: control(of: context))
                }
            }
            context.attempt += 1
        }
    }

    /// Makes one attempt: the environment, the application's loaders, and the rest.
    private func attempt(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        let request = try environment.prepared(request, in: context)
        let loaders = loaders(at: .attempt, context)
        if loaders.isEmpty { return try await authenticated(request, context) }
        return try await loaders.load(request, in: context) { [self] request, context in try await authenticated(request, context) }
    }

    private func authenticated(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        guard let authentication = authentication(for: request, in: context) else { return try await answer(request, context) }
        return try await authenticated(request, by: authentication, context)
    }

    private func authenticated(
        _ request: HTTPRequest, by authentication: any Authentication, _ context: CallContext
    ) async throws -> HTTPResponse {
        context.call.markAuthenticated()
        var context = context
        if case .inherited = context.policies.authentication { context.credentialScope = context.policies.environment.baseURL }
        do {
            return try await sendRenewing(request, by: authentication, context)
        } catch let error as NessError where error.isAuthenticationFailure && error.isTransient {
            // Without a network there may be no credential, but the user may have a stored response.
            guard let cache, let user = authentication.userIdentifier,
                let stored = await cache.answer(toUser: user, request, in: context, self)
            else { throw error }
            return stored
        }
    }

    /// Adds the credential. If the server rejects it and it can be renewed, the request is sent once more.
    private func sendRenewing(
        _ request: HTTPRequest, by authentication: any Authentication, _ context: CallContext
    ) async throws -> HTTPResponse {
        var response = try await answer(authenticate(request, by: authentication, in: context), context)
        while authentication.isAsked(about: response), response.hasSeenCredential(of: request, inside: context.credentialScope) {
            // One renewal for all attempts, even if an attempt in between failed for another reason.
            guard context.call.consumeRenewal(after: response.statusCode) else { break }
            guard try await renew(authentication, after: response, in: context) else { break }
            // The renewal was still useful: later requests have the new credential.
            if request.body?.isSpent == true || response.followsAction { break }
            response = try await answer(authenticate(request, by: authentication, isRenewed: true, in: context), context)
        }
        return response
    }

    /// Completes a request that has its credential: from the cache, or with an exchange that equal requests share.
    private func answer(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        var (request, context) = (request, context)
        if let jar { jar.add(to: &request, in: &context) }
        let loaders = loaders(at: .authenticated, context)
        if loaders.isEmpty { return try await cached(request, context) }
        return try await loaders.load(request, in: context) { [self] request, context in try await cached(request, context) }
    }

    private func cached(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        guard let cache else { return try await share(request, context) }
        return try await cache.load(request, in: context, self)
    }
}
