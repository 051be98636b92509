extension HTTPResponse {
    /// Whether a private cache keeps this (RFC 9111, 3).
    ///
    /// Stricter than it has to be: JSON without explicit freshness is not kept, as most APIs that say nothing mean nothing by it; nor is
    /// what was got with a credential or is an error. A failure is kept for the time that the server names, and never to be asked about.
    func isStorable(for request: HTTPRequest) -> Bool {
        let control = CacheControl(headers)
        guard isKept || hasStorableStatus, !mayBeCut else { return false }
        // RFC 9111, 5.2.2.3: who understands the status need not heed `no-store`.
        if control.has("must-understand") ? !isKept : control.has("no-store") { return false }
        if control.has("max-age") || headers.contains(HeaderName.expires) { return true }
        guard isKept else { return false }
        if control.has("no-cache") { return true }
        let isPublic = statusCode < 300 && !request.headers.contains { request.secrets.containsHeader($0.name) }
        return isPublic && !headers.isJSON
    }

    /// True if the status says the same to everyone who asks the same, so that the response may be kept to be asked about.
    var isKept: Bool { Self.kept.contains(statusCode) }

    private static let kept: Set<Int> = [200, 203, 204, 404, 405, 410, 414]

    /// True if the response may be kept for the time that the server names, whatever the status means. Redirects may not: whether one is
    /// followed is the request's to say.
    private var hasStorableStatus: Bool {
        switch statusCode {
        case 206, 300..<400: false
        // They speak of this one request, or of who sent it; some forbid it (RFC 6585).
        case 401, 403, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511: false
        default: statusCode >= 200
        }
    }

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
        HeaderName.proxyAuthenticationInfo, HeaderName.proxyAuthorization, HeaderName.te, HeaderName.transferEncoding, HeaderName.upgrade,
    ]
}
