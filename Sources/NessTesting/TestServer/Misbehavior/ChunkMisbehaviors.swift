import Foundation

extension Misbehavior {
    /// Chunked bodies that are cut short or malformed, and unusual ones that are valid.
    static let chunks: [Misbehavior] = {
        func chunked(
            _ name: String, _ summary: String, expecting expectation: Expectation, onlyOutOfProcess: Bool = false, _ body: String,
            then last: ConnectionStep = .close
        ) -> Misbehavior {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            return raw(name, summary, expecting: expectation, onlyOutOfProcess: onlyOutOfProcess, head + body, then: last)
        }
        let hello = Expectation.success(status: 200, body: "hello")
        let helloOrFailure = Expectation.successOrFailure(status: 200, body: "hello")
        var list: [Misbehavior] = [
            chunked(
                "chunk-size-of-letters", "Sends a chunk size that is not a number.", expecting: .anyFailure, "xyz\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-negative", "Sends a negative chunk size.", expecting: .anyFailure, "-5\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-empty", "Sends an empty chunk size.", expecting: .anyFailure, "\r\nhello\r\n0\r\n\r\n"),
            chunked(
                "chunk-size-overflow", "Sends a chunk size of more than 64 bits.", expecting: .anyFailure,
                "10000000000000005\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-huge", "Sends a chunk size of 8 EiB.", expecting: .anyFailure, "7fffffffffffffff\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-too-small", "Sends more than the chunk size says.", expecting: .anyFailure, "3\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-too-large", "Sends less than the chunk size says, and closes.", expecting: .truncated, "20\r\nhello"),
            chunked("chunk-without-crlf", "Leaves out the line end behind a chunk.", expecting: .anyFailure, "5\r\nhello0\r\n\r\n"),
            chunked("chunked-nothing", "Announces chunks, sends none and closes.", expecting: .truncated, ""),
            chunked("chunked-cut-in-size", "Closes inside a chunk size.", expecting: .truncated, "5\r\nhello\r\n1"),
            chunked("chunked-cut-in-chunk", "Closes inside a chunk.", expecting: .truncated, "5\r\nhello\r\n5\r\nwo"),
            chunked("chunked-without-end", "Closes without the last chunk.", expecting: .truncated, "5\r\nhello\r\n"),
            chunked("chunked-cut-in-end", "Closes behind the last chunk's line.", expecting: helloOrFailure, "5\r\nhello\r\n0\r\n"),
            chunked(
                "chunked-half-close", "Ends its stream without the last chunk.", expecting: .truncated, "5\r\nhello\r\n", then: .halfClose),
            chunked("chunked-reset", "Resets behind a chunk.", expecting: .connectionLost, "5\r\nhello\r\n", then: .reset),
            chunked("chunked-stall", "Stands still behind a chunk.", expecting: .timesOut, "5\r\nhello\r\n", then: .stall),
            chunked("chunk-extensions", "Sends chunk extensions.", expecting: hello, "5;a=b;c=\"d\"\r\nhello\r\n0;last\r\n\r\n"),
            chunked(
                "chunk-extension-of-1-mib", "Sends a chunk extension of 1 MiB.", expecting: helloOrFailure,
                "5;a=" + String(repeating: "b", count: 1 << 20) + "\r\nhello\r\n0\r\n\r\n"),
            chunked("chunk-size-padded", "Pads a chunk size with zeros.", expecting: helloOrFailure, "0000005\r\nhello\r\n0\r\n\r\n"),
            chunked(
                "chunk-of-one-byte-each", "Sends every byte as a chunk.", expecting: hello,
                "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n"),
            chunked("chunked-bare-lf", "Ends the chunks' lines with LF alone.", expecting: helloOrFailure, "5\nhello\n0\n\n"),
            chunked(
                "chunked-garbage-behind", "Sends text behind the last chunk.", expecting: helloOrFailure, "5\r\nhello\r\n0\r\n\r\ngarbage"),
            chunked(
                "chunked-trailers", "Sends trailer fields, which is allowed.", expecting: hello, onlyOutOfProcess: true,
                "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
            chunked(
                "chunked-trailers-broken", "Sends a trailer line without a colon.", expecting: helloOrFailure,
                "5\r\nhello\r\n0\r\nbroken\r\n\r\n"),
            chunked(
                "chunked-trailers-cut", "Closes inside the trailer fields.", expecting: helloOrFailure,
                "5\r\nhello\r\n0\r\nX-Sum"),
        ]
        list.append(
            Misbehavior("chunked-endless-trailers", "Sends trailer fields that never end.", expecting: .anyFailure, onlyOutOfProcess: true)
            { _ in
                let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
                let fields = Data(String(repeating: "X-Endless: 0123456789\r\n", count: 500).utf8)
                return [.receiveRequest, .send(head), .sendUntilClosed(fields)]
            })
        list.append(
            raw(
                "unknown-transfer-encoding", "Sends a transfer encoding that does not exist.", expecting: .anyFailure,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: banana\r\n\r\nhello"))
        list.append(
            raw(
                "chunked-twice", "Announces chunks twice and sends them once.", expecting: helloOrFailure,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            ))
        list.append(
            raw(
                "chunked-by-http-1-0", "Sends chunks with HTTP/1.0, which has none.", expecting: helloOrFailure,
                "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
        return list
    }()
}
