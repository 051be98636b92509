#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// The strict parser of response heads, without a socket.
@Suite(.inTurn) struct ResponseHeadParserTests {
    /// Parses lines, each with CRLF at its end. Returns the final head.
    private func parse(_ lines: String...) throws -> ResponseHeadParser.Head? {
        var parser = ResponseHeadParser()
        return try parse(lines.map { Array("\($0)\r\n".utf8) }, with: &parser)
    }

    private func parse(_ lines: [[UInt8]], with parser: inout ResponseHeadParser) throws -> ResponseHeadParser.Head? {
        var found: ResponseHeadParser.Head?
        for line in lines {
            guard let head = try parser.read(line), !head.isInterim else { continue }
            #expect(found == nil)
            found = head
        }
        return found
    }

    private func isRefused(_ lines: [[UInt8]], sourceLocation: SourceLocation = #_sourceLocation) {
        var parser = ResponseHeadParser()
        let error = #expect(throws: TransportError.self, sourceLocation: sourceLocation) { try parse(lines, with: &parser) }
        #expect(error?.kind == .malformedResponse, sourceLocation: sourceLocation)
        #expect(!parser.isComplete, sourceLocation: sourceLocation)
    }

    @Test(
        "a status line may have a reason phrase or none, in every version",
        arguments: [
            "HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.0 200 Fine by me", "HTTP/2 200", "HTTP/2 200 ", "HTTP/3 200",
            "HTTP/1.1 200 \u{E9}t\u{E9}",
        ])
    func statusLine(line: String) throws {
        #expect(try parse(line, "A: b", "") == ResponseHeadParser.Head(statusCode: 200, headers: ["A": "b"]))
    }

    @Test(
        "anything else is not a status line",
        arguments: [
            "", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1  200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 +20 OK",
            "HTTP/1.1 099 OK", "HTTP/1.1 000", "HTTP/1.1 200OK", "HTTP/9.1 200 OK", "http/1.1 200 OK", "ICY 200 OK", " HTTP/1.1 200 OK",
            "HTTP/1.1\t200 OK", "HTTP/1.1 \u{661}\u{662}\u{663} OK", "A: b", "<html>",
        ])
    func noStatusLine(line: String) { isRefused([Array("\(line)\r\n".utf8), Array("\r\n".utf8)]) }

    @Test("the largest and the smallest final status are taken")
    func statusRange() throws {
        #expect(try parse("HTTP/1.1 200 x", "")?.statusCode == 200)
        #expect(try parse("HTTP/1.1 999 x", "")?.statusCode == 999)
    }

    @Test("fields keep their order, their case and their repetitions; white space around a value does not count")
    func fields() throws {
        let head = try parse("HTTP/1.1 200 OK", "B:1", "a: \t 2 3 \t", "B:  ", "Set-Cookie: x=1, y", "set-cookie: z:2", "")
        #expect(head?.headers.map(\.name) == ["B", "a", "B", "Set-Cookie", "set-cookie"])
        #expect(head?.headers.map(\.value) == ["1", "2 3", "", "x=1, y", "z:2"])
    }

    @Test("a bare line feed ends a line")
    func lineFeed() throws {
        var parser = ResponseHeadParser()
        let lines = ["HTTP/1.1 200 OK\n", "A: b\n", "\n"].map { Array($0.utf8) }
        #expect(try parse(lines, with: &parser) == ResponseHeadParser.Head(statusCode: 200, headers: ["A": "b"]))
    }

    @Test(
        "a line is rejected if it is folded, or has no name, no colon, or a control character",
        arguments: [
            " folded", "\tfolded", ": no name", "no colon", "A b: c", "A : b", "A\t: b", "\u{E9}: b", "A: b\rc", "A: b\0c", "A\0: b",
            "A: b\r", "A: \nb",
        ])
    func line(line: String) {
        for ending in ["\r\n", "\n"] where !(ending == "\n" && line.hasSuffix("\r")) {
            isRefused([Array("HTTP/1.1 200 OK\r\n".utf8), Array("A: b\r\n".utf8), Array((line + ending).utf8), Array("\r\n".utf8)])
        }
    }

