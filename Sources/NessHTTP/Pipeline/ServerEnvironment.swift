import Foundation

/// Where a manager's requests go and what they bring: base URL, default headers and credentials, as one value.
///
/// ```swift
/// ness.environment = ServerEnvironment(baseURL: staging, authentication: BearerAuthentication(token: stagingToken))
/// ```
///
/// A request keeps the environment that it began with, with all its attempts and redirects.
public struct ServerEnvironment: Sendable {
    /// What relative URLs are resolved against; taken as a folder, with or without a slash at its end.
    public var baseURL: URL?
    /// Header fields for every request that does not set them itself; those that are secret only for URLs inside `baseURL`, where there is
    /// one.
    public var defaultHeaders: HTTPHeaders
    /// What adds credentials to requests inside `baseURL`, and to those that ask for it.
    public var authentication: (any Authentication)?

    /// Makes an environment.
    /// - Parameters:
    ///   - baseURL: What relative URLs are resolved against.
    ///   - defaultHeaders: Header fields for every request that does not set them itself.
    ///   - authentication: What adds credentials.
    public init(baseURL: URL? = nil, defaultHeaders: HTTPHeaders = [:], authentication: (any Authentication)? = nil) {
        self.baseURL = baseURL
        self.defaultHeaders = defaultHeaders
        self.authentication = authentication
    }
}

extension ServerEnvironment: CustomStringConvertible, CustomReflectable {
    /// The base URL, the default headers and the type of authentication, without secrets.
    public var description: String {
        let base = baseURL.map { defaultHeaders.secrets.redacted($0) } ?? "no base URL"
        return "\(base) \(defaultHeaders) \(authentication.map { "\(type(of: $0))" } ?? "no authentication")"
    }
    /// Only the description, so that dumping an environment shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["environment": description]) }
}
