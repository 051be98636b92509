import Foundation

extension Misbehavior {
    /// Compressed bodies that are cut short, damaged or not in the declared coding. For clients that decode them.
    static let compressions: [Misbehavior] = {
        /// The framing of the body.
        enum Framing { case length, chunked, close }
        func encoded(
            _ name: String, _ summary: String, expecting expectation: Expectation, _ body: @escaping @Sendable () -> Data,
            as encoding: String = "gzip", framing: Framing = .length
        ) -> Misbehavior {
            Misbehavior(name, summary, expecting: expectation) { _ in
                let body = body()
                var message = Data(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: \(encoding)\r\nConnection: close\r\n".utf8)
                switch framing {
                case .length: message += Data("Content-Length: \(body.count)\r\n\r\n".utf8) + body
                case .close: message += Data("\r\n".utf8) + body
                case .chunked:
                    message += Data("Transfer-Encoding: chunked\r\n\r\n\(String(body.count, radix: 16))\r\n".utf8) + body
                    message += Data("\r\n0\r\n\r\n".utf8)
                }
                return [.receiveRequest, .sendData(message), .close]
            }
        }
        let hello = Expectation.success(status: 200, body: "hello")
        let helloOrFailure = Expectation.successOrFailure(status: 200, body: "hello")
        let squares = Expectation.success(status: 200, body: CompressedBodies.squares)
        var list: [Misbehavior] = []
        list.append(encoded("gzip", "Sends a sound gzip body.", expecting: hello, { CompressedBodies.gzipHello }))
        list.append(
            encoded(
                "gzip-chunked", "Sends a sound gzip body in chunks.", expecting: squares, { CompressedBodies.gzipSquares },
                framing: .chunked))
        list.append(
            encoded(
                "gzip-no-length", "Sends a sound gzip body and closes.", expecting: squares, { CompressedBodies.gzipSquares },
                framing: .close))
        list.append(
            encoded("gzip-by-old-name", "Calls gzip x-gzip.", expecting: helloOrFailure, { CompressedBodies.gzipHello }, as: "x-gzip"))
        list.append(
            encoded("gzip-with-name", "Sends a gzip body with a file name in it.", expecting: hello, { CompressedBodies.gzipHelloNamed }))
        let half: @Sendable () -> Data = { CompressedBodies.gzipSquares.prefix(250) }
        list.append(encoded("gzip-cut", "Cuts a gzip body short, with a length that agrees.", expecting: .anyFailure, half))
        list.append(
            encoded(
                "gzip-cut-chunked", "Cuts a gzip body short, with a proper last chunk.", expecting: .anyFailure, half, framing: .chunked))
        list.append(encoded("gzip-cut-no-length", "Cuts a gzip body short by closing.", expecting: .anyFailure, half, framing: .close))
        list.append(
            encoded(
                "gzip-cut-in-header", "Sends the first bytes of a gzip header only.", expecting: .anyFailure,
                { CompressedBodies.gzipSquares.prefix(6) }))
        list.append(
            encoded(
                "gzip-cut-in-trailer", "Leaves out the end of a gzip body, with its checksum.", expecting: .anyFailure,
                { CompressedBodies.gzipSquares.dropLast(6) }, framing: .close))
        list.append(
            encoded(
                "gzip-bad-checksum", "Sends gzip with a wrong checksum.", expecting: .anyFailure, { CompressedBodies.gzipHelloBadChecksum })
        )
        list.append(
            encoded(
                "gzip-bad-length", "Sends gzip with a wrong length at its end.", expecting: .anyFailure,
                { CompressedBodies.gzipHelloBadLength }))
        list.append(
            encoded(
                "gzip-damaged", "Sends gzip with damaged bytes in the middle.", expecting: .anyFailure,
                {
                    CompressedBodies.gzipSquares.prefix(100) + Data(repeating: 0xFF, count: 50)
                        + CompressedBodies.gzipSquares.dropFirst(150)
                }))
        list.append(encoded("gzip-of-text", "Claims gzip for plain text.", expecting: .anyFailure, { Data("hello".utf8) }))
        list.append(
            encoded("gzip-empty", "Claims gzip for an empty body.", expecting: .successOrFailure(status: 200, body: ""), { Data() }))
        list.append(
            encoded(
                "gzip-garbage-behind", "Sends text behind a gzip body.", expecting: helloOrFailure,
                { CompressedBodies.gzipHello + Data("garbage".utf8) }))
        list.append(
            encoded(
                "gzip-twice", "Compresses twice, and says so.", expecting: helloOrFailure, { CompressedBodies.gzipTwiceHello },
                as: "gzip, gzip"))
        list.append(encoded("gzip-bomb", "Sends 64 MiB of zeros in 66 KB of gzip.", expecting: .tooLarge, { CompressedBodies.gzipBomb }))
        list.append(encoded("deflate", "Sends a sound deflate body.", expecting: hello, { CompressedBodies.zlibHello }, as: "deflate"))
        list.append(
            encoded(
                "deflate-without-zlib", "Sends deflate without zlib's framing, as old servers did.", expecting: helloOrFailure,
                { CompressedBodies.rawDeflateHello }, as: "deflate"))
        list.append(
            encoded("deflate-of-text", "Claims deflate for plain text.", expecting: .anyFailure, { Data("hello".utf8) }, as: "deflate"))
        list.append(
            encoded(
                "unknown-content-encoding", "Claims an encoding that does not exist.", expecting: helloOrFailure, { Data("hello".utf8) },
                as: "banana"))
        list.append(
            encoded("identity-encoding", "Claims the encoding identity.", expecting: helloOrFailure, { Data("hello".utf8) }, as: "identity")
        )
        return list
    }()
}
