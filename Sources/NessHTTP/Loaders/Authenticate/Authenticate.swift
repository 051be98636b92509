import Foundation

/// Has requests authenticated, and sends one again, once, whose credential was refused and renewed.
struct Authenticate: OptionalStage {
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
        var response = try await next(Self.authenticated(request, by: authentication), in: context)
        while Self.isAsked(authentication, about: response), Self.hasSeenCredential(response, to: request, context.credentialScope) {
            // Once for all attempts: what failed in another way between changes nothing.
            guard tracker.consumeRenewal(after: response.statusCode) else { break }
            do {
                guard try await authentication.renew(after: response) else { break }
            } catch {
                // The error is the caller's as it is, and nothing that another attempt would be asked about.
                tracker.makeFinal()
                throw error
            }
            response = try await next(Self.authenticated(request, by: authentication), in: context)
        }
        return response
    }

    /// Returns true if the server that answered has seen the credential: a redirect to another origin, or out of the base URL that the
    /// credential is for, takes it away.
    private static func hasSeenCredential(_ response: HTTPResponse, to request: HTTPRequest, _ scope: URL?) -> Bool {
        response.url.hasSameOrigin(as: request.url) && scope?.contains(response.url) != false
    }

    private static func isAsked(_ authentication: any Authentication, about response: HTTPResponse) -> Bool {
        response.statusCode == 401 || (response.statusCode == 403 && authentication.answersForbidden)
    }

    /// The request with its credential. Every field that was added for it is secret, whatever its name: it must not go elsewhere, and
    /// what it brings is for this user alone.
    private static func authenticated(_ request: HTTPRequest, by authentication: any Authentication) async throws -> HTTPRequest {
        var authenticated = try await authentication.authenticate(request)
        let added = authenticated.headers.filter { !request.headers.fields.contains($0) }.map(\.name)
        guard !added.allSatisfy(authenticated.secrets.containsHeader) else { return authenticated }
        authenticated.secrets.insert(added)
        authenticated.headers.secrets = authenticated.secrets
        return authenticated
    }

    private func authentication(for request: HTTPRequest, in context: CallContext) -> (any Authentication)? {
        // What the caller wrote by hand stands.
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
