#if os(Linux)
import CNessCurl
import Foundation

extension CurlTransfer {
    /// The most bytes of a body that libcurl gets as one piece.
    static let inMemoryLimit = 32 << 10

    /// Describes the request to libcurl. The handle has the options that all exchanges share.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    func configure() throws {
        let request = exchange.request
        try CurlError.check(ness_curl_set_user(easy, Unmanaged.passUnretained(self).toOpaque()))
        try CurlError.check(ness_curl_set_pointer(easy, CurlOption.errorBuffer, errorText))
        try set(CurlOption.url, exchange.url)
        // A proxy for http gets the whole URL in place of this.
        if let target = exchange.target, exchange.isSecure || loop.settings.proxyName(for: "http") == nil {
            try set(CurlOption.requestTarget, target)
        }
        if exchange.control?.streamsResponse == true {
            // With a larger buffer the mailbox would fill up in the middle of it, and libcurl would copy the rest.
            try set(CurlOption.bufferSize, exchange.mailbox.capacity)
        } else if exchange.isSecure, !history.expectsContinue, loop.settings.allowsHTTP2 {
            // HTTP/2 over TLS, except for streams, which may pause: libcurl buffers a paused stream and delays the other streams of its
            // connection. Over HTTP/2 libcurl does not wait for a 100.
            try set(CurlOption.httpVersion, 4)
            // A frame that does not fit stops the other streams of the connection for a while.
            try set(CurlOption.bufferSize, 64 << 10)
            waitsForHTTP2 = !loop.http1Origins.contains(exchange.origin)
            try set(CurlOption.waitsForMultiplexing, waitsForHTTP2 ? 1 : 0)
            // Only the log tells in time that a connection speaks HTTP/2, and which requests the server has not processed.
            try set(CurlOption.writesLog, 1)
        }
        if request.needsYoungConnection {
            // An idle connection may be dead.
            let limit = loop.settings.maximumIdleSecondsForWrites
            // For libcurl, 0 means its default of 118 seconds.
            try limit > 0 ? set(CurlOption.maximumIdleSeconds, limit) : set(CurlOption.freshConnection, 1)
        }
        if let limit = request[ExpectsContinue.self] {
            try set(CurlOption.continueMilliseconds, Int(min(max(1, limit / .milliseconds(1)), 0x4000_0000)))
        }
        try place(request.body, of: request.method)
        try setHeaders(exchange.headerLines)
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
                if let length = body.length { try CurlError.check(ness_curl_set_offset(easy, CurlOption.uploadLength, length)) }
            }
        } else if [.post, .put, .patch].contains(method) {
            // This makes libcurl announce an empty body (RFC 9110, 8.6).
            try place(Data())
        }
        // With a body, libcurl would make a GET a POST.
        if method != .head, method != .get || body != nil { try set(CurlOption.method, method.rawValue) }
    }

    private func place(_ data: Data) throws {
        try CurlError.check(ness_curl_set_offset(easy, CurlOption.bodyLength, Int64(data.count)))
        // For an empty body, any pointer will do, because it is never read. With a null pointer, libcurl would ask for a body.
        try (data.isEmpty ? Data([0]) : data).withUnsafeBytes { bytes in
            try CurlError.check(ness_curl_set_pointer(easy, CurlOption.copiedBody, bytes.baseAddress))
        }
    }

    /// Sets the header fields, in place of those of an earlier send.
    func setHeaders(_ lines: String) throws {
        guard let list = CurlHeaderLines.list(lines) else { throw TransportError(.invalidRequest, "libcurl has no memory") }
        if let headerList { ness_curl_list_free(headerList) }
        headerList = list
        try CurlError.check(ness_curl_set_pointer(easy, CurlOption.headers, list))
    }

    private func set(_ option: Int32, _ value: Int) throws { try CurlError.check(ness_curl_set_long(easy, option, value)) }

    private func set(_ option: Int32, _ text: String) throws {
        // With `withCString`, a native string is not copied.
        try CurlError.check(text.withCString { ness_curl_set_text(easy, option, $0) })
    }
}
#endif
