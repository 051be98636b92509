extension Misbehavior {
    /// Content-Length fields that are wrong, contradictory or not numbers.
    static let lengths: [Misbehavior] = {
        func withLength(
            _ name: String, _ summary: String, expecting expectation: Expectation, _ fields: String, body: String = "hello",
            then last: ConnectionStep = .close
        ) -> Misbehavior {
            raw(name, summary, expecting: expectation, "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(body)", then: last)
        }
        let hello = Expectation.success(status: 200, body: "hello")
        let helloOrFailure = Expectation.successOrFailure(status: 200, body: "hello")
        return [
            withLength("length-too-long", "Announces 10 bytes, sends 5 and closes.", expecting: .truncated, "Content-Length: 10"),
            withLength("length-one-too-long", "Announces one byte more than it sends.", expecting: .truncated, "Content-Length: 6"),
            withLength(
                "length-without-body", "Announces 10 bytes, sends none and closes.", expecting: .truncated, "Content-Length: 10", body: ""),
            withLength(
                "length-huge", "Announces 4 EiB, sends 5 bytes and closes.", expecting: .truncated, "Content-Length: 4611686018427387904"),
            withLength(
                "length-overflow", "Announces more bytes than 64 bits count, sends 5 and closes.", expecting: .anyFailure,
                "Content-Length: 99999999999999999999"),
            withLength(
                "length-too-short", "Announces 5 bytes and sends more.", expecting: helloOrFailure, "Content-Length: 5", body: "hello world"
            ),
            withLength(
                "length-zero-with-body", "Announces an empty body and sends one.", expecting: .successOrFailure(status: 200, body: ""),
                "Content-Length: 0"),
            withLength("length-negative", "Announces -1 bytes.", expecting: .anyFailure, "Content-Length: -1"),
            withLength("length-of-letters", "Announces a length that is not a number.", expecting: .anyFailure, "Content-Length: five"),
            withLength("length-hexadecimal", "Announces a length in hexadecimal digits.", expecting: .anyFailure, "Content-Length: 0x5"),
            withLength("length-empty", "Sends an empty Content-Length.", expecting: helloOrFailure, "Content-Length:"),
            withLength("length-with-plus", "Announces +5 bytes.", expecting: helloOrFailure, "Content-Length: +5"),
            withLength("length-padded", "Announces a length with leading zeros.", expecting: helloOrFailure, "Content-Length: 0005"),
            withLength(
                "lengths-that-differ", "Sends two Content-Length fields that contradict each other.", expecting: .anyFailure,
                "Content-Length: 5\r\nContent-Length: 3"),
            withLength(
                "lengths-that-agree", "Sends the same Content-Length twice.", expecting: helloOrFailure,
                "Content-Length: 5\r\nContent-Length: 5"),
            withLength("length-as-list", "Sends its Content-Length as a list.", expecting: helloOrFailure, "Content-Length: 5, 5"),
            withLength(
                "length-and-chunked", "Sends both a Content-Length and chunks; the chunks count.", expecting: helloOrFailure,
                "Content-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close", body: "5\r\nhello\r\n0\r\n\r\n"),
            withLength("no-length", "Ends the body by closing.", expecting: hello, "Content-Type: text/plain"),
            withLength(
                "no-length-half-close", "Ends the body by ending its stream, and keeps reading.", expecting: hello,
                "Content-Type: text/plain",
                then: .halfClose),
            withLength(
                "no-length-reset", "Sends a body without a length, then resets.", expecting: .connectionLost, "Content-Type: text/plain",
                then: .reset),
            withLength(
                "no-length-stall", "Sends a body without a length, and neither continues nor closes.", expecting: .timesOut,
                "Content-Type: text/plain", then: .stall),
            raw(
                "length-of-int64-max", "Announces the largest length that 64 bits hold, sends 5 bytes and closes.", expecting: .truncated,
                onlyOutOfProcess: true, "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello"),
            raw(
                "body-with-204", "Sends a body with 204, which can't have one.", expecting: .successOrFailure(status: 204, body: ""),
                "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
            raw(
                "unasked-304", "Responds with 304 to a request without conditions, with a Content-Length.",
                expecting: .success(status: 304, body: ""),
                "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"),
        ]
    }()
}
