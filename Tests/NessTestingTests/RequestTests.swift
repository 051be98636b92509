import Foundation
import NessHTTP
import TestSupport
import Testing

@testable import NessTesting

@Suite(.inTurn) struct RequestTests {
    /// Sends one request, and returns it as the server received it. If the server refused it, returns the status line.
    private func receive(_ text: String) async throws -> (request: ReceivedRequest?, status: String) {
        let server = try await TestServer.start { _ in .status(200) }
        let answer = try await server.client { client in
            client.send(text)
            client.closeWriting()
            return client.readToEnd().text
        }
        let request = server.requests.first
        await server.stop()
        return (request, String(answer.prefix { $0 != "\r\n" }))
    }

    @Test("a received request has its path, its query and the query's items") func pathQueryAndItems() async throws {
        let request = try #require(
            try await receive("GET /a%20b?x=1%202&y=a+b&z HTTP/1.1\r\nHost: x\r\nX-A:  1 \t\r\nx-a: 2\r\n\r\n").request)
        #expect(request.target == "/a%20b?x=1%202&y=a+b&z")
        #expect(request.path == "/a%20b")
        #expect(request.query == "x=1%202&y=a+b&z")
        #expect(request.queryItems == [.init(name: "x", value: "1 2"), .init(name: "y", value: "a+b"), .init(name: "z", value: "")])
        #expect(request.headers.values(for: "X-A") == ["1", "2"])
        #expect(request.url.absoluteString == "http://x/a%20b?x=1%202&y=a+b&z")
    }

    @Test("a received request that is printed or dumped shows no secret: none of the query, and none that the path repeats")
    func printed() async throws {
        let mock = MockTransport(onUnmatched: .reply(.status(200)))
        let ness = mocked(mock) { $0.secretNames = ["pin", "X-Key"] }
        try await ness.get("me/swordfish?token=hunter2&pin=1234&q=1").set(headers: ["X-Key": "swordfish"]).response()
        let request = try #require(mock.received.first)
        #expect("\(request)" == "GET https://mock.test/me/<redacted>?token=<redacted>&pin=<redacted>&q=1")
        for secret in ["swordfish", "hunter2", "1234"] { expectHidden(secret, in: request) }
        expectHidden("hunter2", in: request.queryItems)
        let served = try #require(try await receive("GET /x?token=hunter2 HTTP/1.1\r\nHost: h\r\n\r\n").request)
        #expect("\(served)" == "GET http://h/x?token=<redacted>")
    }

    @Test("a target in absolute form is understood") func absoluteTargets() async throws {
        let request = try #require(try await receive("GET http://h:1/p?q HTTP/1.1\r\nHost: h:1\r\n\r\n").request)
        #expect(request.path == "/p" && request.query == "q")
        #expect(try await receive("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").request?.path == "*")
    }

    @Test(
        "a received request always has a URL: that of its Host and target, or else of its path alone",
        arguments: ["x", "a b", "h:port", ""])
    func url(host: String) throws {
        for target in ["/p?q", "*", "h:1", "/%zz"] {
            let url = ReceivedRequest(method: .get, target: target, headers: ["Host": host]).url
            #expect(["http", "file"].contains(url.scheme))
            if host == "x", target == "/p?q" { #expect(url.absoluteString == "http://x/p?q") }
        }
    }

    @Test("a plus in a form field is decoded as a space") func formFieldsDecodePlus() async throws {
        let request = try #require(try await receive("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\na=b+c&d=%2B").request)
        #expect(request.formFields == [.init(name: "a", value: "b c"), .init(name: "d", value: "+")])
    }

    @Test("a chunked body and its trailers are read") func chunkedBodiesAndTrailers() async throws {
        let text =
            "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n00A;ext=1\r\n 123456789\r\n0\r\nX-Sum: 9\r\n\r\n"
        let request = try #require(try await receive(text).request)
        #expect(request.bodyText == "hello 123456789")
        #expect(request.isChunked && request.trailers == ["X-Sum": "9"])
    }

    @Test("the server responds to Expect: 100-continue before the client sends the body") func expectIsAnsweredBeforeTheBodyIsSent()
        async throws
    {
        let server = try await TestServer.start { .text($0.bodyText) }
        let (interim, answer) = try await server.client { client in
            client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
            let interim = client.read(through: "\r\n\r\n")
            return (interim, client.exchange("body"))
        }
        #expect(interim == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(answer.body == "body")
    }

    @Test(
        "a malformed request is rejected with 400",
        arguments: [
            "GARBAGE\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
            "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nno-colon\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA: \u{0}\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            "\u{16}\u{3}\u{1}\u{2}\r\n\r\n",
        ])
    func malformedRequestsAreRefused(text: String) async throws {
        let (request, status) = try await receive(text)
        #expect(request == nil)
        #expect(status == "HTTP/1.1 400 Bad Request")
    }

    @Test("a request that is too large or not supported is rejected with the right status") func otherRefusals() async throws {
        #expect(try await receive("GET / HTTP/2.0\r\nHost: x\r\n\r\n").status == "HTTP/1.1 505 HTTP Version Not Supported")
        let huge = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"
        #expect(try await receive(huge).status == "HTTP/1.1 413 Content Too Large")
        let chunk = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n"
        #expect(try await receive(chunk).status == "HTTP/1.1 413 Content Too Large")
        let longLine = "GET / HTTP/1.1\r\nHost: x\r\nA: " + String(repeating: "a", count: 1 << 20) + "\r\n\r\n"
        #expect(try await receive(longLine).status == "HTTP/1.1 431 Request Header Fields Too Large")
        let manyLines = "GET / HTTP/1.1\r\nHost: x\r\n" + String(repeating: "A: bbbbbbbbbb\r\n", count: 90_000) + "\r\n"
        #expect(try await receive(manyLines).status == "HTTP/1.1 431 Request Header Fields Too Large")
    }

    @Test("the recording of requests can be switched off") func recordingCanBeSwitchedOff() async throws {
        let server = try await TestServer.start(recordsRequests: false) { _ in .status(200) }
        _ = try await server.client { $0.exchange(get) }
        #expect(server.requests.isEmpty && server.requestCount == 1)
    }
}
