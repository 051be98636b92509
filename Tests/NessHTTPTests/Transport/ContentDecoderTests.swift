#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP
@testable import NessTesting

/// The removal of content codings, piece by piece, and no further than there is room.
@Suite(.inTurn, .enabled(if: BodyInflater.isAvailable)) struct ContentDecoderTests {
    /// Decodes a body that arrives in pieces, with room for a number of bytes at a time.
    private func decode(_ body: Data, _ codings: String..., pieces: Int = .max, room: Int = 1 << 16) throws -> Data {
        let decoder = try #require(ContentDecoder(codings))
        var rest = Array(body)[...], decoded = Data()
        while !rest.isEmpty {
            #expect(!decoder.hasRest)
            Array(rest.prefix(pieces)).withUnsafeBufferPointer { decoder.add($0) }
            rest = rest.dropFirst(pieces)
            while decoder.hasRest {
                try decoder.decode(upTo: room) { bytes in
                    #expect((1...room).contains(bytes.count))
                    decoded.append(bytes)
                }
            }
        }
        try decoder.finish()
        return decoded
    }

    private static let hello = Data("hello".utf8)

    @Test("gzip, zlib's format and raw DEFLATE are decoded, wherever the pieces end", arguments: [1, 2, 3, 7, 1_000], [1, 2, 1_000])
    func formats(pieces: Int, room: Int) throws {
        for (body, coding) in [
            (CompressedBodies.gzipHello, "gzip"), (CompressedBodies.gzipHelloNamed, "x-gzip"), (CompressedBodies.zlibHello, "deflate"),
            (CompressedBodies.rawDeflateHello, "deflate"),
        ] {
            #expect(try decode(body, coding, pieces: pieces, room: room) == Self.hello)
        }
        #expect(try decode(CompressedBodies.gzipTwiceHello, "gzip", "gzip", pieces: pieces, room: room) == Self.hello)
        #expect(try decode(CompressedBodies.gzipSquares, "gzip", pieces: pieces, room: room) == Data(CompressedBodies.squares.utf8))
    }

    @Test("a gzip body may have several members", arguments: [1, 5, 1_000])
    func members(pieces: Int) throws {
        let three = CompressedBodies.gzipHello + CompressedBodies.gzipHelloNamed + CompressedBodies.gzipHello
        #expect(try decode(three, "gzip", pieces: pieces) == Data("hellohellohello".utf8))
    }

    @Test("a body that ends early is an error, at any byte; an empty body is not", arguments: [1, 1_000])
    func truncated(pieces: Int) throws {
        for (body, coding) in [(CompressedBodies.gzipHello, "gzip"), (CompressedBodies.zlibHello, "deflate")] {
            for count in 1..<body.count {
                let error = #expect(throws: TransportError.self) { try decode(body.prefix(count), coding, pieces: pieces) }
                #expect(error?.kind == .truncated, "\(coding), \(count) bytes")
            }
            #expect(try decode(Data(), coding) == Data())
        }
        // The outer coding is whole, the inner one is not.
        let gzip = CompressedBodies.gzipTwiceHello
        for count in 1..<gzip.count {
            #expect(throws: TransportError.self) { try decode(gzip.prefix(count), "gzip", "gzip", pieces: pieces) }
        }
        // The second member is cut.
        let error = #expect(throws: TransportError.self) {
            try decode(CompressedBodies.gzipHello + CompressedBodies.gzipHello.prefix(9), "gzip", pieces: pieces)
        }
        #expect(error?.kind == .truncated)
    }

    @Test("bytes after the end and damaged bytes are errors", arguments: [1, 1_000])
    func damaged(pieces: Int) {
        for (body, coding) in [
            (CompressedBodies.gzipHello + Data("x".utf8), "gzip"), (CompressedBodies.gzipHello + Data([0]), "gzip"),
            (CompressedBodies.zlibHello + Data("x".utf8), "deflate"), (CompressedBodies.rawDeflateHello + Data("x".utf8), "deflate"),
            (CompressedBodies.gzipHelloBadChecksum, "gzip"), (CompressedBodies.gzipHelloBadLength, "gzip"),
            (CompressedBodies.gzipHello + Data([0x1F, 0]), "gzip"), (Data("hello, this is plain text".utf8), "gzip"),
            (Data(repeating: 0xFF, count: 100), "deflate"),
        ] {
            let error = #expect(throws: TransportError.self) { try decode(body, coding, pieces: pieces) }
            #expect(error?.kind == .malformedResponse, "\(coding) \(Array(body.suffix(4)))")
        }
    }

    @Test("unknown codings, none, and more than two are not accepted")
    func codings() {
        #expect(ContentDecoder([]) == nil && ContentDecoder(["br"]) == nil && ContentDecoder(["gzip", "br"]) == nil)
        #expect(ContentDecoder(["gzip", "gzip"]) != nil && ContentDecoder(["gzip", "gzip", "gzip"]) == nil)
    }

    @Test("a piece that expands a thousandfold is decoded no further than there is room, and continues from there")
    func bomb() throws {
        let decoder = try #require(ContentDecoder(["gzip"])), bomb = CompressedBodies.gzipBomb
        Array(bomb).withUnsafeBufferPointer { decoder.add($0) }
        var total = 0, calls = 0
        while decoder.hasRest {
            try decoder.decode(upTo: 10_000) { bytes in
                #expect(bytes.count <= 10_000)
                total += bytes.count
            }
            calls += 1
        }
        try decoder.finish()
        #expect(total == 64 << 20 && calls > total / 10_000)
    }
}
#endif
