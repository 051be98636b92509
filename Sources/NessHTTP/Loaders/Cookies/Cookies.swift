/// Adds the cookies of a jar to requests. It is above the cache and coalescing, because they must not give one user another user's
/// response.
struct Cookies: OptionalStage {
    let jar: CookieJar

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { !request[BypassesCookies.self] }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let cookies = JarCookies(own: request.headers[HeaderName.cookie])
        return try await next(
            cookies.set(in: request) { jar.header(for: request.url, besides: $0) }, in: next.context.with { $0.cookies = cookies })
    }

    func reset() async { jar.removeAll() }
}

extension HTTPRequest {
    /// The request with a single `Cookie` field, as RFC 6265bis, 5.8 requires.
    package var withOneCookieField: HTTPRequest {
        guard headers.values(for: HeaderName.cookie).count > 1 else { return self }
        var request = self
        request.headers[HeaderName.cookie] = headers[HeaderName.cookie]
        return request
    }
}

/// Adds the cookies of its own URL to each redirect, and stores the cookies that responses set.
struct RedirectCookies: OptionalStage {
    let jar: CookieJar

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { !request[BypassesCookies.self] }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let cookies = next.context.cookies ?? JarCookies(own: request.headers[HeaderName.cookie])
        let response = try await next(cookies.set(in: request) { jar.header(for: request.url, besides: $0) })
        jar.store(from: response.headers, url: request.url)
        return response
    }
}
