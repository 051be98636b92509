#if os(Linux)
import CNessCurl

/// Formats the header fields of a request for libcurl.
enum CurlHeaderLines {
    /// Makes the lines, each with a zero byte at its end: the fields of the request and of its body, and the fields that libcurl would
    /// otherwise set itself. A line is added only if it is needed, because each costs libcurl two dozen comparisons of names.
    /// - Parameters:
    ///   - request: The request.
    ///   - expectsContinue: True if the body waits for a 100 (Continue).
    /// - Throws: `InvalidRequest` for a field that would start another line.
    static func make(_ request: HTTPRequest, expectsContinue: Bool) throws -> String {
        // libcurl adds fields about a body to these requests only.
        let sendsBody = request.body != nil || [.post, .put, .patch].contains(request.method)
        if request.method == .get, request.headers.isEmpty, !sendsBody, !request[KeepsContentCoding.self] { return plain }
        var text = ""
        text.reserveCapacity(256)
        func add(_ line: String) {
            text += line
            text += "\0"
        }
        func add(_ field: HTTPHeaders.Field) throws {
            try field.checkSyntax()
            let value = HeaderFieldValue.trimmed(field.value)
            text += field.name
            // libcurl sends `Name;` as an empty field. It would omit `Name:`.
            text += value.isEmpty ? ";" : ": "
            add(value)
        }
        for field in request.headers { try add(field) }
        if let body = request.body {
            for field in body.headers where !request.headers.contains(field.name) { try add(field) }
        }
        func isSet(_ name: String) -> Bool { request.headers.contains(name) || request.body?.headers.contains(name) == true }
        if sendsBody, !isSet(HeaderName.contentType) {
            // Without a body, an empty field prevents the one that libcurl would add.
            add(request.body == nil ? "Content-Type:" : "Content-Type: application/octet-stream")
        }
        if !isSet(HeaderName.acceptEncoding), !request[KeepsContentCoding.self] {
            let wantsWholeBody = !request.headers.contains(HeaderName.range) && request.method != .head
            add(wantsWholeBody ? acceptEncoding : "Accept-Encoding: identity")
        }
        if sendsBody { add(expectsContinue ? "Expect: 100-continue" : "Expect:") }
        // Some servers reject a request without this field.
        if !isSet(HeaderName.userAgent) { add(userAgent) }
        return text
    }

    /// Makes a list for libcurl from lines that each end with a zero byte. The caller releases it. `nil` without lines or without memory.
    static func list(_ lines: String) -> UnsafeMutableRawPointer? {
        var lines = lines
        return lines.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { ness_curl_list_make($0.baseAddress, $0.count) }
        }
    }

    /// The codings that a response may have. `deflate` is left out: servers use it for two formats, and gzip is as good.
    private static let acceptEncoding: String = {
        let codings = BodyInflater.codings.filter { $0 != "deflate" }
        return "Accept-Encoding: \(codings.isEmpty ? "identity" : codings.joined(separator: ", "))"
    }()

    /// The lines of a GET without header fields.
    private static let plain = "\(acceptEncoding)\0\(userAgent)\0"

    private static let userAgent = "User-Agent: \(HTTPHeaders.defaultUserAgent)"
}
#endif
