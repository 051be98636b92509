import Foundation

/// A response with its whole body.
public struct HTTPResponse: Sendable {
    /// All but the content, which is often large and can be changed in place.
    private struct Fields: Sendable {
        var statusCode: Int
        var headers: HTTPHeaders
        var file: URL?
        var request: HTTPRequest
        var source = Source.network
        var jsonDecoder: JSONDecoder?
    }

    private var box: CopyOnWriteBox<Fields>

    /// The status code (RFC 9110, section 15).
    public var statusCode: Int {
        get { box.fields.statusCode }
        set { box.change { $0.statusCode = newValue } }
    }
    /// The header fields. Where the transport only knows one joined value a name, that is what stands here.
    public var headers: HTTPHeaders {
        get { box.fields.headers }
        set { box.change { $0.headers = newValue } }
    }
    /// The content, with any content coding removed.
    public var body: Data
    /// Where the content was saved instead.
    package var file: URL? {
        get { box.fields.file }
        set { box.change { $0.file = newValue } }
    }
    /// The request that this answers, as it was sent.
    public var request: HTTPRequest {
        get { box.fields.request }
        set { box.change { $0.request = newValue } }
    }
    /// The decoder of JSON where no other is given: the manager's.
    package var jsonDecoder: JSONDecoder? {
        get { box.fields.jsonDecoder }
        set { box.change { $0.jsonDecoder = newValue } }
    }
    /// The response with a decoder, unless it has one: one that a loader made by itself gets the manager's on its way out.
    func decoded(by decoder: JSONDecoder?) -> HTTPResponse {
        guard jsonDecoder == nil, let decoder else { return self }
        var response = self
        response.jsonDecoder = decoder
        return response
    }
    /// Whether the server sent it, or a cache had it.
    public var source: Source {
        get { box.fields.source }
        set { box.change { $0.source = newValue } }
    }

    /// Where a response comes from.
    public enum Source: Sendable, Hashable {
        /// The server sent it.
        case network
        /// It was stored, and the server was not asked.
        case cache
        /// It was stored, and the server said that it is still good: header fields are the newer ones.
        case revalidated
    }

    /// Makes a response.
    /// - Parameters:
    ///   - statusCode: The status code.
    ///   - headers: The header fields.
    ///   - body: The content.
    ///   - request: The request that it answers.
    public init(statusCode: Int, headers: HTTPHeaders = [:], body: Data = Data(), request: HTTPRequest) {
        self.init(statusCode: statusCode, headers: headers, body: body, request: request, jsonDecoder: nil)
    }

    init(statusCode: Int, headers: HTTPHeaders, body: Data, request: HTTPRequest, jsonDecoder: JSONDecoder?) {
        box = CopyOnWriteBox(Fields(statusCode: statusCode, headers: headers, request: request, jsonDecoder: jsonDecoder))
        self.body = body
    }

    /// Where it came from: the URL of the request that was sent last.
    public var url: URL { request.url }

    /// The content as text, in the character set of the Content-Type; UTF-8 unless that says otherwise. Bytes that are no text
    /// become U+FFFD.
    public var text: String {
        if let encoding, encoding != .utf8, let text = String(data: body, encoding: encoding) { return text }
        return String(decoding: body, as: UTF8.self)
    }

    /// The encoding that the Content-Type names (RFC 9110, 8.3.2); nil where it names none, or one that a body can't be sent in.
    private var encoding: String.Encoding? {
        headers.charset.flatMap { charset in HTTPBody.charsets.first { $0.value == charset }?.key }
    }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The request, the status and the start of the content in one line, without secrets.
    public var description: String {
        "\(request) \u{2192} \(statusCode) \(request.secrets.snippet(of: body, contentType: headers[HeaderName.contentType]))"
    }
    /// Only the description, so that dumping a response shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}
