/// Authentication with a fixed token (RFC 6750).
public struct BearerAuthentication: Authentication, SecretAuthentication {
    private let token: String
    /// The stable name of the token's user: see `Authentication.userIdentifier`.
    public let userIdentifier: String?

    /// Makes an authentication.
    /// - Parameters:
    ///   - token: The token.
    ///   - userIdentifier: A stable name of the token's user, by which `HTTPCache` finds the responses for an earlier token. `nil` for
    ///     none.
    public init(token: String, userIdentifier: String? = nil) { (self.token, self.userIdentifier) = (token, userIdentifier) }

    /// Adds the `Authorization` field.
    public func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
        var request = request
        request.headers[HeaderName.authorization] = "Bearer \(token)"
        return request
    }
}

extension Authentication where Self == BearerAuthentication {
    /// Makes an authentication with a fixed token (RFC 6750).
    /// - Parameter token: The token.
    public static func bearer(_ token: String) -> BearerAuthentication { BearerAuthentication(token: token) }
}
