import Foundation
import NessLock

/// Responds to the challenges of any number of origins with one user's credentials. It keeps the last challenge of each origin. Later
/// requests are then authorized from the start, with the same nonce and a higher count.
final class DigestSession: Authentication {
    /// The last challenge of an origin.
    private struct Nonce: Sendable {
        let challenge: DigestChallenge
        let clientNonce: String
        /// The number of the challenge among all challenges of the session, from 1.
        let generation: Int
        var uses = 0
    }

    private struct State: Sendable {
        var generation = 0
        var nonces: [ParsedURL.Origin: Nonce] = [:]
    }

    private let credentials: DigestCredentials
    private let makeClientNonce: @Sendable () -> String
    private let state = Lock(State())

    /// Makes a session that has not been challenged.
    /// - Parameters:
    ///   - credentials: The user's credentials.
    ///   - makeClientNonce: Makes a random nonce. Tests pass a fixed one.
    init(
        _ credentials: DigestCredentials,
        makeClientNonce: @escaping @Sendable () -> String = { Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() }
    ) {
        self.credentials = credentials
        self.makeClientNonce = makeClientNonce
    }

    /// Adds the credentials for the origin's last challenge. Without a challenge the request stays unchanged.
    func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
        let url = ParsedURL(request.url), origin = url.origin
        let nonce: Nonce? = state.withLock { state in
            state.nonces[origin]?.uses += 1
            return state.nonces[origin]
        }
        guard let nonce else { return request }
        var request = request
        request[CredentialGeneration.self] = nonce.generation
        request.headers[HeaderName.authorization] = credentials.answer(
            nonce.challenge, method: request.method.rawValue, target: url.target, count: nonce.uses,
            clientNonce: nonce.clientNonce)
        return request
    }

    /// Stores a challenge, unless it shows that the password is wrong: repeated attempts could lock the user out.
    func renew(after response: HTTPResponse) async throws -> Bool {
        let origin = ParsedURL(response.request.url).origin
        let used = response.request[CredentialGeneration.self]
        let challenge = DigestChallenge.first(in: response.headers.values(for: HeaderName.wwwAuthenticate))
        return state.withLock { state in
            // Another request has already stored a newer challenge.
            if let known = state.nonces[origin], known.generation > used ?? 0 { return true }
            state.nonces[origin] = nil
            guard let challenge, used == nil || challenge.isStale else { return false }
            state.generation += 1
            state.nonces[origin] = Nonce(challenge: challenge, clientNonce: makeClientNonce(), generation: state.generation)
            return true
        }
    }
}
