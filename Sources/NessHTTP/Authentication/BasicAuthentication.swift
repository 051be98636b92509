import Foundation

/// Basic authentication with a user and a password (RFC 7617). The first request already carries the credential.
public struct BasicAuthentication: Authentication, SecretAuthentication {
    private let user: String
    private let password: String

    /// Makes an authentication.
    /// - Parameters:
    ///   - user: The user's name. A name with a colon makes the request fail with `NessError.Kind.invalidRequest`, because a colon
    ///     separates it from the password.
    ///   - password: The password.
    public init(user: String, password: String) { (self.user, self.password) = (user, password) }

    /// Adds the `Authorization` field, in UTF-8.
    public func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
        // In bytes: a colon and a combining mark are one Character, but the server splits at the colon.
        if user.utf8.contains(UInt8(ascii: ":")) {
            let reason = "a user's name for Basic authentication can't have a colon"
            throw NessError(.invalidRequest, NessError.Context(request: request, reason: reason))
        }
        var request = request
        request.headers[HeaderName.authorization] = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
        return request
    }
}

extension Authentication where Self == BasicAuthentication {
    /// Makes an authentication with a user and a password (RFC 7617).
    /// - Parameters:
    ///   - user: The user's name: see `BasicAuthentication`.
    ///   - password: The password.
    public static func basic(user: String, password: String) -> BasicAuthentication { BasicAuthentication(user: user, password: password) }
}

/// An authentication that is described by the name of its type, because the rest is secret.
protocol SecretAuthentication: Authentication, RedactedValue {}

extension SecretAuthentication {
    /// The name of the type.
    package var redactedDescription: String { "\(Self.self)" }
}
