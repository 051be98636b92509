import Foundation

/// Answers the challenges of any number of origins with one user's credentials. It keeps each origin's last challenge, so that later requests
/// carry an answer from the start, with the same nonce and a higher count.
final class DigestSession: Authentication {
    /// What an origin has asked for last.
    private struct Nonce: Sendable {
        let challenge: DigestChallenge
        let clientNonce: String
        /// Counts the challenges that were taken, from 1.
        let generation: Int
        var uses = 0
    }

    private struct State: Sendable {
        var generation = 0
        var nonces: [String: Nonce] = [:]
    }

    private let credentials: DigestCredentials
    private let makeClientNonce: @Sendable () -> String
    private let state = Lock(State())

    /// Makes a session that has not been challenged.
    /// - Parameters:
    ///   - credentials: Whose it is.
    ///   - makeClientNonce: Makes what can't be guessed; a test gives its own.
    init(
        _ credentials: DigestCredentials,
        makeClientNonce: @escaping @Sendable () -> String = { Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() }
    ) {
        self.credentials = credentials
        self.makeClientNonce = makeClientNonce
    }

    /// Answers what the origin has asked for last; sends the request as it is where it has asked for nothing.
    func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
        let origin = HostQueue.origin(of: request.url)
        let nonce: Nonce? = state.withLock { state in
            state.nonces[origin]?.uses += 1
            return state.nonces[origin]
        }
        guard let nonce else { return request }
        var request = request
        request[CredentialGeneration.self] = nonce.generation
        request.headers[HeaderName.authorization] = credentials.answer(
            nonce.challenge, method: request.method.rawValue, target: ParsedURL(request.url).target, count: nonce.uses,
            clientNonce: nonce.clientNonce)
        return request
    }

    /// Takes a challenge, unless it says that the password is wrong: whoever tries that again is locked out by and by.
    func renew(after response: HTTPResponse) async throws -> Bool {
        let origin = HostQueue.origin(of: response.request.url)
        let used = response.request[CredentialGeneration.self]
        let challenge = DigestChallenge.first(in: response.headers.values(for: HeaderName.wwwAuthenticate))
        return state.withLock { state in
            // Another request was quicker.
            if let known = state.nonces[origin], known.generation > used ?? 0 { return true }
            state.nonces[origin] = nil
            guard let challenge, used == nil || challenge.isStale else { return false }
            state.generation += 1
            state.nonces[origin] = Nonce(challenge: challenge, clientNonce: makeClientNonce(), generation: state.generation)
            return true
        }
    }
}
