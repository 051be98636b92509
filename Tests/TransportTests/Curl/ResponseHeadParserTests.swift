#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// The strict parser of response heads, without a socket.
@Suite(.inTurn) struct ResponseHeadParserTests {
    /// Parses lines, each with its end. Returns the final head.
    private func parse(_ lines: [[UInt8]], with parser: inout ResponseHeadParser) throws -> ResponseHeadParser.Head? {
        var found: ResponseHeadParser.Head?
        for line in lines {
            guard let head = try line.withUnsafeBufferPointer({ try parser.read($0) }), !head.isInterim else { continue }
            #expect(found == nil)
            found = head
        }
        return found
    }

    private func parse(bytes lines: [[UInt8]]) throws -> ResponseHeadParser.Head? {
        var parser = ResponseHeadParser()
        return try parse(lines, with: &parser)
    }

    /// Parses lines, each with CRLF at its end, unless it ends with a line feed.
    private func parse(_ lines: String...) throws -> ResponseHeadParser.Head? { try parse(bytes: Self.bytes(lines)) }

    private static func bytes(_ lines: [String]) -> [[UInt8]] { lines.map { Array(($0.utf8.last == 10 ? $0 : $0 + "\r\n").utf8) } }

    private func isRefused(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        var parser = ResponseHeadParser()
        let error = #expect(throws: TransportError.self, sourceLocation: sourceLocation) { try parse(Self.bytes(lines), with: &parser) }
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
        #expect(try parse(line.replacing("200", with: "999"), "")?.statusCode == 999)
    }

    @Test(
        "anything else is not a status line",
        arguments: [
            "", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1  200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 +20 OK",
            "HTTP/1.1 099 OK", "HTTP/1.1 000", "HTTP/1.1 200OK", "HTTP/9.1 200 OK", "http/1.1 200 OK", "ICY 200 OK", " HTTP/1.1 200 OK",
            "HTTP/1.1\t200 OK", "HTTP/1.1 \u{661}\u{662}\u{663} OK", "A: b", "<html>",
        ])
    func noStatusLine(line: String) { isRefused([line, ""]) }

    @Test("fields keep their order, their case and their repetitions; white space around a value does not count")
    func fields() throws {
        let head = try parse("HTTP/1.1 200 OK", "B:1", "a: \t 2 3 \t", "B:  ", "Set-Cookie: x=1, y", "set-cookie: z:2", "")
        #expect(head?.headers.map(\.name) == ["B", "a", "B", "Set-Cookie", "set-cookie"])
        #expect(head?.headers.map(\.value) == ["1", "2 3", "", "x=1, y", "z:2"])
    }

    @Test("every character of a token may be in a field's name")
    func token() throws {
        let name = "!#$%&'*+-.^_`|~09AZaz"
        #expect(try parse("HTTP/1.1 200 OK", "\(name): 1", "")?.headers.map(\.name) == [name])
    }

    @Test("a line may end with a bare line feed, or have no line break")
    func lineEnd() throws {
        let head = ResponseHeadParser.Head(statusCode: 200, headers: ["A": "b"])
        #expect(try parse("HTTP/1.1 200 OK\n", "A: b\n", "\n") == head)
        #expect(try parse(bytes: [Array("HTTP/1.1 200 OK".utf8), Array("A: b".utf8), []]) == head)
    }

    @Test(
        "a line is rejected if it has no name, no colon, or a control character, even in a folded line",
        arguments: [
            " a\0b", "\ta\rb", ": no name", "no colon", "A b: c", "A : b", "A\t: b", "\u{E9}: b", "A: b\rc", "A: b\0c", "A\0: b",
            "A: b\r", "A: \nb", ":a: b", "nocolon", "A\u{7F}: b",
        ])
    func line(line: String) {
        for ending in ["\r\n", "\n"] where !(ending == "\n" && line.hasSuffix("\r")) {
            isRefused(["HTTP/1.1 200 OK", "A: b", line + ending, ""])
        }
    }

    @Test("a folded line continues the field before it, but not the status line, a field of an interim head, or the length of the body")
    func folded() throws {
        let head = try parse("HTTP/1.1 200 OK", "A: 1", " 2", "\t3 \t", "A:", "  b", " ", "C: d", "")
        #expect(head?.headers.map(\.value) == ["1 2 3", "b", "d"])
        for lines in [[" A: 1"], ["Content-Length: 5", " 5"], ["transfer-encoding:", " chunked"]] {
            isRefused(["HTTP/1.1 200 OK"] + lines + ["", ""])
            isRefused(["HTTP/1.1 103 Early Hints", "B: 1", "", "HTTP/1.1 200 OK"] + lines + ["", ""])
        }
    }

