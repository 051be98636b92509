import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Fields", .serialized, .timeLimit(.minutes(2))) struct FieldTests {
    @Test("fields that concern the client's connection do not reach the upstream, nor do those that Connection names")
    func request() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            _ = try await exchange(
                port,
                """
                GET /a HTTP/1.1\r\nHost: gateway.example\r\nConnection: keep-alive, X-Named\r\nconnection: x-other\r\nX-Named: 1\r\nX-Other: 1\r
                Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nTrailer: X-Sum\r\nUpgrade: websocket\r
                Proxy-Authorization: Basic YTpi\r\nX-Kept: 1\r\nX-Kept: 2\r\nCookie: a=1\r\nVia: 1.0 fred\r\nX-Forwarded-For: 192.0.2.1\r
                X-Forwarded-Host: evil.example\r\n\r\n
                """, until: "ok")
            let request = try #require(server.requests.first)
            for name in [
                "Connection", "X-Named", "X-Other", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade", "Proxy-Authorization",
                "Transfer-Encoding", "Content-Length", "Accept-Encoding",
            ] { #expect(!request.headers.contains(name), "\(name)") }
            #expect(request.headers.values(for: "X-Kept") == ["1", "2"])
            #expect(request.headers["Cookie"] == "a=1")
            #expect(request.headers["Via"] == "1.0 fred, 1.1 gateway")
            #expect(request.headers["X-Forwarded-For"] == "192.0.2.1, 127.0.0.1")
            #expect(request.headers["X-Forwarded-Host"] == "gateway.example")
            #expect(request.headers["X-Forwarded-Proto"] == "http")
            #expect(request.headers["Host"] == "127.0.0.1:\(server.port)")
        }
    }

    @Test("fields that concern the upstream's connection do not reach the client, and all others do, unchanged")
    func response() async throws {
        let head = """
            HTTP/1.1 200 OK\r\nConnection: X-Named\r\nX-Named: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r
            Trailer: X-Sum\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nDate: Sat, 31 Jan 2026 12:00:00 GMT\r\nServer: upstream\r
            Content-Length: 2\r\n\r\nok
            """
        try await withUpstream({ _ in }, { _ in .script([.send(head)]) }) { port, _ in
            let response = try await makeClient().get("http://127.0.0.1:\(port)/").response()
            for name in ["Connection", "X-Named", "Keep-Alive", "Proxy-Authenticate", "Upgrade", "Trailer", "Transfer-Encoding"] {
                #expect(!response.headers.contains(name), "\(name)")
            }
            #expect(response.headers.values(for: "Set-Cookie") == ["a=1", "b=2"])
            #expect(response.headers["Date"] == "Sat, 31 Jan 2026 12:00:00 GMT")
            #expect(response.headers["Server"] == "upstream")
            #expect(response.headers["Via"] == "1.1 gateway")
            #expect(response.text == "ok")
        }
    }

    @Test("a compressed body passes as it is, with its length; the client alone decides on codings", arguments: [true, false])
    func codings(hasLength: Bool) async throws {
        let bytes = Data("these are not gzip".utf8)
        let fields: HTTPHeaders = ["Content-Encoding": "gzip"]
        try await withUpstream({ _ in }, { _ in hasLength ? .data(bytes, headers: fields) : .chunked([bytes], headers: fields) }) {
            port, server in
            let response = try await makeClient().get("http://127.0.0.1:\(port)/").set(option: KeepsContentCoding.self, to: true)
                .set(header: "Accept-Encoding", to: "br;q=1.0, gzip").response()
            #expect(response.body == bytes)
            #expect(response.headers["Content-Encoding"] == "gzip")
            #expect(response.headers["Content-Length"] == (hasLength ? "\(bytes.count)" : nil))
            #expect(server.requests.first?.headers["Accept-Encoding"] == "br;q=1.0, gzip")
        }
    }

    @Test("trailer fields reach a client that takes them, without those about framing", arguments: [true, false])
    func trailers(isTaken: Bool) async throws {
        let fields: HTTPHeaders = ["X-Sum": "1", "Content-Length": "9"]
        try await withUpstream({ _ in }, { _ in .chunked([Data("ab".utf8)], trailers: fields) }) { port, _ in
            let answer = try await exchange(
                port, "GET / HTTP/1.1\r\nHost: h\r\n\(isTaken ? "TE: trailers\r\n" : "")Connection: close\r\n\r\n")
            #expect(answer.hasSuffix(isTaken ? "2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n" : "2\r\nab\r\n0\r\n\r\n"))
        }
    }
}
