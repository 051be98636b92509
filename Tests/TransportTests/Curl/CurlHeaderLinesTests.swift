#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// The header fields as libcurl takes them, without a socket.
@Suite struct CurlHeaderLinesTests {
    private func lines(_ headers: HTTPHeaders, _ method: HTTPMethod = .get, body: HTTPBody? = nil, expects: Bool = false) throws -> [String]
    {
        let request = HTTPRequest(method, url: try url("https://a.test/"), headers: headers, body: body)
        let text = try CurlHeaderLines.make(request, expectsContinue: expects)
        #expect(text.hasSuffix("\0"))
        return text.split(separator: "\0", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    @Test("the request's fields come first, in order; the rest is what libcurl would otherwise omit, or add in its own words")
    func order() throws {
        let lines = try lines(["B": " 2 ", "A": "1", "A": ""])
        #expect(lines.prefix(3) == ["B: 2", "A: 1", "A;"])
        let own = Set(lines.dropFirst(3).map { String($0.prefix { $0 != ":" }) })
        #expect(own == ["Accept-Encoding", "User-Agent"])
        #expect(Set(try self.lines([:])) == Set(try self.lines(["A": "1"]).dropFirst()))
        #expect(Set(try self.lines([:], .put)).isSuperset(of: ["Content-Type:", "Expect:"]))
    }

    @Test("no field that the caller set is added again, in any case of its name")
    func present() throws {
        let names = ["content-type", "ACCEPT-ENCODING", "user-agent"]
        let headers = HTTPHeaders(Dictionary(uniqueKeysWithValues: names.map { ($0, "x") }))
        #expect(try lines(headers).count == 3 && lines(headers, .post).count == 4)
    }

    @Test("a HEAD and a request for a range do not ask for a compressed body: a part of it could not be decompressed")
    func identity() throws {
        let range: HTTPHeaders = ["Range": "bytes=0-9"]
        for (headers, method) in [(range, .get), ([:], .head), (range, .head)] as [(HTTPHeaders, HTTPMethod)] {
            let lines = try lines(headers, method)
            #expect(lines.contains("Accept-Encoding: identity"))
        }
    }

    @Test("the request's fields take precedence over the body's")
    func body() throws {
        let body = HTTPBody(Data("x".utf8), headers: ["Content-Type": "text/plain", "X": "body"])
        let own = try lines(["x": "request"], .post, body: body)
        #expect(own.prefix(2) == ["x: request", "Content-Type: text/plain"] && !own.contains("X: body"))
        let plain = try lines([:], .post, body: HTTPBody(Data("x".utf8), headers: [:]), expects: true)
        #expect(plain.contains("Content-Type: application/octet-stream") && plain.contains("Expect: 100-continue"))
    }

    /// Expects that the transport refuses a request, also without a pipeline.
    private func expectRefused(_ request: HTTPRequest) {
        let error = #expect(throws: TransportError.self) { try CurlExchange(request) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test("a name or a method that is not a token is rejected", arguments: [" X", "", "X Y", "X:", "\u{E9}"])
    func names(name: String) throws {
        expectRefused(HTTPRequest(.get, url: try url("https://a.test/"), headers: [name: "1"]))
        expectRefused(HTTPRequest(HTTPMethod(rawValue: name), url: try url("https://a.test/")))
    }

    @Test("a field that would start another line is rejected", arguments: ["a\0X: 1", "\0", "a\r\nX: 1", "a\nX: 1", "a\r"])
    func injection(text: String) throws {
        let target = try url("https://a.test/")
        for headers: HTTPHeaders in [["A": text], [text: "A"]] {
            expectRefused(HTTPRequest(.get, url: target, headers: headers))
            expectRefused(HTTPRequest(.post, url: target, body: HTTPBody(Data("x".utf8), headers: headers)))
        }
    }
}
#endif
