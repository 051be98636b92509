#if canImport(CryptoKit)
import CryptoKit
import Foundation

/// A user and a password that are not sent but hashed with what the server asks for (RFC 7616).
///
/// Only on Apple platforms: on Linux there is no hash function without a package, and this library has none of its own.
///
/// The first request to an origin goes without a credential, meets 401, and is sent again; later ones are answered before they are
/// asked. A second 401 stands, unless the server says that only its nonce was too old (`stale`). MD5, SHA-256, their session forms and hashed
/// user names are answered, of several challenges the first; `auth` is the only protection, so that a challenge for `auth-int` alone stands.
/// A redirect is followed with the answer for the first URL, which a server may refuse.
public struct DigestAuthentication: Authentication, CustomStringConvertible, CustomReflectable {
    private let session: DigestSession

    /// Makes an authentication that has not been challenged.
    /// - Parameters:
    ///   - user: The user.
    ///   - password: The password.
    public init(user: String, password: String) {
        let credentials = DigestCredentials(user: user, password: password) { hash, data in
            switch hash {
            case .md5: Data(Insecure.MD5.hash(data: data))
            case .sha256: Data(SHA256.hash(data: data))
            }
        }
        session = DigestSession(credentials)
    }

    /// Adds the `Authorization` field, once the origin has said what it wants.
    public func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest { try await session.authenticate(request) }

    /// Takes the server's challenge.
    public func renew(after response: HTTPResponse) async throws -> Bool { try await session.renew(after: response) }

    /// The type alone: what it holds is secret.
    public var description: String { "DigestAuthentication" }
    /// Empty: what it holds is secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
#endif
