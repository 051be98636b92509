import Foundation

/// Adds a credential to a request, and renews it after a rejection.
final class CredentialStep: Sendable {
    /// Returns the manager, for authentications that send requests with it; `nil` if it has been released. Its type `Ness` is declared in a
    /// later folder, so it is erased here.
    let manager: @Sendable () -> (any AnyObject & Sendable)?
    /// Counts the requests that wait for a refresh.
    let waiting: WaitingRequests
    /// The manager's clock.
    let clock: PipelineClock

    init(manager: @escaping @Sendable () -> (any AnyObject & Sendable)?, waiting: WaitingRequests, clock: PipelineClock) {
        self.manager = manager
        self.waiting = waiting
        self.clock = clock
    }

    /// Sends a request with its credential. If the server rejects it and it can be renewed, the request is sent once more.
    /// - Parameters:
    ///   - request: The request without the credential.
    ///   - authentication: The source of the credential.
    ///   - attempt: The attempt, which sends the request.
    @inline(never)
    func send(
        _ request: HTTPRequest, by authentication: any Authentication, for attempt: any AuthenticatedAttempt
    ) async throws -> HTTPResponse {
        var sent = try await authenticate(request, by: authentication, for: attempt)
        while true {
            let response = try await attempt.send(sent)
            guard authentication.isRejection(response), response.hasSeenCredential(of: request, inside: attempt.credentialScope),
                // One renewal for all attempts, even if an attempt in between failed for another reason.
                attempt.consumeRenewal(after: response.statusCode),
                try await renew(authentication, after: response, for: attempt),
                // If the request cannot be sent again, the renewal was still useful: later requests have the new credential.
                request.body?.isSpent != true, !response.followsAction
            else { return response }
            sent = try await authenticate(request, by: authentication, isRenewed: true, for: attempt)
        }
    }

    /// Renews a credential that the server rejected. If the renewal fails, the caller gets its error unchanged, and the request is not
    /// retried: another attempt would renew again.
    private func renew(
        _ authentication: any Authentication, after response: HTTPResponse, for attempt: any AuthenticatedAttempt
    ) async throws -> Bool {
        let context = AuthenticationContext(self, attempt, isRenewed: false)
        do {
            return try await run(authentication, for: attempt) { try await authentication.renew(after: response, in: context) }
        } catch {
            attempt.noteFailedAuthentication()
            throw error
        }
    }

    /// Returns the request with its credential. Every field that the authentication added is secret, regardless of its name: it must not go
    /// to another origin, and the response is for this user only.
    /// - Parameter isRenewed: True if the credential has just been renewed after a rejection.
    private func authenticate(
        _ request: HTTPRequest, by authentication: any Authentication, isRenewed: Bool = false, for attempt: any AuthenticatedAttempt
    ) async throws -> HTTPRequest {
        let user = authentication.userIdentifier
        let context = AuthenticationContext(self, attempt, isRenewed: isRenewed)
        var authenticated = try await run(authentication, for: attempt) { try await authentication.authenticate(request, in: context) }
        let added = authenticated.headers.filter { !request.headers.fields.contains($0) }
        // If the user changed meanwhile, the credential may be that of either.
        if let user, authenticated[AuthenticatedUser.self] == nil, let other = authentication.userIdentifier, user.isExactly(other) {
            authenticated[AuthenticatedUser.self] = AuthenticatedUser(name: user, fields: added)
        }
        guard !added.allSatisfy({ authenticated.secrets.containsHeader($0.name) }) else { return authenticated }
        authenticated.secrets.insert(added.map(\.name))
        authenticated.headers.secrets = authenticated.secrets
        return authenticated
    }

    /// Runs a method of an authentication, and marks its errors as authentication failures.
    private func run<Value: Sendable>(
        _ authentication: any Authentication, for attempt: any AuthenticatedAttempt, _ method: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A loader above may have ignored that the request was dropped, and may run this in a task that was not canceled.
        if attempt.hasEnded { throw CancellationError() }
        do {
            return try await attempt.run(for: authentication.userIdentifier, method)
        } catch {
            throw Self.markedAsAuthenticationFailure(error)
        }
    }

    @inline(never)
    private static func markedAsAuthenticationFailure(_ error: any Error) -> any Error {
        guard var error = error as? NessError else { return error }
        error.context.isAuthenticationFailure = true
        return error
    }
}

extension Authentication {
    func isRejection(_ response: HTTPResponse) -> Bool {
        response.statusCode == 401 || (response.statusCode == 403 && refreshesOnForbidden)
    }
}

extension HTTPResponse {
    /// Returns true if the responding server has seen the request's credential. A redirect to another origin, or out of the base URL that
    /// the credential is for, removes the credential, and a redirect back does not restore it.
    func hasSeenCredential(of request: HTTPRequest, inside scope: URL?) -> Bool {
        (history + [self]).allSatisfy { $0.url.hasSameOrigin(as: request.url) && scope?.contains($0.url) != false }
    }
}
