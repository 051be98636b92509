import Foundation
import NessHTTP

/// A whole request as a `TestServer` or a mock received it. The body is without chunk framing.
public struct ReceivedRequest: Sendable {
    /// A name and a value of a query or a form.
    public struct Item: Sendable, Hashable {
        /// The name, decoded.
        public var name: String
        /// The value, decoded; empty if there is no `=`.
        public var value: String
    }

    /// The method.
    public var method: HTTPMethod
    /// The request target exactly as on the request line, such as `/users/1?full=yes`.
    public var target: String
    /// The header fields, in the order of arrival.
    public var headers: HTTPHeaders = [:]
    /// The body; empty if there was none, or if `isBodyDropped` is true.
    public var body = Data()
    /// The trailer fields of a chunked body.
    public var trailers: HTTPHeaders = [:]
    /// True if the body arrived with `Transfer-Encoding: chunked`.
    public var isChunked = false
    /// The text that each placeholder of a mock's route matched. Always empty on a `TestServer`.
    public var pathParameters: [String: String] = [:]
    /// The number of the request among all that its server or mock has received, counted from 1; with `RequestBuilder.mock(_:)`, among the
    /// attempts of its request. Handlers may start in another order than their requests arrive, so use this number to recognize the first
    /// request, rather than a count of the handler's calls.
    public var number = 1
    /// The number of the server's connection that carried the request, counted from 1.
    public var connectionNumber = 1
    /// The number of the request on its connection, counted from 1.
    public var requestNumberOnConnection = 1
    /// True if the body has been removed from `TestServer.requests` to bound its memory, or was written to a file by
    /// `TestServer.resumableUploads`. Always false in a handler.
    public internal(set) var isBodyDropped = false
    /// The URL that a mock received; `nil` on a `TestServer`.
    var givenURL: URL?

    /// The full URL, as of an `HTTPRequest`. On a `TestServer`, the URL of the `Host` field and the target; if these do not form one, the
    /// file URL of the path.
    public var url: URL { fullURL ?? URL(fileURLWithPath: path) }

    private var fullURL: URL? { givenURL ?? URL(string: "http://\(headers["host"] ?? "")\(originForm)") }

    /// The target's path, still percent-encoded, without the query.
    public var path: String { String(originForm.prefix { $0 != "?" }) }

    /// The target's query, still percent-encoded, without the `?`; `nil` if there is none.
    public var query: String? {
        guard let mark = originForm.firstIndex(of: "?") else { return nil }
        return String(originForm[originForm.index(after: mark)...])
    }

    /// The pairs of the query in order, with `%XX` decoded. A `+` stays a `+`, as RFC 3986 requires.
    public var queryItems: [Item] { Self.items(of: query ?? "", plusIsSpace: false) }

    /// The pairs of the body in order, read as `application/x-www-form-urlencoded`: `%XX` is decoded, and `+` is a space.
    public var formFields: [Item] { Self.items(of: bodyText, plusIsSpace: true) }

    /// The body as UTF-8 text. Invalid bytes become U+FFFD.
    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// Decodes the body as JSON, with a plain `JSONDecoder`.
    /// - Parameter type: The type to decode.
    /// - Returns: The value.
    /// - Throws: The decoder's `DecodingError`.
    public func decodeJSON<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: body)
    }

    /// The target without the scheme and authority that a request to a proxy has.
    private var originForm: Substring {
        guard !target.hasPrefix("/"), let scheme = target.range(of: "://") else { return Substring(target) }
        let rest = target[scheme.upperBound...]
        guard let start = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        return rest[start...]
    }

    private static func items(of text: String, plusIsSpace: Bool) -> [Item] {
        text.split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ half: Substring) -> String {
                let raw = plusIsSpace ? half.replacing("+", with: " ") : half
                return String(raw).removingPercentEncoding ?? String(raw)
            }
            return Item(name: decoded(halves[0]), value: halves.count > 1 ? decoded(halves[1]) : "")
        }
    }
}

extension ReceivedRequest: RedactedValue {
    /// The method and the URL, without secrets.
    package var redactedDescription: String {
        var sent = HTTPRequest(method, url: url, headers: headers, body: HTTPBody(body))
        sent.secrets = headers.secrets
        return "\(method.rawValue.oneLine) \(sent.redactor.redacted(urlText: fullURL?.absoluteString ?? target))"
    }
}

extension ReceivedRequest.Item: RedactedValue {
    /// The encoded pair, without its value if the name suggests a secret.
    package var redactedDescription: String { URLQuery.Item(name: name, value: value).description }
}
