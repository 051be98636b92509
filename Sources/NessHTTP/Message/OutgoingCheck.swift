import Foundation

/// Rejects requests that could inject a line or that URLSession would mishandle, before a byte is sent.
///
/// Field names and methods have to be tokens (RFC 9110, 5.6.2). Values must not contain control characters, such as CR, LF and NUL, except
/// tabs. The transport sets Content-Length and Transfer-Encoding; Host follows from the URL.
package enum OutgoingCheck {
    // Not inlined: its variables would enlarge the async frame of the caller, which a waiting request keeps.
    /// Returns a request in the form in which it is sent.
    /// - Throws: `NessError.Kind.invalidRequest`.
    @inline(never)
    static func checked(_ request: HTTPRequest) throws -> HTTPRequest {
        do {
            // A request has a target only if its URL is valid and is sent as it is: see `RequestTarget`.
            let url = request.target == nil ? try checked(request.url) : nil
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

    /// Returns a URL in the form in which it is sent: scheme in lower case, no fragment, no dot segments.
    /// - Throws: `InvalidRequest`.
    package static func checked(_ url: URL) throws -> URL {
        let url = url.removingDotSegments
        let text = url.absoluteString
        // The common form is valid and has no fragment.
        if ParsedURL(commonForm: text) != nil { return url.absoluteURL }
        if !text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            throw InvalidRequest("the URL has a character that must be percent-encoded")
        }
        guard var parts = URLComponents(string: text) else { throw InvalidRequest("the URL can't be parsed") }
        guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw InvalidRequest("the URL's scheme is neither http nor https")
        }
        guard let host = parts.percentEncodedHost, !host.isEmpty else { throw InvalidRequest("the URL has no host") }
        if url.host?.isEmpty != false || !isValidHost(host) { throw InvalidRequest("the URL's host is not valid") }
        if let port = parts.rangeOfPort, !port.isEmpty, !(1...65_535).contains(Int(text[port]) ?? 0) {
            throw InvalidRequest("the URL's port is not between 1 and 65535")
        }
        if parts.scheme == scheme && parts.fragment == nil { return url.absoluteURL }
        parts.scheme = scheme
        parts.fragment = nil
        guard let checked = parts.url else { throw InvalidRequest("the URL can't be parsed") }
        return checked
    }

    /// Returns true if a host contains no control character, space or delimiter, even after its escapes are decoded (WHATWG URL Standard,
    /// "forbidden domain code point"). Otherwise the transport might connect to another host than the one that Ness has checked.
    static func isValidHost(_ host: String) -> Bool {
        let isIPv6 = host.hasPrefix("[") && host.hasSuffix("]")
        // A host that cannot be decoded keeps its `%`. In brackets, a `%` precedes the zone of an address.
        let name = PercentEncoding.decode(isIPv6 ? host.dropFirst().dropLast() : host[...])
        let delimiters = isIPv6 ? "#/<>?@[\\]^|" : "#/<>?@[\\]^|:%"
        // IDNA turns some characters into delimiters, for example U+FF0F into a slash.
        return !name.decomposedStringWithCompatibilityMapping.unicodeScalars.contains { character in
            character.value <= 0x20 || (0x7F...0x9F).contains(character.value) || delimiters.unicodeScalars.contains(character)
        }
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
