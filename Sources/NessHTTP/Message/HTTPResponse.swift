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

    /// Decodes the content as JSON.
    /// - Parameters:
    ///   - type: What to decode; usually inferred. An `Optional` is nil where the body is empty.
    ///   - decoder: What decodes it; the manager's unless given.
    /// - Returns: The value.
    /// - Throws: `NessError.decoding`, which holds this response.
    public func parseJSONBody<Value: Decodable>(_ type: Value.Type = Value.self, with decoder: JSONDecoder? = nil) throws -> Value {
        if body.isEmpty, let nothing = (Value.self as? any OptionalValue.Type)?.nothing as? Value { return nothing }
        return try decoding(as: Value.self) { data in
            // In linear time, which JSONDecoder does not promise them.
            if let value = try JSONValue.read(Value.self, from: data) { return value }
            return try (decoder ?? jsonDecoder ?? JSONDecoder()).decode(Value.self, from: data)
        }
    }

    /// Decodes the content.
    /// - Parameter decoder: What decodes it.
    /// - Returns: What the decoder makes of it.
    /// - Throws: `NessError.decoding`, which holds this response and the decoder's error.
    public func parseBody<Decoder: ResponseDecoder>(using decoder: Decoder) throws -> Decoder.Decoded {
        try decoding(as: Decoder.Decoded.self) { data in try decoder.decode(from: data) }
    }

    private func decoding<Value>(as type: Value.Type, _ decode: (Data) throws -> Value) throws -> Value {
        do {
            return try decode(body)
        } catch {
            let reason = body.isEmpty ? "the body is empty" : Self.describe(error)
            throw NessError.decoding(
                NessError.Context(request: request, response: self, reason: "can't decode \(Value.self): \(reason)", underlying: error))
        }
    }

    /// A decoding error in one line: where, and what was the matter, without the data.
    private static func describe(_ error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.isEmpty ? "" : " at " + context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .keyNotFound(let key, let context): return "no value for \"\(key.stringValue)\"\(path(context))"
        case .typeMismatch(let type, let context): return "not a \(type)\(path(context))"
        case .valueNotFound(let type, let context): return "null instead of a \(type)\(path(context))"
        case .dataCorrupted(let context): return context.debugDescription + path(context)
        @unknown default: return "\(error)"
        }
    }
}

extension HTTPResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The request, the status and the start of the content in one line, without secrets.
    public var description: String {
        "\(request) \u{2192} \(statusCode) \(request.secrets.snippet(of: body, contentType: headers["content-type"]))"
    }
    /// As `description`.
    public var debugDescription: String { description }
    /// Only the description, so that dumping a response shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}

/// An `Optional`, and nothing else: other types can be written as `nil` too, and `JSONValue` means null by it, which an empty body is not.
private protocol OptionalValue {
    static var nothing: Self { get }
}

extension Optional: OptionalValue {
    fileprivate static var nothing: Wrapped? { nil }
}
