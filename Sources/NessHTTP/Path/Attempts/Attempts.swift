import Foundation

/// The attempts of a call: the first of the three functions that a request goes through.
extension Pipeline {
    /// Sends a call's request.
    func send(_ call: Call) async throws -> HTTPResponse {
        try call.begin(in: running)
        let context = CallContext(call)
        let loaders = loaders(at: .call, context)
        if loaders.isEmpty { return try await attempts(call.request, context, since: beginAttempts()) }
        return try await loaders.load(call.request, in: context) { [self] request, context in
            try await attempts(request, context, since: beginAttempts())
        }
    }

    /// Counts a request for the retry budget.
    /// - Returns: The start of its first attempt.
    @inline(never)
    private func beginAttempts() -> Duration {
        let start = clock.elapsed()
        ledger.countRequest(at: start)
        return start
    }

    /// Makes attempts until one succeeds or the retry policy decides to stop. The caller's validators judge each attempt, and each starts
    /// from the request as the caller made it.
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context.
    ///   - start: The start of the first attempt.
    /// - Throws: The error of the last attempt. `Call.Postponed`, if another task has to make the rest.
    @inline(never)
    func attempts(_ request: HTTPRequest, _ context: CallContext, since start: Duration) async throws -> HTTPResponse {
        var context = context
        while true {
            let outcome: Result<HTTPResponse, any Error>
            do {
                let response = try await attempt(preparation.prepared(request, in: context), context, from: .loaders)
                // A loader may have made a response of the error with which a pause ended the flight.
                if context.call.isInterrupted { throw Call.Paused() }
                outcome = .success(response)
            } catch {
                outcome = .failure(error)
            }
            if case .failure = outcome, try await context.call.waitWhilePaused() { continue }
            switch evaluated(outcome, of: request, in: context, since: start) {
            case .success(let response): return response
            case .failure(let failure):
                context.attempt += 1
                if let last = try await waitForAttempt(context, of: request, after: failure, since: start) {
                    return try last.keepingCause(of: context.call).result(asking: control(of: context))
                }
            }
        }
    }

    /// A step of an attempt. A step that has to wait runs the rest itself, so the rest can start at any of them.
    enum AttemptStep: Int, Sendable { case loaders, credential, cookies, cache }

    /// Makes one attempt, or the rest of it: the application's loaders, the credential, the cookies, the cache, and the flight that
    /// equal requests share.
    /// - Parameters:
    ///   - request: The request, with the manager's common settings.
    ///   - context: The context.
    ///   - first: The first step. It and those after it are made.
    @inline(never)
    func attempt(_ request: HTTPRequest, _ context: CallContext, from first: AttemptStep) async throws -> HTTPResponse {
        var (request, context) = (request, context)
        if first == .loaders, case let loaders = loaders(at: .attempt, context), !loaders.isEmpty {
            return try await loaders.load(request, in: context) { [self] in try await attempt($0, $1, from: .credential) }
        }
        if first.rawValue <= AttemptStep.credential.rawValue {
            let authentication = authentication(for: request, in: context)
            // A loader may send the request again after the renewal of a credential failed.
            context.call.beginAuthentication(isPresent: authentication != nil)
            if let authentication { return try await withCredential(request, by: authentication, context) }
        }
        if first != .cache {
            if let jar { jar.add(to: &request, in: &context) }
            let loaders = loaders(at: .authenticated, context)
            if !loaders.isEmpty {
                return try await loaders.load(request, in: context) { [self] in try await attempt($0, $1, from: .cache) }
            }
        }
        guard let cache else { return try await share(request, context) }
        return try await cache.load(request, over: CacheUpstream(pipeline: self, context: context))
    }

    // Not inlined, like every asynchronous step that most requests do not take: the frame of `attempt` would have room for it.
    @inline(never)
    private func withCredential(
        _ request: HTTPRequest, by authentication: any Authentication, _ context: CallContext
    ) async throws -> HTTPResponse {
        var context = context
        if case .inherited = context.options.authentication { context.credentialScope = context.options.environment.baseURL }
        do {
            return try await sendRenewing(request, by: authentication, context)
        } catch {
            // Without a network there may be no credential, but the user may have a stored response.
            guard Self.isTransientAuthenticationFailure(error), let cache, let user = authentication.userIdentifier else { throw error }
            var request = request
            if let jar { jar.add(to: &request, in: &context) }
            guard let stored = await cache.answer(toUser: user, request, over: CacheUpstream(pipeline: self, context: context)) else {
                throw error
            }
            return stored
        }
    }

    @inline(never)
    private static func isTransientAuthenticationFailure(_ error: any Error) -> Bool {
        guard let error = error as? NessError else { return false }
        return error.isAuthenticationFailure && error.isTransient
    }

    /// Adds the credential. If the server rejects it and it can be renewed, the request is sent once more.
    @inline(never)
    private func sendRenewing(
        _ request: HTTPRequest, by authentication: any Authentication, _ context: CallContext
    ) async throws -> HTTPResponse {
        var sent = try await authenticate(request, by: authentication, in: context)
        while true {
            let response = try await attempt(sent, context, from: .cookies)
            guard authentication.isRejection(response), response.hasSeenCredential(of: request, inside: context.credentialScope),
                // One renewal for all attempts, even if an attempt in between failed for another reason.
                context.call.consumeRenewal(after: response.statusCode),
                try await renew(authentication, after: response, in: context),
                // Otherwise the renewal was still useful: later requests have the new credential.
                request.body?.isSpent != true, !response.followsAction
            else { return response }
            sent = try await authenticate(request, by: authentication, isRenewed: true, in: context)
        }
    }
}

extension CookieJar {
    /// Adds the jar's cookies to a request. This happens above the cache and the sharing of flights, because they must not give one user
    /// another user's response.
    @inline(never)
    func add(to request: inout HTTPRequest, in context: inout CallContext) {
        if !request.takesCookies { return }
        let cookies = JarCookies()
        request = cookies.set(in: request) { header(for: request.url, besides: $0) }
        context.cookies = cookies
    }
}
