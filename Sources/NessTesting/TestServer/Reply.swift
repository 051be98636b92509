import Foundation
import NessHTTP

/// What a handler of a `TestServer` or a mock answers with.
///
/// ```swift
/// let server = try await TestServer.start { request in
///     switch request.path {
///     case "/user": .json(User(id: 1), headers: ["ETag": "\"1\""])
///     case "/flaky": .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .reset])
///     default: .status(404)
///     }
/// }
/// ```
/// Header fields are sent exactly as given, also wrong ones. What is missing for a well-formed message (`Content-Length`,
/// `Content-Type` where a maker knows it) is added. A reply to HEAD, and one with status 1xx, 204 or 304, goes out without its body.
public struct Reply: Sendable {
    /// The kinds of answers.
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

    /// What it is.
    package var content: Content
    /// How long it waits before it begins.
    package var delay = Duration.zero

    /// Makes a reply.
    package init(content: Content) { self.content = content }

    /// Text, as `text/plain; charset=utf-8` unless the headers say otherwise.
    /// - Parameters:
    ///   - text: The body.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// A value as JSON, with a plain `JSONEncoder`. A value that can't be encoded becomes a 500 with the error's text.
    /// - Parameters:
    ///   - value: What to encode.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    public static func json(_ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
        do {
            return data(try JSONEncoder().encode(value), contentType: "application/json", status: status, headers: headers)
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

    /// A body with `Transfer-Encoding: chunked`, each piece a chunk and a send of its own, or on a mock an event. Empty pieces are left out.
    ///
    /// A mock leaves trailers out: a transport has no event for them.
    /// Trailers crash URLSession on Linux; send them only to other clients or to one in another process.
    /// - Parameters:
    ///   - pieces: The chunks.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    ///   - trailers: The fields behind the last chunk.
    public static func chunked(_ pieces: [Data], status: Int = 200, headers: HTTPHeaders = [:], trailers: HTTPHeaders = [:]) -> Reply {
        Reply(content: .chunked(status: status, headers: headers, pieces: pieces, trailers: trailers))
    }

    /// Steps to run on the connection, now that the request has been read. When they run out the connection is closed,
    /// unless the last is `.resumeServing`. For a `TestServer` only; on a mock it is a `MockTransportError`.
    /// - Parameter steps: The steps.
    public static func script(_ steps: [ConnectionStep]) -> Reply { Reply(content: .script(steps)) }

    /// What a proxy answers to `CONNECT`: 200, then all that either side sends, as it is. For a `TestServer` only.
    ///
    /// A proxy is a server whose handler says where requests lead, and may say anything else instead:
    /// ```swift
    /// let proxy = try await TestServer.start { request in
    ///     request.headers.contains("Proxy-Authorization") ? .tunnel(toPort: server.port) : .status(407)
    /// }
    /// ```
    /// - Parameters:
    ///   - port: A port of 127.0.0.1. Where nothing listens, the connection is reset.
    ///   - headers: The header fields of the 200.
    public static func tunnel(toPort port: Int, headers: HTTPHeaders = [:]) -> Reply {
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return .script([.send("HTTP/1.1 200 Connection established\r\n\(fields)\r\n"), .tunnel(toPort: port)])
    }

    /// No response but a failure, such as `.failure(.timedOut)`. A mock's exchange ends with that error; a `TestServer`, which can't say
    /// why, resets the connection.
    /// - Parameter error: What the exchange ends with.
    public static func failure(_ error: TransportError) -> Reply { Reply(content: .failure(error)) }

    /// The same reply, later. Delays add up.
    /// - Parameter duration: How long the reply waits before it begins: on the mock's clock, or on a `TestServer` in real time. Less than
    ///   nothing is nothing.
    public func delayed(by duration: Duration) -> Reply {
        var reply = self
        reply.delay += max(.zero, duration)
        return reply
    }

    /// The same reply with one more header field. A script and a failure have none, and stay as they are.
    /// - Parameters:
    ///   - value: The field's value.
    ///   - name: The field's name.
    public func adding(_ value: String, for name: String) -> Reply {
        var reply = self
        switch content {
        case .full(let status, var headers, let body):
            headers.add(value, for: name)
            reply.content = .full(status: status, headers: headers, body: body)
        case .chunked(let status, var headers, let pieces, let trailers):
            headers.add(value, for: name)
            reply.content = .chunked(status: status, headers: headers, pieces: pieces, trailers: trailers)
        case .script, .failure: break
        }
        return reply
    }
}
