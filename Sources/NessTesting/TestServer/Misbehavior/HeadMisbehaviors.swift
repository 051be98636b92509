import Foundation

extension Misbehavior {
    /// Header fields that break the rules, or are too long or too many.
    static let heads: [Misbehavior] = [
        field("field-without-colon", "Sends a header line without a colon.", "Broken"),
        field("field-without-name", "Sends a header line without a name.", ": value"),
        field("field-without-value", "Sends a header field with an empty value.", "X-Empty:"),
        field("space-before-colon", "Sends a space between a field's name and the colon.", "X-Spaced : value"),
        field("space-in-field-name", "Sends a space inside a field's name.", "X Spaced: value"),
        field("folded-field", "Folds a header field over two lines.", "X-Folded: one\r\n two"),
        field("folded-first-field", "Starts the header fields with a folded line.", " X-Folded: one"),
        field("bare-cr-in-field", "Sends a CR inside a field's value.", "X-Bare: one\rtwo"),
        field("nul-in-field", "Sends a NUL inside a field's value.", "X-Nul: one\u{0}two"),
        field("control-character-in-field", "Sends an escape sequence inside a field's value.", "X-Escape: \u{1B}[31mred"),
        field("field-of-64-kib", "Sends a header field of 64 KiB.", "X-Large: " + String(repeating: "a", count: 65_536)),
        field("field-of-512-kib", "Sends a header field of 512 KiB.", "X-Huge: " + String(repeating: "a", count: 524_288)),
        field("ten-thousand-fields", "Sends 10,000 header fields.", String(repeating: "X-Many: yes\r\n", count: 9_999) + "X-Many: yes"),
        field("thousand-cookies", "Sets 1,000 cookies.", (1...1_000).map { "Set-Cookie: c\($0)=v" }.joined(separator: "\r\n")),
        field(
            "duplicate-content-type", "Sends two different Content-Type fields.", "Content-Type: text/plain\r\nContent-Type: image/png"),
        Misbehavior("field-not-utf-8", "Sends a header field that is not UTF-8.", expecting: .helloOrFailure) { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\nX-Latin: caf"), .sendData(Data([0xE9])), .send("\r\n\(shortFields)"), .close]
        },
        raw(
            "bare-lf-lines", "Ends its lines with LF alone.", expecting: .helloOrFailure,
            "HTTP/1.1 200 OK\nContent-Length: 5\nConnection: close\n\nhello"),
        raw("no-fields-at-all", "Sends a status line and no header field.", expecting: .hello, "HTTP/1.1 200 OK\r\n\r\nhello"),
        Misbehavior("endless-fields", "Sends header fields that never end.", expecting: .anyFailure) { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\n"), .sendUntilClosed(endlessFields)]
        },
        Misbehavior("endless-field", "Sends one header field that never ends.", expecting: .anyFailure) { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\nX-Endless: "), .sendUntilClosed(Data(repeating: 97, count: 16_384))]
        },
    ]

    /// Header fields to send over and over.
    static let endlessFields = Data(String(repeating: "X-Endless: 0123456789\r\n", count: 500).utf8)

    /// Makes a misbehavior with a line among the header fields.
    private static func field(_ name: String, _ summary: String, _ line: String) -> Misbehavior {
        raw(name, summary, expecting: .helloOrFailure, "HTTP/1.1 200 OK\r\n\(line)\r\n\(shortFields)")
    }
}
