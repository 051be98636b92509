/// Digest authentication (RFC 7616). The user's name and password are never sent: each request carries a hash of them and of the server's
/// challenge.
///
/// The first request to an origin is sent without a credential, gets a 401, and is sent again. Later requests carry a credential from the
/// start, until the server rejects its nonce, which renews the challenge. A second 401 of the same request is final.
///
/// The hash functions are MD5 and SHA-256 with their session forms; hashed user names are supported. If a 401 has several challenges, the
/// first supported one is used. The only supported protection is `auth`: a 401 that requires `auth-int` is final. A redirect carries the
/// credential for the first URL, which a server may reject.
public struct DigestAuthentication: Authentication, SecretAuthentication {
    private let session: DigestSession

    /// Makes an authentication that has not been challenged.
    /// - Parameters:
    ///   - user: The user's name.
    ///   - password: The password.
    public init(user: String, password: String) { session = DigestSession(DigestCredentials(user: user, password: password)) }

    /// Adds the `Authorization` field once the origin has sent a challenge.
    public func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest { try await session.authenticate(request) }

    /// Keeps the server's challenge for the next attempt.
    public func renew(after response: HTTPResponse) async throws -> Bool { try await session.renew(after: response) }

}
