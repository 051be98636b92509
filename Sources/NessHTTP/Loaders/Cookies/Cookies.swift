/// Has requests send the cookies of a jar.
///
/// It stands above the cache and coalescing, which must not give one user what another was given, and again below redirects, where each of
/// them gets the cookies of its own URL, and where responses set them.
struct Cookies: HTTPLoader {
    let jar: CookieJar
    /// Whether it is the one below redirects.
    let isOnTheWire: Bool

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let response = try await next(prepared(request))
        if isOnTheWire { jar.store(from: response.headers, url: request.url) }
        return response
    }

    func reset() async { jar.removeAll() }

    /// What the jar added before, for another URL or before it knew better, makes way for what it has now.
    @inline(never)
    private func prepared(_ request: HTTPRequest) -> HTTPRequest {
        let present = request.headers["cookie"]
        let own = request.cookies.map { $0.sent == present ? $0.own : present } ?? present
        let sent = jar.header(for: request.url, besides: own)
        if sent == present && request.cookies == nil { return request }
        var prepared = request
        prepared.change { fields in
            fields.headers["Cookie"] = sent
            fields.cookies = sent.map { SentCookies(own: own, sent: $0) }
        }
        return prepared
    }
}

/// What stands in a request's `Cookie` field since a jar was asked.
struct SentCookies: Sendable {
    /// What the caller had there.
    let own: String?
    let sent: String
}
