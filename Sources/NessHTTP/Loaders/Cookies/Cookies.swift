/// Has requests send the cookies of a jar, above the cache and coalescing, which must not give one user what another was given.
struct Cookies: HTTPLoader {
    let jar: CookieJar

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let cookies = JarCookies(own: request.headers["cookie"])
        return try await next(cookies.set(in: request, from: jar), in: next.context.with { $0.cookies = cookies })
    }

    func reset() async { jar.removeAll() }
}

/// Gives each redirect the cookies of its own URL, and stores what responses set.
struct RedirectCookies: HTTPLoader {
    let jar: CookieJar

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let cookies = next.context.cookies ?? JarCookies(own: request.headers["cookie"])
        let response = try await next(cookies.set(in: request, from: jar))
        jar.store(from: response.headers, url: request.url)
        return response
    }
}

/// Tells a jar's part of a request's `Cookie` field from the caller's own.
final class JarCookies: Sendable {
    /// The field as the caller set it.
    private let own: String?
    /// The values that the jar has written into the field of the request and its redirects.
    private let written = Lock<Set<String>>([])

    init(own: String?) { self.own = own }

    /// The request with the cookies that the jar has for its URL. Those that the jar wrote before, for another URL or before a response set
    /// others, make way.
    @inline(never)
    func set(in request: HTTPRequest, from jar: CookieJar) -> HTTPRequest {
        let present = request.headers["cookie"]
        let isWritten = present.map { present in written.withLock { $0.contains(present) } } ?? false
        let sent = jar.header(for: request.url, besides: isWritten ? own : present)
        if let sent { written.withLock { _ = $0.insert(sent) } }
        if sent == present { return request }
        var request = request
        request.headers["Cookie"] = sent
        return request
    }
}
