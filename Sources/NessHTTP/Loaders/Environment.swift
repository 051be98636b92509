import Foundation

/// Adds what the request's environment has for all requests, and the delegate's changes.
///
/// It runs for every attempt, from the request as the caller made it.
package struct Environment: HTTPLoader {
    /// The delegate's part in a request.
    struct Hooks: Sendable {
        /// Asks for the request to send.
        let willRequest: @Sendable (HTTPRequest) -> HTTPRequest
        /// Tells that a request is on its way.
        let didRequest: @Sendable (HTTPRequest) -> Void
    }

    /// The delegate at the moment; nil where it or its manager is gone, or there never was one.
    let hooks: @Sendable () -> Hooks?

    package func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        try await next(prepared(request, in: next.context))
    }

    @inline(never)
    private func prepared(_ request: HTTPRequest, in context: CallContext) throws -> HTTPRequest {
        let environment = context.call.choices.environment
        var request = request
        try Self.resolve(&request, against: environment.baseURL)
        request.add(environment.headers(for: request))
        if let hooks = hooks() {
            request = hooks.willRequest(request)
            try Self.resolve(&request, against: environment.baseURL)
            hooks.didRequest(request)
        }
        context.observation?.willSend(request)
        return request
    }

    private static func resolve(_ request: inout HTTPRequest, against baseURL: URL?) throws {
        let url = request.url
        do {
            // As most are: the builder has resolved it.
            let isResolved = url.scheme != nil && url.baseURL == nil
            let resolved = (isResolved ? url : try resolve(url, against: baseURL)).removingDotSegments
            if resolved != url || !isResolved { request.url = resolved }
        } catch {
            throw NessError.invalidRequest(NessError.Context(request: request, reason: "\(error)"))
        }
    }

    /// Resolves by RFC 3986, 5.2, with the base taken as a folder whether or not it ends in a slash: `users` below
    /// `https://host/v1` is `https://host/v1/users`.
    /// - Throws: `InvalidURL`.
    package static func resolve(_ url: URL, against baseURL: URL?) throws -> URL {
        if url.scheme != nil { return url.absoluteURL }
        guard let baseURL else {
            throw InvalidURL(description: "the URL is relative and the manager has no base URL")
        }
        var folder = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)
        folder?.query = nil
        folder?.fragment = nil
        if let path = folder?.percentEncodedPath, !path.hasSuffix("/") { folder?.percentEncodedPath = path + "/" }
        guard let base = folder?.url, let resolved = URL(string: url.relativeString, relativeTo: base) else {
            throw InvalidURL(description: "the URL can't be resolved against the base URL")
        }
        return resolved.absoluteURL
    }
}

extension ServerEnvironment {
    /// The default headers that a request gets, besides its own.
    fileprivate func headers(for request: HTTPRequest) -> [HTTPHeaders.Field] {
        if defaultHeaders.isEmpty { return [] }
        let isInside = baseURL?.contains(request.url) ?? true
        return defaultHeaders.filter { field in
            !request.headers.contains(field.name) && (isInside || !request.secrets.containsHeader(field.name))
        }
    }
}
