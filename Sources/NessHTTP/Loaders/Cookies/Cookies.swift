extension CookieJar {
    /// Adds the jar's cookies to a request. This happens above the cache and the sharing of exchanges, because they must not give one user
    /// another user's response.
    func add(to request: inout HTTPRequest, in context: inout CallContext) {
        if request[BypassesCookies.self] { return }
        let cookies = JarCookies(own: request.headers[HeaderName.cookie])
        request = cookies.set(in: request) { header(for: request.url, besides: $0) }
        context.cookies = cookies
    }
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
