#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP
@testable import NessTesting

/// The removal of content codings, piece by piece, and no further than there is room.
@Suite(.inTurn, .enabled(if: !BodyInflater.codings.isEmpty)) struct ContentDecoderTests {
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

    /// `hello` in each coding that this process can decode, the squares, and 64 MiB of zeros.
    private static let samples: [(coding: String, hello: Data, squares: Data, bomb: Data)] = [
        ("gzip", CompressedBodies.gzipHello, CompressedBodies.gzipSquares, CompressedBodies.gzipBomb),
        ("br", CompressedBodies.brotliHello, CompressedBodies.brotliSquares, CompressedBodies.brotliBomb),
        ("zstd", CompressedBodies.zstandardHello, CompressedBodies.zstandardSquares, CompressedBodies.zstandardBomb),
    ].filter { BodyInflater.codings.contains($0.coding) }

    @Test("the libraries of Brotli and Zstandard are present wherever the tests run, and a request names their codings")
    func available() throws {
        #expect(BodyInflater.codings == ["gzip", "deflate", "br", "zstd"])
        let lines = try CurlHeaderLines.make(HTTPRequest(url: try #require(URL(string: "http://a.test"))), expectsContinue: false)
        #expect(lines.split(separator: "\0").contains("Accept-Encoding: gzip, br, zstd"))
    }

    @Test("gzip, zlib's format and raw DEFLATE are decoded, wherever the pieces end", arguments: [1, 2, 3, 7, 1_000], [1, 2, 1_000])
    func formats(pieces: Int, room: Int) throws {
        for (body, coding) in [
            (CompressedBodies.gzipHello, "gzip"), (CompressedBodies.gzipHelloNamed, "x-gzip"), (CompressedBodies.zlibHello, "deflate"),
            (CompressedBodies.rawDeflateHello, "deflate"),
        ] + Self.samples.map({ ($0.hello, $0.coding) }) {
            #expect(try decode(body, coding, pieces: pieces, room: room) == Self.hello)
        }
        #expect(try decode(CompressedBodies.gzipTwiceHello, "gzip", "gzip", pieces: pieces, room: room) == Self.hello)
        for sample in Self.samples {
            #expect(try decode(sample.squares, sample.coding, pieces: pieces, room: room) == Data(CompressedBodies.squares.utf8))
        }
    }

    @Test("a gzip body may have several members, one of Zstandard several frames", arguments: [1, 5, 1_000])
    func members(pieces: Int) throws {
        let three = CompressedBodies.gzipHello + CompressedBodies.gzipHelloNamed + CompressedBodies.gzipHello
        #expect(try decode(three, "gzip", pieces: pieces) == Data("hellohellohello".utf8))
        let hello = CompressedBodies.zstandardHello
        // Four bytes that decoders skip (RFC 8878, 3.1.2).
        let skipped = Data([0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4])
        #expect(try decode(hello + skipped + hello, "zstd", pieces: pieces) == Data("hellohello".utf8))
    }

    @Test("zero bytes after a gzip body or one of its members are padding, wherever the pieces end", arguments: [1, 2, 7, 1_000])
    func padding(pieces: Int) throws {
        let hello = CompressedBodies.gzipHello
        for count in [1, 2, 511, 5_000] {
            #expect(try decode(hello + Data(count: count), "gzip", pieces: pieces) == Self.hello)
            let two = hello + Data(count: count) + hello + Data(count: count)
            #expect(try decode(two, "gzip", pieces: pieces) == Data("hellohello".utf8))
            // The inner body is padded, and the outer one as well.
            #expect(try decode(CompressedBodies.gzipTwiceHello + Data(count: count), "gzip", "gzip", pieces: pieces) == Self.hello)
            let error = #expect(throws: TransportError.self) {
                try decode(hello + Data(count: count) + hello.dropLast(), "gzip", pieces: pieces)
            }
            #expect(error?.kind == .truncated)
        }
        let body = HTTPBody(hello + Data(count: 5_000)), zipped = try #require(try body.gzipped().data)
        #expect(try decode(zipped, "gzip", "gzip", pieces: pieces) == Self.hello)
    }

    @Test("a body fails after 1 MiB that decodes to nothing, which no limit of decoded bytes would end")
    func idle() throws {
        let limit = BodyInflater.idleLimit, hello = CompressedBodies.gzipHello
        // A member without content, and a block of DEFLATE without content (RFC 1951, 3.2.4).
        let empty = try #require(try HTTPBody(Data()).gzipped().data), block = Data([0, 0, 0, 0xFF, 0xFF])
        let start = CompressedBodies.rawDeflateHello.count
        for (count, isTooLong) in [(limit - 30, false), (limit + (1 << 16), true)] {
            let bodies: [(Data, String)] = [
                (hello + Data(count: count), "gzip"),
                (hello + Data((0..<count / empty.count).flatMap { _ in empty }), "gzip"),
                (Data((0..<(count - start) / block.count).flatMap { _ in block }) + CompressedBodies.rawDeflateHello, "deflate"),
            ]
            for (body, coding) in bodies {
                if isTooLong {
                    let error = #expect(throws: TransportError.self) { try decode(body, coding, pieces: 16_384) }
                    #expect(error?.kind == .malformedResponse)
                } else {
                    #expect(try decode(body, coding, pieces: 16_384) == Self.hello)
                }
            }
        }
    }

    @Test("a coding inside another one is decoded, even if the outer one yields nothing for a long time", arguments: samples.map(\.coding))
    func nested(coding: String) throws {
        let hello = try #require(Self.samples.first { $0.coding == coding }).hello
        /// A block of DEFLATE that is stored uncompressed (RFC 1951, 3.2.4).
        func stored(_ bytes: Data, isLast: Bool = false) -> Data {
            Data([isLast ? 1 : 0, UInt8(bytes.count), 0, ~UInt8(bytes.count), 0xFF]) + bytes
        }
        let idle = Data((0..<20).flatMap { _ in stored(Data()) })
        let body = idle + stored(hello.prefix(7)) + idle + stored(hello.dropFirst(7), isLast: true)
        #expect(try decode(body, coding, "deflate", pieces: 1) == Self.hello)
    }

    @Test("a body of Zstandard may not require a window of more than 8 MiB (RFC 9659)")
    func window() throws {
        func body(window: UInt8) -> Data { Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, window, 0x03, 0x00, 0x10, 0x00]) }
        #expect(try decode(body(window: 13 << 3), "zstd") == Data(count: 128 << 10))
        let error = #expect(throws: TransportError.self) { try decode(body(window: 14 << 3), "zstd") }
        #expect(error?.kind == .malformedResponse)
    }

    @Test("a body that ends early is an error, at any byte; an empty body is not", arguments: [1, 1_000])
    func truncated(pieces: Int) throws {
        for (body, coding) in [(CompressedBodies.zlibHello, "deflate")] + Self.samples.map({ ($0.hello, $0.coding) }) {
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
        let bodies: [(Data, String)] = [
            (CompressedBodies.gzipHello + Data("x".utf8), "gzip"), (CompressedBodies.gzipHello + Data([0, 0, 10]), "gzip"),
            (Data(count: 100) + CompressedBodies.gzipHello, "gzip"), (CompressedBodies.zlibHello + Data([0]), "deflate"),
            (CompressedBodies.zlibHello + Data("x".utf8), "deflate"), (CompressedBodies.rawDeflateHello + Data("x".utf8), "deflate"),
            (CompressedBodies.gzipHelloBadChecksum, "gzip"), (CompressedBodies.gzipHelloBadLength, "gzip"),
            (CompressedBodies.gzipHello + Data([0x1F, 0]), "gzip"), (Data("hello, this is plain text".utf8), "gzip"),
            (Data(repeating: 0xFF, count: 100), "deflate"), (CompressedBodies.brotliHello + Data("x".utf8), "br"),
            (Data(repeating: 0xFF, count: 100), "br"), (CompressedBodies.zstandardHello + Data("no frame".utf8), "zstd"),
            (CompressedBodies.zstandardHello.dropLast() + Data([0]), "zstd"), (Data("hello, this is plain text".utf8), "zstd"),
        ]
        for (body, coding) in bodies {
            let error = #expect(throws: TransportError.self) { try decode(body, coding, pieces: pieces) }
            #expect(error?.kind == .malformedResponse, "\(coding) \(Array(body.suffix(4)))")
        }
    }

    @Test("unknown codings, none, and more than two are not accepted")
    func codings() {
        #expect(ContentDecoder([]) == nil && ContentDecoder(["own"]) == nil && ContentDecoder(["gzip", "own"]) == nil)
        #expect(ContentDecoder(["gzip", "gzip"]) != nil && ContentDecoder(["gzip", "gzip", "gzip"]) == nil)
    }

    @Test(
        "a piece that expands a thousandfold is decoded no further than there is room, and continues from there",
        arguments: samples.map(\.coding))
    func bomb(coding: String) throws {
        let decoder = try #require(ContentDecoder([coding])), sample = try #require(Self.samples.first { $0.coding == coding })
        Array(sample.bomb).withUnsafeBufferPointer { decoder.add($0) }
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
