import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Header fields that are folded over several lines (RFC 9112, 5.2), on a socket.
@Suite(.inTurn) struct FoldedFieldTests {
    /// Serves a head on a connection, and returns the response of the default transport.
    private func response(to head: String, then rest: String = "\r\nhello", count: Int = 1) async throws -> HTTPResponse {
        let steps: [ConnectionStep] = [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(head)\(rest)")]
        return try await serving(script: { _ in count > 1 ? [.loop(steps)] : steps + [.close] }) { server in
            let ness = Ness()
            for _ in 1..<count { _ = try await ness.get(server.url).response() }
            return try await ness.get(server.url).response()
        }
    }

    private static let length = "Content-Length: 5\r\n"

    @Test(
        "the lines of a folded field are joined by one space",
        arguments: [
            ("a\r\n b", "a b"), ("a\r\n\tb\r\n  c", "a b c"), ("caf\u{E9}\r\n \u{E9}t\u{E9}", "caf\u{E9} \u{E9}t\u{E9}"),
            ("a,\r\n b: c", "a, b: c"),
        ])
    func joined(value: String, joined: String) async throws {
        // Twice, because libcurl before 8.1 keeps a pointer to the last line of the response before.
        let response = try await response(to: "X-A: 1\r\nX-Fold: \(value)\r\nX-Z: 2\r\n\(Self.length)", count: 2)
        #expect(response.headers.values(for: "X-Fold") == [joined])
        #expect(response.headers["X-A"] == "1" && response.headers["X-Z"] == "2" && response.text == "hello")
    }

    @Test(
        "white space around a line of a folded field does not count; URLSession on Linux keeps it, and fails for a line without text",
        .toBeDecidedOnAMac("white space in folded fields"),
        arguments: [
            ("a \t\r\n \t b\t", "a b", "a \t b\t"), ("\r\n b", "b", " b"), ("a\r\n ", "a", nil), ("a\r\n \r\n b", "a b", nil),
        ])
    func whiteSpace(value: String, joined: String, kept: String?) async throws {
        let head = "X-Fold: \(value)\r\n\(Self.length)"
        if let wanted = Engine.isURLSessionOnLinux ? kept : joined {
            let response = try await response(to: head)
            #expect(response.headers.values(for: "X-Fold") == [wanted])
        } else {
            let error = await #expect(throws: NessError.self) { try await self.response(to: head) }
            #expect(error?.kind == .malformedResponse)
        }
    }

    @Test("a folded line directly after the status line is malformed") func first() async throws {
        let error = await #expect(throws: NessError.self) { try await response(to: " X-Fold: b\r\n\(Self.length)") }
        #expect(error?.kind == .malformedResponse, "\(String(describing: error))")
    }

    @Test(
        "a folded field that gives the length of the body is malformed, unless the transport reads all its lines",
        .toBeDecidedOnAMac("a folded Content-Length"),
        arguments: ["Content-Length: 5\r\n 5\r\n", "Content-Length: 5\r\n \r\n", "Transfer-Encoding:\r\n chunked\r\n"])
    func framing(head: String) async throws {
        let isChunked = head.hasSuffix("chunked\r\n"), body = isChunked ? "5\r\nhello\r\n0\r\n\r\n" : "hello"
        do {
            let text = try await response(to: head, then: "\r\n\(body)").text
            // URLSession on Linux overlooks the coding, and nothing above it can tell.
            #expect(text == (Engine.isURLSessionOnLinux ? body : "hello") && !head.contains(" 5\r\n 5"))
        } catch let error as NessError {
            #expect(error.kind == .malformedResponse, "\(error)")
        }
    }

    @Test("a folded trailer field is joined; libcurl 8.23 rejects it", .enabled(if: Engine.isCurl))
    func trailer() async throws {
        let body = "\r\n5\r\nhello\r\n0\r\nX-Sum: a\r\n\tb\r\n  c\r\nX-Z: 2\r\n\r\n"
        do {
            let response = try await response(to: "Transfer-Encoding: chunked\r\n", then: body)
            #expect(response.text == "hello" && response.trailers == ["X-Sum": "a b c", "X-Z": "2"])
        } catch let error as NessError {
            #expect(error.kind == .malformedResponse && error.context.reason == "Header without colon")
        }
    }

    @Test("the folded lines of a field count toward the limit of a header")
    func long() async throws {
        let lines = String(repeating: " \(String(repeating: "x", count: 997))\r\n", count: 120)
        let error = await #expect(throws: NessError.self) { try await self.response(to: "X-Fold: a\r\n\(lines)\(Self.length)") }
        #expect(error?.kind == .malformedResponse, "\(String(describing: error))")
        let half = String(lines.prefix(lines.count / 2))
        let response = try await response(to: "X-Fold: a\r\n\(half)\(Self.length)")
        #expect(response.headers["X-Fold"]?.utf8.count == 1 + 60 * 998 && response.text == "hello")
    }
}
