extension HTTPResponse {
    /// Whether a private cache keeps this (RFC 9111, 3).
    ///
    /// Stricter than it has to be: JSON without explicit freshness is not kept, as most APIs that say nothing mean nothing by it; nor is
    /// what was got with a credential or is an error.
    func isStorable(for request: HTTPRequest) -> Bool {
        let control = CacheControl(headers)
        guard Self.kept.contains(statusCode), !control.has("no-store"), !headers.contains(HeaderName.contentRange), !mayBeCut else {
            return false
        }
        if control.has("max-age") || control.has("no-cache") || headers.contains(HeaderName.expires) { return true }
        let isPublic = statusCode < 300 && !request.headers.contains { request.secrets.containsHeader($0.name) }
        return isPublic && !headers.isJSON
    }

    /// What is known to be the same for everyone who asks the same. Redirects are not: whether one is followed is the request's to say.
    private static let kept: Set<Int> = [200, 203, 204, 404, 405, 410, 414]

    /// Whether a part may be missing without anyone having noticed.
    private var mayBeCut: Bool {
        #if canImport(FoundationNetworking)
        // URLSession unpacks there without noticing the end: see `URLSessionTransport`.
        headers[HeaderName.contentEncoding].map { $0.lowercased() != "identity" } ?? false
        #else
        false
        #endif
    }
}

extension HTTPHeaders {
    /// Without what belongs to the connection (RFC 9111, 3.1).
    var withoutConnectionFields: HTTPHeaders {
        var kept = self
        for name in members(of: HeaderName.connection) + Self.connectionFields { kept.remove(name) }
        return kept
    }

    private static let connectionFields = [
        HeaderName.connection, HeaderName.keepAlive, HeaderName.proxyConnection, HeaderName.proxyAuthenticate,
        HeaderName.proxyAuthenticationInfo, HeaderName.te, HeaderName.transferEncoding, HeaderName.upgrade,
    ]
}
