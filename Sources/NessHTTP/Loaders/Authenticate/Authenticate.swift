import Foundation

/// Has requests authenticated, and sends one again, once, whose credential was refused and renewed.
struct Authenticate: OptionalStage {
    func isNeeded(by request: HTTPRequest) -> Bool { authentication(for: request) != nil }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard let authentication = authentication(for: request) else { return try await next(request) }
        var marked = request
        marked.isAuthenticated = true
        if case .inherited = request.authentication { marked.credentialScope = request.environment?.baseURL }
        var response = try await next(Self.authenticated(marked, by: authentication))
        let counter = request.activity as? any AttemptCounter
        // For a request that nobody counts.
        var own = CredentialRenewals()
        // A redirect may have led elsewhere: what refuses there did not see the credential.
        while Self.isAsked(authentication, about: response), response.url.hasSameOrigin(as: request.url) {
            let status = response.statusCode
            // Once for all attempts: what failed in another way between changes nothing.
            guard counter?.takeRenewal(after: status) ?? own.take(after: status) else { break }
            do {
                guard try await authentication.renew(after: response) else { break }
            } catch {
                // The error is the caller's as it is, and nothing that another attempt would be asked about.
                counter?.makeFinal()
                throw error
            }
            response = try await next(Self.authenticated(marked, by: authentication))
        }
        return response
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
        authenticated.headers.marked.formUnion(authenticated.secrets.names)
        return authenticated
    }

    private func authentication(for request: HTTPRequest) -> (any Authentication)? {
        // What the caller wrote by hand stands.
        if request.headers.contains("Authorization") { return nil }
        switch request.authentication {
        case .none: return nil
        case .own(let authentication): return authentication
        case .environment: return request.environment?.authentication
        case .inherited:
            guard let environment = request.environment, environment.baseURL?.contains(request.url) == true else { return nil }
            return environment.authentication
        }
    }
}

extension URL {
    /// Checks whether another URL lies inside this one, by origin and path: see `ParsedURL.contains(_:)`.
    package func contains(_ other: URL) -> Bool { ParsedURL(self).contains(ParsedURL(other)) }
}
