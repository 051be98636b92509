/// Adds credentials to requests, and answers a 401; a 403 too, where it says so.
///
/// A manager's authentication is used for URLs inside its base URL, by origin and path (`/v1` does not contain `/v10`), and nowhere
/// else; a request can ask for one by `authenticate(with:)`, or for none by `withoutAuthentication()`.
public protocol Authentication: Sendable {
    /// Adds the credential.
    /// - Parameter request: The request, about to be sent.
    /// - Returns: The request to send.
    /// - Throws: What keeps the request from being sent.
    func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest

    /// Whether it is asked about a 403 as well: for servers that refuse an old credential so. Not unless given.
    var answersForbidden: Bool { get }

    /// Decides whether a response that refuses the credential is worth another try. Asked once a request about a 401, whatever its attempts
    /// meet between, and once about a 403, which may come after a 401; no 401 is asked about after that.
    /// - Parameters:
    ///   - response: The response: its status is 401, or 403. Its request is the one that `authenticate(_:)` returned.
    /// - Returns: Whether to authenticate the request anew and send it again.
    /// - Throws: The request's error, where getting a new credential failed.
    func renew(after response: HTTPResponse) async throws -> Bool
}

extension Authentication {
    /// No.
    public var answersForbidden: Bool { false }

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
