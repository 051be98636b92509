import Foundation
import NessLock

/// Digest authentication (RFC 7616). The user's name and password are never sent: each request carries a hash of them and of the server's
/// challenge.
///
/// The first request to an origin is sent without a credential, gets a 401, and is sent again. Later requests carry a credential from the
/// start, until the server rejects its nonce, which renews the challenge. A second 401 of the same request is final.
///
/// The hash functions are MD5 and SHA-256 with their session forms; hashed user names are supported. If a 401 has several challenges, the
/// first supported one is used. The only supported protection is `auth`: a 401 that requires `auth-int` is final. A redirect carries the
/// credential for the first URL, which a server may reject.
///
/// A challenge without `qop`, as old cameras and routers send it (RFC 2069), is used only if there is no other. It is weak: someone
/// who reads the request can send its credential again while the nonce is valid, and someone who can change a challenge can remove its
/// `qop`.
public final class DigestAuthentication: Authentication, SecretAuthentication {
    /// The last challenge of an origin.
    private struct Nonce: Sendable {
        let challenge: DigestChallenge
        let clientNonce: String
        /// The number of the challenge among all challenges of the authentication, from 1.
        let generation: Int
        var uses = 0
    }

    private struct State: Sendable {
        var generation = 0
        var nonces: [ParsedURL.Origin: Nonce] = [:]
    }

    private let user: String
    private let password: String
    private let state = Lock(State())

    /// Makes an authentication that has not been challenged.
    /// - Parameters:
    ///   - user: The user's name.
    ///   - password: The password.
    public init(user: String, password: String) { (self.user, self.password) = (user, password) }

    /// Adds the `Authorization` field once the origin has sent a challenge.
    public func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
        let url = ParsedURL(request.url), origin = url.origin
        let nonce: Nonce? = state.withLock { state in
            state.nonces[origin]?.uses += 1
            return state.nonces[origin]
        }
        guard let nonce else { return request }
        var request = request
        request[CredentialGeneration.self] = nonce.generation
        request.headers[HeaderName.authorization] = nonce.challenge.answer(
            user: user, password: password, method: request.method.rawValue, target: url.target, count: nonce.uses,
            clientNonce: nonce.clientNonce)
        return request
    }

    /// Keeps the server's challenge for the next attempt, unless it shows that the password is wrong: repeated attempts could lock the user
    /// out.
    public func renew(after response: HTTPResponse, in context: AuthenticationContext) async throws -> Bool {
        let origin = ParsedURL(response.request.url).origin
        let used = response.request[CredentialGeneration.self]
        let challenge = DigestChallenge.first(in: response.headers.values(for: HeaderName.wwwAuthenticate))
        return state.withLock { state in
            // Another request has already stored a newer challenge.
            if let known = state.nonces[origin], known.generation > used ?? 0 { return true }
            state.nonces[origin] = nil
            guard let challenge, used == nil || challenge.isStale else { return false }
            state.generation += 1
            let clientNonce = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
            state.nonces[origin] = Nonce(challenge: challenge, clientNonce: clientNonce, generation: state.generation)
            return true
        }
    }
}
