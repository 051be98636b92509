import Foundation

/// Rejects requests that could inject a line or that URLSession would mishandle, before a byte is sent.
///
/// Field names and methods have to be tokens (RFC 9110, 5.6.2). Values must not contain control characters, such as CR, LF and NUL, except
/// tabs. The transport sets Content-Length and Transfer-Encoding; Host follows from the URL.
package enum OutgoingCheck {
    /// Returns a request in the form in which it is sent.
    /// - Throws: `NessError.Kind.invalidRequest`.
    @inline(never)
    static func checked(_ request: HTTPRequest) throws -> HTTPRequest {
        do {
            let url = request.target == nil ? try check(request.url) : nil
            try check(request.method)
            for field in request.headers { try check(field) }
            if let body = request.body { for field in body.headers { try check(field) } }
            if request.body != nil, [.get, .head, .trace].contains(request.method) {
                throw InvalidRequest("a \(request.method) request can't have a body")
            }
            if request.timeout <= .zero || request[FirstByteTimeout.self].map({ $0 <= .zero }) ?? false {
                throw InvalidRequest("the timeout is not positive")
            }
            guard let url, url != request.url else { return request }
            let fragment = request.fragmentOfURL
            var request = request
            request.url = url
            request.fragment = fragment
            return request
        } catch let error as InvalidRequest {
            throw NessError(.invalidRequest, NessError.Context(request: request, reason: error.description))
        }
    }

    /// Checks a URL and returns it in the form in which it is sent: scheme in lower case, no fragment, no dot segments.
    package static func check(_ url: URL) throws -> URL {
        let url = url.removingDotSegments
        let text = url.absoluteString
        if ParsedURL(commonForm: text) != nil { return url.absoluteURL }
        if text.utf8.contains(where: { $0 <= 32 || $0 >= 127 }) {
            throw InvalidRequest("the URL has a character that must be percent-encoded")
        }
        guard var parts = URLComponents(string: text) else { throw InvalidRequest("the URL can't be parsed") }
        guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw InvalidRequest("the URL's scheme is neither http nor https")
        }
        guard let host = parts.percentEncodedHost, host.contains(where: { $0 != "[" && $0 != "]" }) else {
            throw InvalidRequest("the URL has no host")
        }
        // A host that cannot be decoded is invalid as well.
        if url.host?.isEmpty != false || host.contains("%0") || host.contains("%2F") || host.contains("%40") {
            throw InvalidRequest("the URL's host is not valid")
        }
        if let port = parts.rangeOfPort, !port.isEmpty, !(1...65_535).contains(Int(text[port]) ?? 0) {
            throw InvalidRequest("the URL's port is not between 1 and 65535")
        }
        if parts.scheme == scheme && parts.fragment == nil { return url.absoluteURL }
        parts.scheme = scheme
        parts.fragment = nil
        guard let checked = parts.url else { throw InvalidRequest("the URL can't be parsed") }
        return checked
    }

    private static func check(_ method: HTTPMethod) throws {
        try method.checkSyntax()
        if method == .connect { throw InvalidRequest("CONNECT can't be sent") }
    }

    package static func check(_ field: HTTPHeaders.Field) throws {
        try field.checkSyntax()
        if reservedNames.contains(where: field.name.equalsIgnoringCase) {
            throw InvalidRequest("the header \(field.name) can't be set by the caller")
        }
    }

    /// The fields that a caller may not set. The page `BuildingARequest.md` lists them with their reasons.
    package static let reservedNames = [
        HeaderName.contentLength, HeaderName.transferEncoding, HeaderName.host, HeaderName.connection, HeaderName.upgrade, HeaderName.te,
        HeaderName.trailer, HeaderName.expect,
    ]
}
