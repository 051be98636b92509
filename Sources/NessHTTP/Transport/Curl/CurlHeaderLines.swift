#if canImport(CNessCurl)
/// Formats the header fields of a request for libcurl.
enum CurlHeaderLines {
    /// Makes the lines, each with a zero byte at its end: the fields of the request and of its body, and those that libcurl would otherwise
    /// add in its own words.
    /// - Parameters:
    ///   - request: The request.
    ///   - expectsContinue: True if the body waits for a 100 (Continue).
    /// - Throws: `TransportError` of the kind `invalidRequest` for a field without a valid name, or with a line break or a zero byte.
    static func make(_ request: HTTPRequest, expectsContinue: Bool) throws -> String {
        var text = ""
        text.reserveCapacity(256)
        var count = 0
        var areNamed = true
        func add(_ line: String) {
            text += line
            text += "\0"
            count += 1
        }
        func add(_ field: HTTPHeaders.Field) {
            let value = HeaderFieldValue.trimmed(field.value)
            areNamed = areNamed && !field.name.isEmpty && field.name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: ":") }
            text += field.name
            // libcurl would omit a field that is only a name with a colon.
            text += value.isEmpty ? ";" : ": "
            add(value)
        }
        for field in request.headers { add(field) }
        if let body = request.body {
            for field in body.headers where !request.headers.contains(field.name) { add(field) }
        }
        func isSet(_ name: String) -> Bool { request.headers.contains(name) || request.body?.headers.contains(name) == true }
        if !isSet(HeaderName.contentType) {
            // Without a body, an empty field prevents the one that libcurl would add.
            add(request.body == nil ? "Content-Type:" : "Content-Type: application/octet-stream")
        }
        if !isSet(HeaderName.acceptEncoding) {
            let isWhole = !request.headers.contains(HeaderName.range) && request.method != .head
            add(isWhole && BodyInflater.isAvailable ? "Accept-Encoding: gzip" : "Accept-Encoding: identity")
        }
        add(expectsContinue ? "Expect: 100-continue" : "Expect:")
        if !isSet(HeaderName.accept) { add("Accept: */*") }
        // Some servers reject a request without this field.
        if !isSet(HeaderName.userAgent) { add(userAgent) }
        // Such a field would begin another line, or continue the one before. The pipeline refuses it, but a transport can be used without a
        // pipeline.
        guard areNamed, text.utf8.count(where: { $0 == 0 }) == count, !text.utf8.contains(where: { $0 == 10 || $0 == 13 }) else {
            throw TransportError(.invalidRequest, "a header field has no valid name, a line break or a zero byte")
        }
        return text
    }

    private static let userAgent = "User-Agent: \(HTTPHeaders.defaultUserAgent)"
}
#endif
