import Foundation

/// A response with its whole body.
public struct HTTPResponse: Sendable {
    /// Everything except the content, which is often large and can be changed in place.
    private struct Fields: Sendable {
        var statusCode: Int
        var headers: HTTPHeaders
        var receivedHeaders: HTTPHeaders?
        var trailers: HTTPHeaders?
        var file: URL?
        var request: HTTPRequest
        var source = Source.network
        var isCut = false
        var history: [HTTPResponse] = []
        var connection: ConnectionMetrics?
        var proxy: String?
    }

    private var box: CopyOnWriteBox<Fields>

    /// The status code (RFC 9110, section 15).
    public var statusCode: Int {
        get { box.fields.statusCode }
        set { box.change { $0.statusCode = newValue } }
    }
    /// The header fields. After a content coding was removed they have neither `Content-Encoding` nor `Content-Length`, which describe the
    /// encoded content: see `receivedHeaders`. If the transport reports only one joined value per name, as URLSession does, that value is
    /// here.
    public var headers: HTTPHeaders {
        get { hidingSecrets(box.fields.headers) }
        set { box.change { $0.headers = newValue } }
    }
    /// The header fields that the server sent with the encoded content, if its coding was removed. In any other case the same as `headers`.
    public var receivedHeaders: HTTPHeaders { hidingSecrets(box.fields.receivedHeaders ?? box.fields.headers) }
    /// The trailer fields (RFC 9110, section 6.5), such as a checksum, which the server sends after the content. Empty over
    /// `URLSessionTransport`, which does not report them, for a response from the cache, and before the end of a stream: its
    /// `StreamPromise.response` has them then.
    public internal(set) var trailers: HTTPHeaders {
        get { hidingSecrets(box.fields.trailers ?? [:]) }
        set { box.change { $0.trailers = newValue } }
    }
    /// Returns fields whose description hides what is secret in the request.
    private func hidingSecrets(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = headers
        headers.secrets = box.fields.request.secrets
        return headers
    }

    /// The content, with any content coding removed.
    public var body: Data
    /// The file to which the content was saved; `nil` if the content is in `body`.
    package var file: URL? {
        get { box.fields.file }
        set { box.change { $0.file = newValue } }
    }
    /// The request as it was sent, after redirects.
    public var request: HTTPRequest {
        get { box.fields.request }
        set { box.change { $0.request = newValue } }
    }
    /// Returns a response that a custom loader made. Its request inherits the options, the decoder and the secret names of the caller's
    /// request.
    func inheriting(from caller: HTTPRequest) -> HTTPResponse {
        if request.id == caller.id { return self }
        var inheriting = self
        inheriting.request = request.inheriting(from: caller)
        return inheriting
    }
    /// The origin of the response: the server or the cache.
    public var source: Source {
        get { box.fields.source }
        set { box.change { $0.source = newValue } }
    }

    /// True for a redirect that was followed, so that only the start of its body was received.
    var isCut: Bool {
        get { box.fields.isCut }
        set { box.change { $0.isCut = newValue } }
    }

    /// The redirects that were followed and led to this response, oldest first. Each has its own request, status and header fields, and the
    /// first 64 KiB of its body. Ness does not wait for the rest. Empty if there was no redirect, and for a response from the cache.
    ///
    /// ```swift
    /// let response = try await ness.get("http://example.com/moved").response()
    /// for redirect in response.history {
    ///     print(redirect.url, redirect.statusCode, redirect.redirectURL ?? "nowhere")
    /// }
    /// ```
    public package(set) var history: [HTTPResponse] {
        get { box.fields.history }
        set { box.change { $0.history = newValue } }
    }

    /// The measurements of the connection that the response arrived on: the version of HTTP, the addresses, the times, and whether an
    /// earlier request had opened it. `CurlTransport` provides them. `URLSessionTransport` provides them on Apple platforms at the end of a
    /// response, therefore not for the head of a stream. `nil` for other transports, for a response from the cache, and for a head that a
    /// closure or an observer gets before the response is complete.
    public internal(set) var connection: ConnectionMetrics? {
        get { box.fields.connection }
        set { box.change { $0.connection = newValue } }
    }

    /// The host and the port of the proxy that sent a 407. `nil` if it is not known, and for any other response.
    var proxy: String? {
        get { box.fields.proxy }
        set { box.change { $0.proxy = newValue } }
    }

    /// The origin of a response.
    public enum Source: Sendable, Hashable {
        /// The server sent it.
        case network
        /// The cache had the response, and no request was sent.
        case cache
        /// The cache had the response, its lifetime had passed, and the server did not confirm it. The request or the response allowed
        /// that: by `max-stale`, `stale-while-revalidate` or `stale-if-error`.
        case stale
        /// The cache had the response, and the server confirmed it with 304. Header fields of the 304 replace the stored ones.
        case revalidated
    }

