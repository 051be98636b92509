import Foundation

extension Misbehavior {
    /// Compressed bodies that are cut short, damaged or not in the declared coding. For clients that decode them.
    static let compressions: [Misbehavior] = {
        /// The framing of the body.
        enum Framing { case length, chunked, close }
        func encoded(
            _ name: String, _ summary: String, _ expectation: Expectation, _ body: Data, as encoding: String = "gzip",
            framing: Framing = .length
        ) -> Misbehavior {
            let fields =
                switch framing {
                case .length: "Content-Length: \(body.count)\r\n\r\n"
                case .close: "\r\n"
                case .chunked: "Transfer-Encoding: chunked\r\n\r\n\(String(body.count, radix: 16))\r\n"
                }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: \(encoding)\r\nConnection: close\r\n\(fields)"
            let message = Data(head.utf8) + body + Data((framing == .chunked ? "\r\n0\r\n\r\n" : "").utf8)
            return Misbehavior(name, summary, expecting: expectation) { _ in [.receiveRequest, .sendData(message), .close] }
        }
        let squares = Expectation.success(status: 200, body: CompressedBodies.squares)
        let gzip = CompressedBodies.gzipHello, long = CompressedBodies.gzipSquares, half = long.prefix(250), text = Data("hello".utf8)
        return [
            encoded("gzip", "Sends a sound gzip body.", .hello, gzip),
            encoded("gzip-chunked", "Sends a sound gzip body in chunks.", squares, long, framing: .chunked),
            encoded("gzip-no-length", "Sends a sound gzip body and closes.", squares, long, framing: .close),
            encoded("gzip-by-old-name", "Calls gzip x-gzip.", .helloOrFailure, gzip, as: "x-gzip"),
            encoded("gzip-with-name", "Sends a gzip body with a file name in it.", .hello, CompressedBodies.gzipHelloNamed),
            encoded("gzip-cut", "Cuts a gzip body short, with a length that agrees.", .anyFailure, half),
            encoded("gzip-cut-chunked", "Cuts a gzip body short, with a proper last chunk.", .anyFailure, half, framing: .chunked),
            encoded("gzip-cut-no-length", "Cuts a gzip body short by closing.", .anyFailure, half, framing: .close),
            encoded("gzip-cut-in-header", "Sends the first bytes of a gzip header only.", .anyFailure, long.prefix(6)),
            encoded(
                "gzip-cut-in-trailer", "Leaves out the end of a gzip body, with its checksum.", .anyFailure, long.dropLast(6),
                framing: .close),
            encoded("gzip-bad-checksum", "Sends gzip with a wrong checksum.", .anyFailure, CompressedBodies.gzipHelloBadChecksum),
            encoded("gzip-bad-length", "Sends gzip with a wrong length at its end.", .anyFailure, CompressedBodies.gzipHelloBadLength),
            encoded(
                "gzip-damaged", "Sends gzip with damaged bytes in the middle.", .anyFailure,
                long.prefix(100) + Data(repeating: 0xFF, count: 50) + long.dropFirst(150)),
            encoded("gzip-of-text", "Claims gzip for plain text.", .anyFailure, text),
            encoded("gzip-empty", "Claims gzip for an empty body.", .successOrFailure(status: 200, body: ""), Data()),
            encoded("gzip-padded", "Sends zero bytes behind a gzip body.", .helloOrFailure, gzip + Data(count: 5_000)),
            encoded("gzip-garbage-behind", "Sends text behind a gzip body.", .helloOrFailure, gzip + Data("garbage".utf8)),
            encoded(
                "gzip-twice", "Compresses twice, and says so.", .helloOrFailure, CompressedBodies.gzipTwiceHello, as: "gzip, gzip"),
            encoded("gzip-bomb", "Sends 64 MiB of zeros in 66 KB of gzip.", .tooLarge, CompressedBodies.gzipBomb),
            encoded("deflate", "Sends a sound deflate body.", .hello, CompressedBodies.zlibHello, as: "deflate"),
            encoded(
                "deflate-without-zlib", "Sends deflate without zlib's framing, as old servers did.", .helloOrFailure,
                CompressedBodies.rawDeflateHello, as: "deflate"),
            encoded("deflate-of-text", "Claims deflate for plain text.", .anyFailure, text, as: "deflate"),
            encoded("unknown-content-encoding", "Claims an encoding that does not exist.", .helloOrFailure, text, as: "banana"),
            encoded("identity-encoding", "Claims the encoding identity.", .helloOrFailure, text, as: "identity"),
        ]
    }()
}