    @Test("a value may be UTF-8 or ISO 8859-1")
    func text() throws {
        let values: [([UInt8], String)] = [([0xC3, 0xA9], "\u{E9}"), ([0xE9], "\u{E9}"), ([0xE9, 0xC3, 0xA9], "\u{E9}\u{C3}\u{A9}")]
        for (bytes, text) in values {
            var parser = ResponseHeadParser()
            let lines = [Array("HTTP/1.1 200 OK\r\n".utf8), Array("A: ".utf8) + bytes + [13, 10], [13, 10]]
            #expect(try parse(lines, with: &parser)?.headers["A"] == text)
        }
    }

    @Test("the fields of interim heads do not belong to the final head")
    func interim() throws {
        let head = try parse(
            "HTTP/1.1 100 Continue", "A: 1", "", "HTTP/1.1 103 Early Hints", "Link: x", "", "HTTP/1.1 204 No Content", "B: 2", "")
        #expect(head == ResponseHeadParser.Head(statusCode: 204, headers: ["B": "2"]))
    }

    @Test("a transfer coding other than chunked is rejected over HTTP/1.1; over HTTP/2 the field has no meaning")
    func transferCoding() throws {
        for coding in ["gzip, chunked", "chunked, gzip", "chunked, chunked", "nonsense", "chunked;a=b", "\u{212A}"] {
            isRefused(["HTTP/1.1 200 OK\r\n", "Transfer-Encoding: \(coding)\r\n", "\r\n"].map { Array($0.utf8) })
        }
        for coding in ["chunked", "Chunked", "identity", "", "identity, chunked"] {
            #expect(try parse("HTTP/1.1 200 OK", "Transfer-Encoding: \(coding)", "")?.statusCode == 200)
        }
        #expect(try parse("HTTP/2 200", "Transfer-Encoding: gzip", "")?.statusCode == 200)
    }

    @Test("an unsolicited switch of protocols is rejected")
    func switching() {
        isRefused(["HTTP/1.1 101 Switching Protocols\r\n", "Upgrade: x\r\n", "\r\n"].map { Array($0.utf8) })
    }

    @Test("after the final head trailers follow, which have a limit; a line that is not a field is ignored")
    func trailers() throws {
        var parser = ResponseHeadParser()
        let lines = ["HTTP/1.1 200 OK\r\n", "A: 1\r\n", "\r\n"].map { Array($0.utf8) }
        #expect(try parse(lines, with: &parser)?.headers == ["A": "1"])
        #expect(parser.isComplete)
        for trailer in ["T: 1\r\n", " folded\r\n", "no colon\r\n", "\r\n", "HTTP/1.1 500 No\r\n", "\0\r\n"] {
            #expect(try parser.read(Array(trailer.utf8)) == nil)
        }
        #expect(parser.isComplete && parser.trailers == ["T": "1"])
        let long = Array(repeating: UInt8(ascii: "x"), count: HTTPHeaders.maximumByteCount + 1)
        #expect(throws: TransportError.self) { try parser.read(long) }
    }

    @Test("the size of all heads together is limited", arguments: ["one line", "many lines", "many interim heads"])
    func huge(how: String) throws {
        let limit = HTTPHeaders.maximumByteCount, status = Array("HTTP/1.1 200 OK\r\n".utf8)
        let line = Array("A: \(String(repeating: "x", count: 95))\r\n".utf8), end = Array("\r\n".utf8)
        switch how {
        case "one line": isRefused([status, Array("A: \(String(repeating: "x", count: limit))\r\n".utf8), end])
        case "many lines": isRefused([status] + Array(repeating: line, count: limit / line.count + 1) + [end])
        default:
            let interim = [Array("HTTP/1.1 103 Early Hints\r\n".utf8)] + Array(repeating: line, count: 10) + [end]
            isRefused(Array(repeating: interim, count: limit / 1_000 + 1).flatMap(\.self) + [status, end])
        }
        // Just below the limit it is fine.
        var parser = ResponseHeadParser()
        let lines = [status] + Array(repeating: line, count: limit / line.count) + [end]
        #expect(try parse(lines, with: &parser)?.headers.count == lines.count - 2)
    }
}
#endif