    @Test("a value may be UTF-8 or ISO 8859-1")
    func text() throws {
        let values: [([UInt8], String)] = [
            ([0xC3, 0xA9], "\u{E9}"), ([0xE9], "\u{E9}"), ([0xE9, 0xC3, 0xA9], "\u{E9}\u{C3}\u{A9}"), ([0x80], "\u{80}"),
        ]
        for (bytes, text) in values {
            #expect(
                try parse(bytes: [Array("HTTP/1.1 200 OK\r\n".utf8), Array("A: ".utf8) + bytes + [13, 10], [13, 10]])?.headers["A"] == text)
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
            isRefused(["HTTP/1.1 200 OK", "Transfer-Encoding: \(coding)", ""])
        }
        for coding in ["chunked", "Chunked", "identity", "", "identity, chunked"] {
            #expect(try parse("HTTP/1.1 200 OK", "Transfer-Encoding: \(coding)", "")?.statusCode == 200)
        }
        #expect(try parse("HTTP/2 200", "Transfer-Encoding: gzip", "")?.statusCode == 200)
    }

    @Test("an unsolicited switch of protocols is rejected")
    func switching() { isRefused(["HTTP/1.1 101 Switching Protocols", "Upgrade: x", ""]) }

    @Test("after the final head trailers follow, which have a limit; a line that is not a field is ignored")
    func trailers() throws {
        var parser = ResponseHeadParser()
        #expect(try parse(Self.bytes(["HTTP/1.1 200 OK", "A: 1", ""]), with: &parser)?.headers == ["A": "1"])
        #expect(parser.isComplete)
        #expect(
            try parse(Self.bytes([" first", "T: 1", " folded", "no colon", " lost", "", "HTTP/1.1 500 No", "\0"]), with: &parser) == nil)
        #expect(parser.isComplete && parser.trailers == ["T": "1 folded"])
        let long = String(repeating: "x", count: HTTPHeaders.maximumByteCount + 1)
        #expect(throws: TransportError.self) { try parse(Self.bytes([long]), with: &parser) }
    }

    @Test("a trailer of 100,000 bytes is accepted, even after a header of that length; one of a byte more is not")
    func longTrailer() throws {
        let field = "A: \(String(repeating: "x", count: HTTPHeaders.maximumByteCount - 5))"
        var parser = ResponseHeadParser()
        #expect(try parse(Self.bytes(["HTTP/1.1 200 OK", field, ""]), with: &parser)?.headers.count == 1)
        var other = parser
        #expect(try parse(Self.bytes([field]), with: &parser) == nil)
        #expect(parser.trailers.count == 1)
        #expect(throws: TransportError.self) { try parse(Self.bytes([field + "x"]), with: &other) }
    }

    @Test(
        "the size of all heads together is limited",
        arguments: ["one line", "many lines", "short lines", "one more byte", "many interim heads"])
    func huge(how: String) throws {
        let limit = 100_000, line = "A: \(String(repeating: "x", count: 95))"
        let lines = Array(repeating: line, count: limit / (line.utf8.count + 2))
        switch how {
        case "one line": isRefused(["HTTP/1.1 200 OK", "A: \(String(repeating: "x", count: limit))", ""])
        case "many lines": isRefused(["HTTP/1.1 200 OK"] + lines + [line, ""])
        case "short lines": isRefused(["HTTP/1.1 200 OK"] + Array(repeating: "A:\n", count: limit / 3 + 1) + [""])
        case "one more byte": isRefused(["HTTP/1.1 200 OK"] + Array(lines.dropLast()) + [line + "x", ""])
        default:
            let interim = ["HTTP/1.1 103 Early Hints"] + Array(repeating: line, count: 10) + [""]
            isRefused(Array(repeating: interim, count: limit / 1_000 + 1).flatMap(\.self) + ["HTTP/1.1 200 OK", ""])
        }
        // At the limit it is fine.
        #expect(try parse(bytes: Self.bytes(["HTTP/1.1 200 OK"] + lines + [""]))?.headers.count == lines.count)
    }

    @Test("1,000 interim heads may come before the final one, and not another")
    func manyInterim() throws {
        let interims = Array(repeating: ["HTTP/1.1 102 Processing", ""], count: 1_000).flatMap(\.self), final = ["HTTP/1.1 200 OK", ""]
        #expect(try parse(bytes: Self.bytes(interims + final))?.statusCode == 200)
        isRefused(interims + ["HTTP/1.1 102 Processing", ""] + final)
    }
}
#endif
