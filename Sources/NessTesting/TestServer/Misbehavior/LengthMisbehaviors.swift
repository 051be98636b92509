extension Misbehavior {
    /// Content-Length fields that are wrong, contradictory or not numbers.
    static let lengths: [Misbehavior] = {
        func with(
            _ name: String, _ summary: String, _ expectation: Expectation, _ fields: String, body: String = "hello",
            then last: ConnectionStep = .close
        ) -> Misbehavior {
            raw(name, summary, expecting: expectation, "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(body)", then: last)
        }
        let textField = "Content-Type: text/plain"
        return [
            with("length-too-long", "Announces 10 bytes, sends 5 and closes.", .truncated, "Content-Length: 10"),
            with("length-one-too-long", "Announces one byte more than it sends.", .truncated, "Content-Length: 6"),
            with("length-without-body", "Announces 10 bytes, sends none and closes.", .truncated, "Content-Length: 10", body: ""),
            with("length-huge", "Announces 4 EiB, sends 5 bytes and closes.", .truncated, "Content-Length: 4611686018427387904"),
            with(
                "length-overflow", "Announces more bytes than 64 bits count, sends 5 and closes.", .anyFailure,
                "Content-Length: 99999999999999999999"),
            with("length-too-short", "Announces 5 bytes and sends more.", .helloOrFailure, "Content-Length: 5", body: "hello world"),
            with(
                "length-zero-with-body", "Announces an empty body and sends one.", .successOrFailure(status: 200, body: ""),
                "Content-Length: 0"),
            with("length-negative", "Announces -1 bytes.", .anyFailure, "Content-Length: -1"),
            with("length-of-letters", "Announces a length that is not a number.", .anyFailure, "Content-Length: five"),
            with("length-hexadecimal", "Announces a length in hexadecimal digits.", .anyFailure, "Content-Length: 0x5"),
            with("length-empty", "Sends an empty Content-Length.", .helloOrFailure, "Content-Length:"),
            with("length-with-plus", "Announces +5 bytes.", .helloOrFailure, "Content-Length: +5"),
            with("length-padded", "Announces a length with leading zeros.", .helloOrFailure, "Content-Length: 0005"),
            with(
                "lengths-that-differ", "Sends two Content-Length fields that contradict each other.", .anyFailure,
                "Content-Length: 5\r\nContent-Length: 3"),
            with(
                "lengths-that-agree", "Sends the same Content-Length twice.", .helloOrFailure, "Content-Length: 5\r\nContent-Length: 5"),
            with("length-as-list", "Sends its Content-Length as a list.", .helloOrFailure, "Content-Length: 5, 5"),
            with(
                "length-and-chunked", "Sends both a Content-Length and chunks; the chunks count.", .helloOrFailure,
                "Content-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close", body: "5\r\nhello\r\n0\r\n\r\n"),
            with("no-length", "Ends the body by closing.", .hello, textField),
            with("no-length-half-close", "Ends the body by ending its stream, and keeps reading.", .hello, textField, then: .halfClose),
            with("no-length-reset", "Sends a body without a length, then resets.", .connectionLost, textField, then: .reset),
            with(
                "no-length-stall", "Sends a body without a length, and neither continues nor closes.", .timesOut, textField, then: .stall),
            raw(
                "length-of-int64-max", "Announces the largest length that 64 bits hold, sends 5 bytes and closes.", expecting: .truncated,
                onlyOutOfProcess: true, "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello"),
            raw(
                "body-with-204", "Sends a body with 204, which can't have one.", expecting: .successOrFailure(status: 204, body: ""),
                "HTTP/1.1 204 No Content\r\n\(shortFields)"),
            raw(
                "unasked-304", "Responds with 304 to a request without conditions, with a Content-Length.",
                expecting: .success(status: 304, body: ""),
                "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"),
        ]
    }()
}
