import Foundation

extension Misbehavior {
    /// Chunked bodies that are cut short or malformed, and unusual ones that are valid.
    static let chunks: [Misbehavior] = {
        func chunked(
            _ name: String, _ summary: String, _ expectation: Expectation, onlyOutOfProcess: Bool = false, _ body: String,
            then last: ConnectionStep = .close
        ) -> Misbehavior {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            return raw(name, summary, expecting: expectation, onlyOutOfProcess: onlyOutOfProcess, head + body, then: last)
        }
        let whole = "5\r\nhello\r\n0\r\n\r\n", extensionOf1MiB = String(repeating: "b", count: 1 << 20)
        return [
            chunked("chunk-size-of-letters", "Sends a chunk size that is not a number.", .anyFailure, "xyz\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-negative", "Sends a negative chunk size.", .anyFailure, "-\(whole)"),
            chunked("chunk-size-empty", "Sends an empty chunk size.", .anyFailure, "\r\nhello\r\n0\r\n\r\n"),
            chunked(
                "chunk-size-overflow", "Sends a chunk size of more than 64 bits.", .anyFailure,
                "10000000000000005\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-huge", "Sends a chunk size of 8 EiB.", .anyFailure, "7fffffffffffffff\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-too-small", "Sends more than the chunk size says.", .anyFailure, "3\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-too-large", "Sends less than the chunk size says, and closes.", .truncated, "20\r\nhello"),
            chunked("chunk-without-crlf", "Leaves out the line end behind a chunk.", .anyFailure, "5\r\nhello0\r\n\r\n"),
            chunked("chunked-nothing", "Announces chunks, sends none and closes.", .truncated, ""),
            chunked("chunked-cut-in-size", "Closes inside a chunk size.", .truncated, "5\r\nhello\r\n1"),
            chunked("chunked-cut-in-chunk", "Closes inside a chunk.", .truncated, "5\r\nhello\r\n5\r\nwo"),
            chunked("chunked-without-end", "Closes without the last chunk.", .truncated, "5\r\nhello\r\n"),
            chunked("chunked-cut-in-end", "Closes behind the last chunk's line.", .helloOrFailure, "5\r\nhello\r\n0\r\n"),
            chunked("chunked-half-close", "Ends its stream without the last chunk.", .truncated, "5\r\nhello\r\n", then: .halfClose),
            chunked("chunked-reset", "Resets behind a chunk.", .connectionLost, "5\r\nhello\r\n", then: .reset),
            chunked("chunked-stall", "Stands still behind a chunk.", .timesOut, "5\r\nhello\r\n", then: .stall),
            chunked("chunk-extensions", "Sends chunk extensions.", .hello, "5;a=b;c=\"d\"\r\nhello\r\n0;last\r\n\r\n"),
            chunked(
                "chunk-extension-of-1-mib", "Sends a chunk extension of 1 MiB.", .helloOrFailure,
                "5;a=\(extensionOf1MiB)\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-padded", "Pads a chunk size with zeros.", .helloOrFailure, "000000\(whole)"),
            chunked(
                "chunk-of-one-byte-each", "Sends every byte as a chunk.", .hello,
                "hello".map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"),
            chunked("chunked-bare-lf", "Ends the chunks' lines with LF alone.", .helloOrFailure, "5\nhello\n0\n\n"),
            chunked("chunked-garbage-behind", "Sends text behind the last chunk.", .helloOrFailure, "\(whole)garbage"),
            chunked(
                "chunked-trailers", "Sends trailer fields, which is allowed.", .hello, onlyOutOfProcess: true,
                "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
            chunked(
                "chunked-trailers-broken", "Sends a trailer line without a colon.", .helloOrFailure,
                "5\r\nhello\r\n0\r\nbroken\r\n\r\n"),
            chunked("chunked-trailers-cut", "Closes inside the trailer fields.", .helloOrFailure, "5\r\nhello\r\n0\r\nX-Sum"),
            Misbehavior("chunked-endless-trailers", "Sends trailer fields that never end.", expecting: .anyFailure, onlyOutOfProcess: true)
            { _ in
                let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
                return [.receiveRequest, .send(head), .sendUntilClosed(endlessFields)]
            },
            raw(
                "unknown-transfer-encoding", "Sends a transfer encoding that does not exist.", expecting: .anyFailure,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: banana\r\n\r\nhello"),
            raw(
                "chunked-twice", "Announces chunks twice and sends them once.", expecting: .helloOrFailure,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\(whole)"),
            raw(
                "chunked-by-http-1-0", "Sends chunks with HTTP/1.0, which has none.", expecting: .helloOrFailure,
                "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(whole)"),
        ]
    }()
}
