#if canImport(CNessCurl)
import CNessCurl
import Foundation

extension CurlTransfer {
    /// The most bytes of a body that libcurl gets as one piece.
    private static let inMemoryLimit = 32 << 10

    /// Describes the request to libcurl.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    func configure() throws {
        let request = exchange.request
        let isSecure = request.url.scheme == "https"
        try check(CurlCallbacks.set(for: self))
        try check(ness_curl_set_pointer(easy, CurlOption.errorBuffer, errorText))
        try set(CurlOption.url, request.url.absoluteString)
        try set(CurlOption.noSignals, 1)
        // The value allows http and https.
        try set(CurlOption.protocols, 3)
        try set(CurlOption.pathAsIs, 1)
        // libcurl does not send the URL's credentials by itself.
        try set(CurlOption.authentication, 0)
        try set(CurlOption.hidesConnectHeads, 1)
        do { try loop.settings.apply(to: easy) } catch { throw TransportError(.invalidRequest, "\(error)") }
        try setDemands(request.demands)
        let isStreamed = request.streamsResponse
        try set(CurlOption.bufferSize, isStreamed ? 512 << 10 : 64 << 10)
        // HTTP/2 over TLS, except for streams, which may pause: libcurl buffers a paused stream and delays the other streams of its
        // connection. Over HTTP/2 libcurl does not wait for a 100.
        let isHTTP2 = isSecure && !isStreamed && !history.expectsContinue && loop.settings.allowsHTTP2
        try set(CurlOption.httpVersion, isHTTP2 ? 4 : 2)
        try set(CurlOption.waitsForMultiplexing, isHTTP2 ? 1 : 0)
        if CurlLibrary.shared?.endsLookUpsAtOnce == true { try set(CurlOption.abandonsLookUp, 1) }
        if request.needsFreshConnection {
            // An idle connection may be dead, and this request must not be sent twice. A new connection over TLS is expensive.
            if isSecure {
                try set(CurlOption.maximumIdleSeconds, 2)
            } else {
                try set(CurlOption.freshConnection, 1)
                // Otherwise idle connections would pile up.
                try set(CurlOption.forbidsReuse, 1)
            }
        }
        if loop.settings.maximumIdleConnections == 0 { try set(CurlOption.forbidsReuse, 1) }
        if let limit = request[ExpectsContinue.self] {
            try set(CurlOption.continueMilliseconds, Int(min(max(1, limit / .milliseconds(1)), 0x4000_0000)))
        }
        try place(request.body, of: request.method)
        try setHeaders()
    }

    /// Sets what the host's rules demand, in place of the transport's own options. libcurl compares these values before it uses a connection
    /// again.
    private func setDemands(_ demands: TLSDemands) throws {
        if let keys = demands.publicKeys { try set(CurlOption.pinnedPublicKeys, loop.settings.text(ofPins: keys)) }
        if let authorities = demands.authorities {
            try set(CurlOption.authorities, authorities.pem)
            // Otherwise the system's folder of certificates would count as well.
            try check(ness_curl_set_text(easy, CurlOption.authorityFolder, nil))
        }
        if let identity = demands.identity {
            try set(CurlOption.certificateType, "P12")
            try set(CurlOption.certificate, identity.pkcs12)
            try set(CurlOption.keyPassword, identity.password)
            // The file has the key, too. A key of the transport's own options would take its place.
            try check(ness_curl_set_blob(easy, CurlOption.certificateKey, nil, 0))
        }
    }

    private func place(_ body: HTTPBody?, of method: HTTPMethod) throws {
        if method == .head {
            try set(CurlOption.isHead, 1)
        } else if let body {
            guard body.isResolved else { throw TransportError(.invalidRequest, "the body was not resolved before it was sent") }
            if let data = body.data, data.count <= Self.inMemoryLimit {
                try place(data)
            } else {
                try set(CurlOption.isUpload, 1)
                // Without a length, libcurl sends the body in chunks over HTTP/1.1.
                if let length = body.length { try check(ness_curl_set_offset(easy, CurlOption.uploadLength, length)) }
            }
        } else if [.post, .put, .patch].contains(method) {
            // This makes libcurl announce an empty body (RFC 9110, 8.6).
            try place(Data())
        }
        if method != .get && method != .head { try set(CurlOption.method, method.rawValue) }
    }

    private func place(_ data: Data) throws {
        try check(ness_curl_set_offset(easy, CurlOption.bodyLength, Int64(data.count)))
        // For an empty body, any pointer will do, because it is never read. With a null pointer, libcurl would ask for a body.
        try (data.isEmpty ? Data([0]) : data).withUnsafeBytes { bytes in
            try check(ness_curl_set_pointer(easy, CurlOption.copiedBody, bytes.baseAddress))
        }
    }

    /// Sets the header fields, in place of those of an earlier send.
    func setHeaders() throws {
        let request = exchange.request
        if let headerList { ness_curl_list_free(headerList) }
        headerList = nil
        var lines: [String] = []
        for field in request.headers { lines.append(Self.line(field)) }
        if let body = request.body {
            for field in body.headers where !request.headers.contains(field.name) { lines.append(Self.line(field)) }
        }
        func isSet(_ name: String) -> Bool { request.headers.contains(name) || request.body?.headers.contains(name) == true }
        if request.body != nil && !isSet(HeaderName.contentType) {
            lines.append("Content-Type: application/octet-stream")
        } else if !isSet(HeaderName.contentType) {
            lines.append("Content-Type:")
        }
        if !isSet(HeaderName.acceptEncoding) {
            let isWhole = !request.headers.contains(HeaderName.range) && request.method != .head
            lines.append("Accept-Encoding: \(isWhole && BodyInflater.isAvailable ? "gzip" : "identity")")
        }
        // An empty field prevents the one that libcurl would add.
        lines.append(history.expectsContinue ? "Expect: 100-continue" : "Expect:")
        if !isSet(HeaderName.accept) { lines.append("Accept: */*") }
        // Some servers reject a request without this field.
        if !isSet(HeaderName.userAgent) { lines.append("User-Agent: \(HTTPHeaders.defaultUserAgent)") }
        for line in lines {
            guard let list = ness_curl_list_append(headerList, line) else { throw TransportError(.invalidRequest, "libcurl has no memory") }
            headerList = list
        }
        try check(ness_curl_set_pointer(easy, CurlOption.headers, headerList))
    }

    /// Formats a field for libcurl, which would omit a field that is only a name with a colon.
    private static func line(_ field: HTTPHeaders.Field) -> String {
        let value = HeaderFieldValue.trimmed(field.value)
        return value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"
    }

    private func set(_ option: Int32, _ value: Int) throws { try check(ness_curl_set_long(easy, option, value)) }

    private func set(_ option: Int32, _ bytes: Data) throws {
        try check(bytes.withUnsafeBytes { ness_curl_set_blob(easy, option, $0.baseAddress, $0.count) })
    }

    private func set(_ option: Int32, _ text: String) throws { try check(ness_curl_set_text(easy, option, text)) }

    /// Throws an error if libcurl does not know or rejects an option. No option is skipped, because some are there for safety.
    private func check(_ code: Int32) throws {
        guard code == 0 else { throw TransportError(.invalidRequest, "libcurl refused an option: \(CurlError.text(code))") }
    }
}

extension HTTPRequest {
    /// True if the request must not use a connection that may have died since its last use: it has a body, or must not be sent twice.
    var needsFreshConnection: Bool { body != nil || !isIdempotent }
}
#endif
