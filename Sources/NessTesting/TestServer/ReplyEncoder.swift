import Foundation
import NessHTTP

/// Encodes replies as HTTP/1.1 messages.
struct ReplyEncoder {
    /// True if the reply is for a HEAD request.
    let isHead: Bool
    /// True if the client speaks HTTP/1.0, which has no chunks.
    let isHTTP10: Bool
    /// True if the connection closes after the reply.
    let closes: Bool

    /// Returns the bytes to send, in order. Each element takes a separate send.
    func encode(status: Int, headers: HTTPHeaders, body: Data) -> [Data] {
        var message = head(status, Self.framed(headers, status: status, isHead: isHead, length: body.count))
        if isHead || Self.forbidsBody(status) || body.isEmpty { return [message] }
        // A small reply takes one send. A large body is sent apart, which saves a copy.
        guard body.count <= 64 << 10 else { return [message, body] }
        message.append(body)
        return [message]
    }

    /// Returns the bytes to send for a body in chunks. Each chunk takes a send; the first includes the head, and the last the end.
    func encode(status: Int, headers: HTTPHeaders, pieces: [Data], trailers: HTTPHeaders) -> [Data] {
        let pieces = pieces.filter { !$0.isEmpty }
        guard !isHTTP10 else { return encode(status: status, headers: headers, body: Data(pieces.joined())) }
        let message = head(status, Self.framed(headers, status: status, isHead: isHead, length: nil))
        if isHead || Self.forbidsBody(status) { return [message] }
        let end = "0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
        var sends = pieces.map { Data("\(String($0.count, radix: 16))\r\n".utf8) + $0 + Data("\r\n".utf8) }
        if sends.isEmpty { sends = [Data()] }
        sends[0] = message + sends[0]
        sends[sends.count - 1].append(contentsOf: end.utf8)
        return sends
    }

    private func head(_ status: Int, _ headers: HTTPHeaders) -> Data {
        var text = "HTTP/1.1 \(status) \(ReasonPhrase.of(status))\r\n"
        for field in headers {
            text += field.name
            text += ": "
            text += field.value
            text += "\r\n"
        }
        if !headers.contains("Connection") {
            if closes { text += "Connection: close\r\n" } else if isHTTP10 { text += "Connection: keep-alive\r\n" }
        }
        text += "\r\n"
        return Data(text.utf8)
    }

    /// Adds the header field that frames the body, unless there is one. A reply to HEAD without a body says nothing about the length that
    /// a GET would get (RFC 9110, 9.3.2), and needs no field.
    /// - Parameter length: The body's length; `nil` for a body in chunks.
    static func framed(_ headers: HTTPHeaders, status: Int, isHead: Bool, length: Int?) -> HTTPHeaders {
        guard !forbidsBody(status), !headers.contains("Transfer-Encoding"), !isHead || length != 0 else { return headers }
        var headers = headers
        if let length {
            if !headers.contains("Content-Length") { headers.add(String(length), for: "Content-Length") }
        } else {
            headers.add("chunked", for: "Transfer-Encoding")
        }
        return headers
    }

    /// True if a response with this status has no body, regardless of its header.
    static func forbidsBody(_ status: Int) -> Bool { (100..<200).contains(status) || status == 204 || status == 304 }
}
