/// A user's name and password that are never sent: each request carries a hash of them and of the server's challenge (RFC 7616).
///
/// The first request to an origin goes without a credential, meets 401, and is sent again. Later requests carry their answer from the start.
/// A second 401 is the result, unless the server says that only its nonce was too old (`stale`).
///
/// The hash functions are MD5 and SHA-256 with their session forms; hashed user names are supported. Of several challenges the first known one is
/// answered. The only protection is `auth`: a challenge for `auth-int` alone stands. A redirect is followed with the answer for the first URL,
/// which a server may refuse.
public struct DigestAuthentication: Authentication, CustomStringConvertible, CustomReflectable {
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

    /// The type's name alone: the rest is secret.
    public var description: String { "DigestAuthentication" }
    /// An empty mirror: the contents are secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
