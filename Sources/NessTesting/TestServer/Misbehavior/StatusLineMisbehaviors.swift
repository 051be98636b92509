import Foundation

extension Misbehavior {
    /// Malformed or unusual status lines.
    static let statusLines: [Misbehavior] = [
        line("garbage-status-line", "Responds with text that is not a status line.", .malformedResponse, "lorem ipsum dolor"),
        raw("not-http", "Responds like an SSH server.", expecting: .malformedResponse, "SSH-2.0-OpenSSH_9.2\r\n"),
        raw("http-0-9", "Responds with a body only, as HTTP/0.9 did.", expecting: .malformedResponse, "<html>hello</html>"),
        Misbehavior("binary-garbage", "Responds with bytes that are not text.", expecting: .malformedResponse) { _ in
            [.receiveRequest, .sendData(Data((0..<2048).map { UInt8(truncatingIfNeeded: $0 * 151 + 7) })), .close]
        },
        Misbehavior("tls-alert", "Responds with a TLS alert, as a TLS port does.", expecting: .malformedResponse) { _ in
            [.receiveRequest, .sendData(Data([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x16])), .close]
        },
        line("status-of-two-digits", "Sends the status 20.", .malformedResponse, "HTTP/1.1 20 OK"),
        line("status-of-four-digits", "Sends the status 2000.", .malformedResponse, "HTTP/1.1 2000 OK"),
        line("status-of-letters", "Sends a status that is not a number.", .malformedResponse, "HTTP/1.1 abc OK"),
        line("status-zero", "Sends the status 000.", .malformedResponse, "HTTP/1.1 000 Nothing"),
        line(
            "status-999", "Sends a status beyond every class.", .successOrFailure(status: 999, body: "hello"), "HTTP/1.1 999 Denied"),
        line("no-reason-phrase", "Sends a status line that ends behind the code, without the space.", .helloOrFailure, "HTTP/1.1 200"),
        line(
            "empty-reason-phrase", "Sends a status line with an empty reason phrase, as RFC 9112 allows.", .helloOrFailure, "HTTP/1.1 200 "),
        raw("http-1-0", "Responds with HTTP/1.0, and ends the body by closing.", expecting: .hello, "HTTP/1.0 200 OK\r\n\r\nhello"),
        line("http-2-status-line", "Claims HTTP/2.0 in the text format.", .helloOrFailure, "HTTP/2.0 200 OK"),
        line("http-9-9", "Claims a version that does not exist.", .helloOrFailure, "HTTP/9.9 200 OK"),
        line("lower-case-http", "Writes the protocol's name in lower case.", .helloOrFailure, "http/1.1 200 ok"),
        line("blank-line-first", "Sends a blank line before the status line.", .helloOrFailure, "\r\nHTTP/1.1 200 OK"),
        Misbehavior("endless-status-line", "Sends a reason phrase that never ends.", expecting: .anyFailure) { _ in
            [.receiveRequest, .send("HTTP/1.1 200 "), .sendUntilClosed(Data(repeating: 79, count: 16_384))]
        },
    ]

    /// Makes a misbehavior whose response is right after its first line.
    private static func line(_ name: String, _ summary: String, _ expectation: Expectation, _ statusLine: String) -> Misbehavior {
        raw(name, summary, expecting: expectation, "\(statusLine)\r\n\(shortFields)")
    }
}
