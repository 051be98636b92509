/// Adds credentials to requests, and answers a 401.
///
/// A manager's authentication is used for URLs inside its base URL, by origin and path (`/v1` does not contain `/v10`), and nowhere
/// else; a request can ask for one by `authenticate(with:)`, or for none by `withoutAuthentication()`.
public protocol Authentication: Sendable {
    /// Adds the credential.
    /// - Parameter request: The request, about to be sent.
    /// - Returns: The request to send.
    /// - Throws: What keeps the request from being sent.
    func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest

    /// Decides, once a request, whether a response that refuses the credential is worth another try.
    /// - Parameters:
    ///   - response: The response: its status is 401. Its request is the one that `authenticate(_:)` returned.
    /// - Returns: Whether to authenticate the request anew and send it again.
    /// - Throws: The request's error, where getting a new credential failed.
    func renew(after response: HTTPResponse) async throws -> Bool
}

extension Authentication {
    /// Nothing can be done.
    public func renew(after response: HTTPResponse) async throws -> Bool { false }
}

/// What authenticates one request.
package enum AuthenticationChoice: Sendable {
    /// What the request's environment has, inside its base URL.
    case inherited
    /// What the request's environment has, wherever the request goes.
    case environment
    /// Nothing.
    case none
    /// This one, wherever the request goes.
    case own(any Authentication)
}
