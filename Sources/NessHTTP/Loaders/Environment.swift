import Foundation

/// Adds what the manager has for all its requests: base URL, default headers, and the delegate's changes.
///
/// It runs for every attempt, from the request as the caller made it.
package struct Environment: HTTPLoader {
    let baseURL: URL?
    let defaultHeaders: HTTPHeaders
    /// Asks the delegate for its version of the request, and tells it that the request is on its way.
    let willRequest: @Sendable (HTTPRequest) -> HTTPRequest
    let didRequest: @Sendable (HTTPRequest) -> Void

    package func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        var request = request
        request.url = try Self.resolve(request.url, against: baseURL)
        for field in defaultHeaders where !request.headers.contains(field.name) {
            for value in defaultHeaders.values(for: field.name) { request.headers.add(value, for: field.name) }
        }
        request = willRequest(request)
        request.url = try Self.resolve(request.url, against: baseURL)
        didRequest(request)
        request.observation?.willSend(request)
        return try await next(request)
    }

    /// Resolves by RFC 3986, 5.2, with the base taken as a folder whether or not it ends in a slash: `users` below
    /// `https://host/v1` is `https://host/v1/users`.
    package static func resolve(_ url: URL, against baseURL: URL?) throws -> URL {
        if url.scheme != nil { return url.absoluteURL }
        guard let baseURL else {
            throw TransportError(.invalidRequest, "the URL is relative and the manager has no base URL")
        }
        var folder = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)
        folder?.query = nil
        folder?.fragment = nil
        if let path = folder?.percentEncodedPath, !path.hasSuffix("/") { folder?.percentEncodedPath = path + "/" }
        guard let base = folder?.url, let resolved = URL(string: url.relativeString, relativeTo: base) else {
            throw TransportError(.invalidRequest, "the URL can't be resolved against the base URL")
        }
        return resolved.absoluteURL
    }
}
