import Foundation
import NessHTTP

/// The reply of a handler of a `TestServer` or a mock.
///
/// ```swift
/// let server = try await TestServer.start { request in
///     switch request.path {
///     case "/user": .json(["name": "Tabby"], headers: ["ETag": "\"1\""])
///     case "/flaky":
///         .script([
///             .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .reset,
///         ])
///     default: .status(404)
///     }
/// }
/// ```
/// Header fields are sent exactly as given, including wrong ones. Missing fields that a well-formed message needs are added:
/// `Content-Length`, and `Content-Type` if the function that makes the reply knows it. A reply to HEAD, and one with status 1xx, 204 or
/// 304, is sent without its body.
public struct Reply: Sendable {
    /// The kinds of replies.
    package enum Content: Sendable {
        /// A status and a body of known length.
        case full(status: Int, headers: HTTPHeaders, body: Data)
        /// A status and a body in chunks.
        case chunked(status: Int, headers: HTTPHeaders, pieces: [Data], trailers: HTTPHeaders)
        /// Raw steps on the connection.
        case script([ConnectionStep])
        /// No response: the exchange fails.
        case failure(TransportError)
    }

    /// The kind of the reply, with its data.
    package var content: Content
    /// The delay before the reply starts.
    package var delay = Duration.zero

    /// Text, as `text/plain; charset=utf-8` unless the headers set another type.
    /// - Parameters:
    ///   - text: The body.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// A JSON value, usually as a literal, as `RequestBuilder.set(jsonBody:)` takes it.
    ///
    /// ```swift
    /// mock.on(.get, "cats/1") { _ in
    ///     .json(["name": "Fluffles", "tags": ["tabby", 1, nil]])
    /// }
    /// ```
    /// - Parameters:
    ///   - value: The value. The keys of objects are sent in alphabetical order. A value that can't be encoded, such as NaN, becomes a 500
    ///     with the error's text.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    public static func json(_ value: JSONValue, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
        json(status, headers) { try value.encoded() }
    }

    /// A JSON object with values of any `Encodable` types: `["name": name, "age": age]`. A value that can't be encoded becomes a 500 with
    /// the error's text.
    /// - Parameters:
    ///   - object: The names and values. `nil` becomes null.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    @_disfavoredOverload
    public static func json(_ object: [String: (any Encodable & Sendable)?], status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
        json(status, headers) { try JSONEncoder().encode(object.mapValues(AnyEncodable.init)) }
    }

    /// A value as JSON. A value that can't be encoded becomes a 500 with the error's text.
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder, for the names and dates of the API.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    public static func json(
        _ value: some Encodable, with encoder: JSONEncoder = JSONEncoder(), status: Int = 200, headers: HTTPHeaders = [:]
    ) -> Reply {
        json(status, headers) { try encoder.encode(value) }
    }

    private static func json(_ status: Int, _ headers: HTTPHeaders, _ encode: () throws -> Data) -> Reply {
        do {
            return data(try encode(), contentType: "application/json", status: status, headers: headers)
        } catch {
            return text("TestServer could not encode the reply: \(error)", status: 500)
        }
    }

    /// Bytes.
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The media type, used where the headers have no `Content-Type`.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    public static func data(
        _ body: Data, contentType: String = "application/octet-stream", status: Int = 200, headers: HTTPHeaders = [:]
    ) -> Reply {
        var headers = headers
        if !headers.contains("Content-Type") { headers.add(contentType, for: "Content-Type") }
        return Reply(content: .full(status: status, headers: headers, body: body))
    }

    /// A status without a body.
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Reply {
        Reply(content: .full(status: status, headers: headers, body: Data()))
    }

    /// A body with `Transfer-Encoding: chunked`. A server sends each chunk separately. A mock reports each chunk as an event. Empty chunks
    /// are left out.
    ///
    /// Trailers crash URLSession on Linux. Send them only to other clients, or to a client in another process.
    /// - Parameters:
    ///   - pieces: The chunks.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    ///   - trailers: The fields after the last chunk.
    public static func chunked(_ pieces: [Data], status: Int = 200, headers: HTTPHeaders = [:], trailers: HTTPHeaders = [:]) -> Reply {
        Reply(content: .chunked(status: status, headers: headers, pieces: pieces, trailers: trailers))
    }

    /// Steps that run on the connection once the request has been read. After the last step the server closes the connection, unless that
    /// step is `.resumeServing`. For a `TestServer` only; a mock fails with `MockTransportError`.
    /// - Parameter steps: The steps.
    public static func script(_ steps: [ConnectionStep]) -> Reply { Reply(content: .script(steps)) }

    /// A proxy's response to `CONNECT`: a 200, after which all bytes of both sides are forwarded unchanged. For a `TestServer` only.
    ///
    /// A proxy is a server whose handler decides where a request leads. It may also respond in another way:
    /// ```swift
    /// let proxy = try await TestServer.start { request in
    ///     request.headers.contains("Proxy-Authorization")
    ///         ? .tunnel(toPort: server.port) : .status(407)
    /// }
    /// ```
    /// - Parameters:
    ///   - port: A port of 127.0.0.1. If nothing listens there, the connection is reset.
    ///   - headers: The header fields of the 200.
    public static func tunnel(toPort port: Int, headers: HTTPHeaders = [:]) -> Reply {
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return .script([.send("HTTP/1.1 200 Connection established\r\n\(fields)\r\n"), .tunnel(toPort: port)])
    }

    /// A failure instead of a response, such as `.failure(.timedOut)`. A mock's exchange ends with this error. A `TestServer` cannot report
    /// an error, so it resets the connection.
    /// - Parameter error: The error that ends the exchange.
    public static func failure(_ error: TransportError) -> Reply { Reply(content: .failure(error)) }

    /// Returns the same reply with a delay. Several delays add up.
    /// - Parameter duration: The delay before the reply starts: on the mock's clock, or on a `TestServer` in real time. It is limited
    ///   to about thirty years, and a negative duration counts as zero.
    public func delayed(by duration: Duration) -> Reply {
        var reply = self
        reply.delay += duration.clampedForSleep
        return reply
    }

    /// The header fields; `nil` for a script and a failure.
    var headers: HTTPHeaders? {
        get {
            switch content {
            case .full(_, let headers, _), .chunked(_, let headers, _, _): headers
            case .script, .failure: nil
            }
        }
        set {
            guard let newValue else { return }
            switch content {
            case .full(let status, _, let body): content = .full(status: status, headers: newValue, body: body)
            case .chunked(let status, _, let pieces, let trailers):
                content = .chunked(status: status, headers: newValue, pieces: pieces, trailers: trailers)
            case .script, .failure: break
            }
        }
    }

    /// Returns the same reply with another header field. A script and a failure are returned unchanged.
    /// - Parameters:
    ///   - value: The field's value.
    ///   - name: The field's name.
    public func adding(_ value: String, for name: String) -> Reply {
        var reply = self
        reply.headers?.add(value, for: name)
        return reply
    }
}
