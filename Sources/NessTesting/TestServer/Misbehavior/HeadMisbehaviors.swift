import Foundation

extension Misbehavior {
    /// Header fields that break the rules, or are too long or too many.
    static let heads: [Misbehavior] = {
        let hello = Expectation.successOrFailure(status: 200, body: "hello")
        func withField(_ name: String, _ summary: String, _ line: String) -> Misbehavior {
            raw(name, summary, expecting: hello, "HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        }
        var list: [Misbehavior] = [
            withField("field-without-colon", "Sends a header line without a colon.", "Broken"),
            withField("field-without-name", "Sends a header line without a name.", ": value"),
            withField("field-without-value", "Sends a header field with an empty value.", "X-Empty:"),
            withField("space-before-colon", "Sends a space between a field's name and the colon.", "X-Spaced : value"),
            withField("space-in-field-name", "Sends a space inside a field's name.", "X Spaced: value"),
            withField("folded-field", "Folds a header field over two lines.", "X-Folded: one\r\n two"),
            withField("folded-first-field", "Starts the header fields with a folded line.", " X-Folded: one"),
            withField("bare-cr-in-field", "Sends a CR inside a field's value.", "X-Bare: one\rtwo"),
            withField("nul-in-field", "Sends a NUL inside a field's value.", "X-Nul: one\u{0}two"),
            withField("control-character-in-field", "Sends an escape sequence inside a field's value.", "X-Escape: \u{1B}[31mred"),
            withField("field-of-64-kib", "Sends a header field of 64 KiB.", "X-Large: " + String(repeating: "a", count: 65_536)),
            withField("field-of-512-kib", "Sends a header field of 512 KiB.", "X-Huge: " + String(repeating: "a", count: 524_288)),
            withField(
                "ten-thousand-fields", "Sends 10,000 header fields.", String(repeating: "X-Many: yes\r\n", count: 9_999) + "X-Many: yes"),
            withField("thousand-cookies", "Sets 1,000 cookies.", (1...1_000).map { "Set-Cookie: c\($0)=v" }.joined(separator: "\r\n")),
            withField(
                "duplicate-content-type", "Sends two different Content-Type fields.", "Content-Type: text/plain\r\nContent-Type: image/png"),
        ]
        list.append(
            Misbehavior("field-not-utf-8", "Sends a header field that is not UTF-8.", expecting: hello) { _ in
                var head = Data("HTTP/1.1 200 OK\r\nX-Latin: caf".utf8)
                head.append(0xE9)
                head.append(Data("\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello".utf8))
                return [.receiveRequest, .sendData(head), .close]
            })
        list.append(
            raw(
                "bare-lf-lines", "Ends its lines with LF alone.", expecting: hello,
                "HTTP/1.1 200 OK\nContent-Length: 5\nConnection: close\n\nhello"))
        list.append(
            raw(
                "no-fields-at-all", "Sends a status line and no header field.", expecting: .success(status: 200, body: "hello"),
                "HTTP/1.1 200 OK\r\n\r\nhello"))
        list.append(
            Misbehavior("endless-fields", "Sends header fields that never end.", expecting: .anyFailure) { _ in
                let fields = Data(String(repeating: "X-Endless: 0123456789\r\n", count: 500).utf8)
                return [.receiveRequest, .send("HTTP/1.1 200 OK\r\n"), .sendUntilClosed(fields)]
            })
        list.append(
            Misbehavior("endless-field", "Sends one header field that never ends.", expecting: .anyFailure) { _ in
                [.receiveRequest, .send("HTTP/1.1 200 OK\r\nX-Endless: "), .sendUntilClosed(Data(repeating: 97, count: 16_384))]
            })
        return list
    }()
}
