import Foundation

extension Misbehavior {
    /// Malformed or unusual status lines.
    static let statusLines: [Misbehavior] = [
        raw(
            "garbage-status-line", "Responds with text that is not a status line.", expecting: .malformedResponse,
            "lorem ipsum dolor\r\nContent-Length: 5\r\n\r\nhello"),
        raw("not-http", "Responds like an SSH server.", expecting: .malformedResponse, "SSH-2.0-OpenSSH_9.2\r\n"),
        raw("http-0-9", "Responds with a body only, as HTTP/0.9 did.", expecting: .malformedResponse, "<html>hello</html>"),
        Misbehavior("binary-garbage", "Responds with bytes that are not text.", expecting: .malformedResponse) { _ in
            [.receiveRequest, .sendData(binaryGarbage), .close]
        },
        Misbehavior("tls-alert", "Responds with a TLS alert, as a TLS port does.", expecting: .malformedResponse) { _ in
            [.receiveRequest, .sendData(Data([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x16])), .close]
        },
        raw(
            "status-of-two-digits", "Sends the status 20.", expecting: .malformedResponse,
            "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello"),
        raw(
            "status-of-four-digits", "Sends the status 2000.", expecting: .malformedResponse,
            "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello"),
        raw(
            "status-of-letters", "Sends a status that is not a number.", expecting: .malformedResponse,
            "HTTP/1.1 abc OK\r\nContent-Length: 5\r\n\r\nhello"),
        raw(
            "status-999", "Sends a status beyond every class.", expecting: .successOrFailure(status: 999, body: "hello"),
            "HTTP/1.1 999 Denied\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        raw(
            "status-zero", "Sends the status 000.", expecting: .malformedResponse, "HTTP/1.1 000 Nothing\r\nContent-Length: 5\r\n\r\nhello"),
        raw(
            "no-reason-phrase", "Sends a status line that ends behind the code, without the space.",
            expecting: .successOrFailure(status: 200, body: "hello"), "HTTP/1.1 200\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        raw(
            "empty-reason-phrase", "Sends a status line with an empty reason phrase, as RFC 9112 allows.",
            expecting: .successOrFailure(status: 200, body: "hello"), "HTTP/1.1 200 \r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
        ),
        raw(
            "http-1-0", "Responds with HTTP/1.0, and ends the body by closing.", expecting: .success(status: 200, body: "hello"),
            "HTTP/1.0 200 OK\r\n\r\nhello"),
        raw(
            "http-2-status-line", "Claims HTTP/2.0 in the text format.", expecting: .successOrFailure(status: 200, body: "hello"),
            "HTTP/2.0 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        raw(
            "http-9-9", "Claims a version that does not exist.", expecting: .successOrFailure(status: 200, body: "hello"),
            "HTTP/9.9 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        raw(
            "lower-case-http", "Writes the protocol's name in lower case.", expecting: .successOrFailure(status: 200, body: "hello"),
            "http/1.1 200 ok\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        raw(
            "blank-line-first", "Sends a blank line before the status line.", expecting: .successOrFailure(status: 200, body: "hello"),
            "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        Misbehavior("endless-status-line", "Sends a reason phrase that never ends.", expecting: .anyFailure) { _ in
            [.receiveRequest, .send("HTTP/1.1 200 "), .sendUntilClosed(Data(repeating: 79, count: 16_384))]
        },
    ]

    private static let binaryGarbage: Data = {
        var bytes: [UInt8] = []
        for index in 0..<2048 { bytes.append(UInt8(truncatingIfNeeded: index &* 151 &+ 7)) }
        return Data(bytes)
    }()
}
