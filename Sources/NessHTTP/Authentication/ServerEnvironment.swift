import Foundation

/// The server of a manager's requests: base URL, default headers and credentials, as one value.
///
/// ```swift
/// ness.environment = ServerEnvironment(
///     baseURL: staging,
///     authentication: BearerAuthentication(token: stagingToken))
/// ```
///
/// A request keeps the environment with which it started, for all its attempts and redirects.
public struct ServerEnvironment: Sendable {
    /// The URL against which relative URLs are resolved. It counts as a folder, with or without a slash at its end. Its query is added
    /// to relative URLs that stay inside it. Its fragment has no effect.
    public var baseURL: URL?
    /// Header fields for every request that does not set them itself. If there is a `baseURL`, secret fields are only added to requests
    /// for URLs inside it, even after a delegate's change. A loader that changes the URL later decides about the fields itself.
    public var defaultHeaders: HTTPHeaders
    /// The authentication, which adds credentials to requests under `baseURL`, and to those with `RequestBuilder.authenticate(with:)`.
    public var authentication: (any Authentication)?

    /// Makes an environment.
    /// - Parameters:
    ///   - baseURL: The URL against which relative URLs are resolved.
    ///   - defaultHeaders: Header fields for every request that does not set them itself.
    ///   - authentication: Adds credentials.
    public init(baseURL: URL? = nil, defaultHeaders: HTTPHeaders = [:], authentication: (any Authentication)? = nil) {
        self.baseURL = baseURL
        self.defaultHeaders = defaultHeaders
        self.authentication = authentication
    }
}

extension ServerEnvironment {
    /// Returns the default headers that a request does not set itself. Secret ones go only to URLs inside the base URL, and
    /// never with a TRACE.
    func headers(for request: HTTPRequest) -> [HTTPHeaders.Field] {
        if defaultHeaders.isEmpty { return [] }
        let isInside = contains(request) && request.method != .trace
        return defaultHeaders.filter { field in
            !request.headers.contains(field.name) && (isInside || !request.secrets.containsHeader(field.name))
        }
    }

    /// Removes secret default headers from a request that a delegate or a redirect has led out of the base URL.
    func removeStrayed(_ added: some Sequence<HTTPHeaders.Field>, from request: inout HTTPRequest) {
        if contains(request) { return }
        // Keep a value that is not the default: the caller or the delegate set it. A field with a default among its values is removed as a
        // whole.
        for field in added where request.secrets.containsHeader(field.name) {
            if request.headers.values(for: field.name).contains(field.value) { request.headers.remove(field.name) }
        }
    }

    func contains(_ request: HTTPRequest) -> Bool { baseURL?.contains(request.url) ?? true }
}

extension ServerEnvironment: RedactedValue {
    /// The base URL, the default headers and the type of authentication, without secrets.
    package var redactedDescription: String {
        let base = baseURL.map { Redactor(defaultHeaders.secrets).redacted($0) } ?? "no base URL"
        return "\(base) \(defaultHeaders) \(authentication.map { "\(type(of: $0))" } ?? "no authentication")"
    }
}
