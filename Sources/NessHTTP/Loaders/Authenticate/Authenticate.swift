import Foundation

/// Adds credentials to requests. If the server refuses a credential and it can be renewed, the request is sent once more.
struct Authenticate: OptionalStage {
    /// Returns the manager, for authentications that send requests with it; `nil` if it has been released.
    let manager: @Sendable () -> (any AnyObject & Sendable)?

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { authentication(for: request, in: context) != nil }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard let authentication = authentication(for: request, in: next.context) else { return try await next(request) }
        let tracker = next.context.call.tracker
        tracker.markAuthenticated()
        var context = next.context
        if case .inherited = context.call.choices.authentication {
            let scope = context.call.choices.environment.baseURL
            context = context.with { $0.credentialScope = scope }
        }
        var response = try await next(authenticated(request, by: authentication, in: context), in: context)
        while Self.isAsked(authentication, about: response), Self.hasSeenCredential(response, to: request, context.credentialScope) {
            // One renewal for all attempts, even if an attempt in between failed for another reason.
            guard tracker.consumeRenewal(after: response.statusCode) else { break }
            guard try await Self.refreshing(context, { try await authentication.renew(after: response) }) else { break }
            // The renewal was not in vain: later requests have the new credential.
            if request.body?.isSpent == true { break }
            response = try await next(authenticated(request, by: authentication, isRenewed: true, in: context), in: context)
        }
        return response
    }

    /// Returns true if the responding server has seen the credential. A redirect to another origin, or out of the base URL that the
    /// credential is for, removes the credential.
    private static func hasSeenCredential(_ response: HTTPResponse, to request: HTTPRequest, _ scope: URL?) -> Bool {
        response.url.hasSameOrigin(as: request.url) && scope?.contains(response.url) != false
    }

    private static func isAsked(_ authentication: any Authentication, about response: HTTPResponse) -> Bool {
        response.statusCode == 401 || (response.statusCode == 403 && authentication.refreshesOnForbidden)
    }

    /// Runs an operation that may refresh a credential. The caller gets its error unchanged, and no retry control is asked about it: another
    /// attempt would refresh again.
    private static func refreshing<Value: Sendable>(_ context: CallContext, _ operation: () async throws -> Value) async throws -> Value {
        do {
            return try await operation()
        } catch {
            context.call.tracker.makeFinal()
            throw error
        }
    }

    /// Returns the request with its credential. Every field that the authentication added is secret, whatever its name: it must not go to
    /// another origin, and the response is for this user only.
    /// - Parameter isRenewed: True if the credential has just been renewed after a refusal.
    private func authenticated(
        _ request: HTTPRequest, by authentication: any Authentication, isRenewed: Bool = false, in context: CallContext
    ) async throws -> HTTPRequest {
        var asked = request
        // Weak, because the response keeps the option, and an observer of the manager may keep the response.
        asked[AuthenticationCircumstances.Key.self] = AuthenticationCircumstances(
            manager: { [weak current = manager()] in current }, isRenewed: isRenewed,
            makeFinal: { [weak tracker = context.call.tracker] in tracker?.makeFinal() })
        var authenticated = try await authentication.authenticate(asked)
        let added = authenticated.headers.filter { !request.headers.fields.contains($0) }.map(\.name)
        guard !added.allSatisfy(authenticated.secrets.containsHeader) else { return authenticated }
        authenticated.secrets.insert(added)
        authenticated.headers.secrets = authenticated.secrets
        return authenticated
    }

    private func authentication(for request: HTTPRequest, in context: CallContext) -> (any Authentication)? {
        // An `Authorization` field that the caller set stays.
        if request.headers.contains(HeaderName.authorization) { return nil }
        let environment = context.call.choices.environment
        switch context.call.choices.authentication {
        case .none: return nil
        case .own(let authentication): return authentication
        case .environment: return environment.authentication
        case .inherited:
            return environment.baseURL?.contains(request.url) == true ? environment.authentication : nil
        }
    }
}
