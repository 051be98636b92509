import Foundation

/// The credential of a request.
extension Pipeline {
    /// Renews a credential that the server rejected. If the renewal fails, the caller gets its error unchanged, and the request is not
    /// retried: another attempt would renew again.
    func renew(
        _ authentication: any Authentication, after response: HTTPResponse, in context: CallContext
    ) async throws -> Bool {
        // A loader above may have ignored that the request was dropped.
        try Task.checkCancellation()
        do {
            return try await AuthenticationCircumstances.$current.withValue(.init(call: context.call, pipeline: self)) {
                try await authentication.renew(after: response)
            }
        } catch {
            context.call.makeFinal()
            throw Self.marked(error)
        }
    }

    /// Returns the request with its credential. Every field that the authentication added is secret, regardless of its name: it must not go
    /// to another origin, and the response is for this user only.
    /// - Parameter isRenewed: True if the credential has just been renewed after a rejection.
    func authenticate(
        _ request: HTTPRequest, by authentication: any Authentication, isRenewed: Bool = false, in context: CallContext
    ) async throws -> HTTPRequest {
        let circumstances = AuthenticationCircumstances(call: context.call, pipeline: self, isRenewed: isRenewed)
        var authenticated: HTTPRequest
        do {
            authenticated = try await AuthenticationCircumstances.$current.withValue(circumstances) {
                try await authentication.authenticate(request)
            }
        } catch {
            throw Self.marked(error)
        }
        let added = authenticated.headers.filter { !request.headers.fields.contains($0) }.map(\.name)
        guard !added.allSatisfy(authenticated.secrets.containsHeader) else { return authenticated }
        authenticated.secrets.insert(added)
        authenticated.headers.secrets = authenticated.secrets
        return authenticated
    }

    /// Returns an error of an authentication, which tells so.
    private static func marked(_ error: any Error) -> any Error {
        guard let error = error as? NessError else { return error }
        var context = error.context
        context.isAuthenticationFailure = true
        return NessError(error.kind, context)
    }

    /// Returns the source of a request's credential; `nil` for none.
    func authentication(for request: HTTPRequest, in context: CallContext) -> (any Authentication)? {
        // An `Authorization` field that the caller set stays.
        if request.headers.contains(HeaderName.authorization) { return nil }
        let environment = context.policies.environment
        switch context.policies.authentication {
        case .none: return nil
        case .given(let authentication): return authentication
        case .environment: return environment.authentication
        case .inherited:
            return environment.baseURL?.contains(request.url) == true ? environment.authentication : nil
        }
    }
}

extension Authentication {
    func isAsked(about response: HTTPResponse) -> Bool {
        response.statusCode == 401 || (response.statusCode == 403 && refreshesOnForbidden)
    }
}

extension HTTPResponse {
    /// Returns true if the responding server has seen the request's credential. A redirect to another origin, or out of the base URL that
    /// the credential is for, removes the credential.
    func hasSeenCredential(of request: HTTPRequest, inside scope: URL?) -> Bool {
        url.hasSameOrigin(as: request.url) && scope?.contains(url) != false
    }
}
