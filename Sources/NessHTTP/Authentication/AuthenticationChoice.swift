/// The source of one request's credential.
package enum AuthenticationChoice: Sendable {
    /// The authentication of the request's environment, if the URL lies inside the base URL.
    case inherited
    /// The authentication of the request's environment, for any URL.
    case environment
    /// No authentication.
    case none
    /// An authentication that the request brings, for any URL.
    case given(any Authentication)
}

extension AuthenticationChoice {
    /// Returns the authentication of a request to an environment's server; `nil` for a request without one.
    func authentication(for request: HTTPRequest, in environment: ServerEnvironment) -> (any Authentication)? {
        // An `Authorization` field that the caller set stays.
        if request.headers.contains(HeaderName.authorization) { return nil }
        switch self {
        case .none: return nil
        case .given(let authentication): return authentication
        case .environment: return environment.authentication
        case .inherited:
            // The response to a TRACE shows the header fields of the request (RFC 9110, 9.3.8).
            guard request.method != .trace, environment.baseURL?.contains(request.url) == true else { return nil }
            return environment.authentication
        }
    }
}
