extension HTTPResponse {
    /// Checks whether a private cache may store this response (RFC 9111, 3).
    ///
    /// Ness is stricter than the RFC. It stores decoded content only, because the next request may not know the coding. Without an explicit
    /// lifetime or `no-cache` it stores successes only. Most failures are stored only for the time that the server names: see
    /// `mayBeKeptForValidation` for those that may also be validated.
    func isStorable(for request: HTTPRequest) -> Bool {
        let control = CacheControl(headers)
        guard hasStorableStatus, !mayBeCut(request), ContentCoding.codings(in: headers).isEmpty else { return false }
        // RFC 9111, 5.2.2.3: a cache that understands the status may ignore `no-store`.
        let forbidsStoring = control.has("must-understand") ? !mayBeKeptForValidation : control.has("no-store")
        if forbidsStoring { return false }
        if control.has("max-age") || headers.contains(HeaderName.expires) { return true }
        if control.has("no-cache") { return mayBeKeptForValidation }
        return Self.keptSuccesses.contains(statusCode)
    }

    /// True if the status means the same for everyone who sends the request, so that the response may be kept for validation.
    var mayBeKeptForValidation: Bool { Self.kept.contains(statusCode) }

    private static let keptSuccesses: Set<Int> = [200, 203, 204]
    private static let kept = keptSuccesses.union([404, 405, 410, 414])

    /// True if the response may be kept for the time that the server names, regardless of its status. Redirects may not, because each
    /// request decides for itself whether to follow one.
    private var hasStorableStatus: Bool {
        switch statusCode {
        case 206, 300..<400: false
        // These statuses concern one request or its sender; some of them forbid caching (RFC 6585).
        case 401, 403, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511: false
        default: statusCode >= 200
        }
    }

    /// Returns true if the body may have been truncated without an error.
    private func mayBeCut(_ request: HTTPRequest) -> Bool {
        #if canImport(FoundationNetworking)
        // URLSession on this platform decompresses without a check of the end. It takes compressed bodies only if the request asks for
        // them.
        guard request.headers.contains(HeaderName.acceptEncoding) else { return false }
        return !ContentCoding.codings(in: receivedHeaders).isEmpty
        #else
        return false
        #endif
    }
}

extension HTTPHeaders {
    /// These fields without those that belong to the connection (RFC 9111, 3.1).
    var withoutConnectionFields: HTTPHeaders {
        var kept = self
        kept.remove(members(of: HeaderName.connection) + Self.connectionFields)
        return kept
    }

    private static let connectionFields = [
        HeaderName.connection, HeaderName.keepAlive, HeaderName.proxyConnection, HeaderName.proxyAuthenticate,
        HeaderName.proxyAuthenticationInfo, HeaderName.proxyAuthorization, HeaderName.te, HeaderName.transferEncoding, HeaderName.upgrade,
    ]
}