    /// Makes a response.
    /// - Parameters:
    ///   - statusCode: The status code.
    ///   - headers: The header fields.
    ///   - body: The content.
    ///   - request: The request that the response belongs to.
    ///   - source: The origin of the response.
    public init(statusCode: Int, headers: HTTPHeaders = [:], body: Data = Data(), request: HTTPRequest, source: Source = .network) {
        box = CopyOnWriteBox(Fields(statusCode: statusCode, headers: headers, request: request, source: source))
        self.body = body
    }

    /// Removes the fields that describe the encoded content, because the content was decoded.
    mutating func removeContentCoding() {
        guard headers.contains(HeaderName.contentEncoding) else { return }
        box.change { fields in
            fields.receivedHeaders = fields.headers
            fields.headers.remove([HeaderName.contentEncoding, HeaderName.contentLength])
        }
    }

    /// The URL of the request that was sent last, after redirects. It has the fragment of the last `Location` that has one, or else that of
    /// the caller's URL (RFC 9110, section 10.2.2). A fragment is not sent, so `request.url` has none.
    public var url: URL { request.url.adding(request.fragment) }

    /// The content as text, decoded from `textEncoding`. Each invalid unit becomes a U+FFFD. A byte order mark is left out.
    public var text: String { textEncoding.decode(body) }

    /// Decodes the content from an encoding that you choose.
    ///
    /// ```swift
    /// let page = response.text(as: .shiftJIS)
    /// ```
    /// - Parameter encoding: The encoding. Neither a `Content-Type` nor the byte order mark of another encoding overrides it.
    /// - Returns: The text. Each invalid unit becomes a U+FFFD.
    public func text(as encoding: TextEncoding) -> String { encoding.decode(body) }

    /// The encoding of `text`. It is the first of these that exists and is known:
    ///
    /// 1. the byte order mark at the start of the content
    /// 2. the `charset` of the `Content-Type` (RFC 9110, section 8.3.2), by any label of the Encoding Standard
    /// 3. for `text/html`, a `<meta charset>` in the first 1,024 bytes
    /// 4. UTF-8
    public var textEncoding: TextEncoding {
        let headers = box.fields.headers
        let named = headers.charset.flatMap { TextEncoding(label: $0) }
        // In little-endian UTF-32, a byte order mark starts like that of UTF-16.
        if named == .utf32 { return .utf32 }
        return TextEncoding(byteOrderMarkOf: body) ?? named ?? (headers.mediaType == "text/html" ? HTMLPrescan.encoding(of: body) : nil)
            ?? .utf8
    }
}

extension HTTPResponse {
    /// The wait before another request that the server asks for in `Retry-After` (RFC 9110, 10.2.3): from zero to a century. A date counts
    /// from the response's own `Date`, or else from now. `nil` if the field is missing, or is neither a number of seconds nor a date.
    public var retryAfter: Duration? {
        guard let field = headers[HeaderName.retryAfter]?.trimmingCharacters(in: .whitespaces) else { return nil }
        let century: Int64 = 100 * 365 * 24 * 60 * 60
        if let seconds = HeaderFieldValue.number(field) { return .seconds(min(seconds, century)) }
        guard let end = HTTPDate.parse(field) else { return nil }
        let seconds = end.timeIntervalSince(headers[HeaderName.date].flatMap(HTTPDate.parse) ?? Date())
        return .seconds(Int64(min(max(seconds.rounded(.up), 0), Double(century))))
    }

    /// A redactor for strings about the response. It masks the secrets of the request and of its redirects.
    package var redactor: Redactor { Redactor(request.secrets, sentBy: history.map(\.request) + [request]) }
}

extension HTTPResponse: RedactedValue {
    /// The request, the status and the start of the content in one line, without secrets.
    package var redactedDescription: String {
        let redactor = redactor
        let shown = redactor.snippet(of: body, contentType: headers[HeaderName.contentType])
        return "\(redactor.redacted(request)) \u{2192} \(statusCode) \(shown)"
    }
}

extension HTTPResponse {
    /// False if the server certainly has not acted on the request: it redirected the request as it is, or rejected the credential.
    var mayFollowAction: Bool { ![307, 308, 401].contains(statusCode) }

    /// True if a server may have acted before it sent one of the redirects, so that the whole request must not be sent again.
    var followsAction: Bool { history.contains { $0.mayFollowAction && !$0.request.isIdempotent } }
}
