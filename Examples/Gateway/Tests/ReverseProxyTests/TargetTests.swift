import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Targets", .serialized, .timeLimit(.minutes(2))) struct TargetTests {
    @Test(
        "a target reaches the upstream as the client wrote it",
        arguments: [
            "/", "/a/b?c=d&e=%2f", "//evil.example/x", "/a%2Fb", "/a%2fb/..c", "/a?", "/?a", "/a//b/", "/%7Ea/%c3%a9", "/a?b?c=../d",
            "/a;b=1,2/@:!$'()*+",
            "/.well-known/x", "/a/...",
        ])
    func unchanged(target: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "GET \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            #expect(server.requests.map(\.target) == [target])
        }
    }

    @Test("a target in absolute form leads to the upstream, not to the host that it names")
    func absolute() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            _ = try await exchange(port, "GET http://evil.example:1/a?b HTTP/1.1\r\nHost: evil.example:1\r\nConnection: close\r\n\r\n")
            #expect(server.requests.map(\.target) == ["/a?b"])
            #expect(server.requests.first?.headers["Host"] == "127.0.0.1:\(server.port)")
        }
    }

    @Test(
        "a target that could lead to another path gets a 400, and the upstream does not see it",
        arguments: [
            "/../x", "/a/./b", "/a/%2e%2e/b", "/a/%2E./b", "/a/..%2fb", "/a%2f..%2fb", "/a/..%5Cb", "/a/..;x/b", "/a/..%3Bx/b", "/a/.",
            "/a/..",
            "a/b", "/a%2", "/a%zz", "/a|b", "/a\\b", "/a#b", "*", "http://h/../x", "mailto:a",
        ])
    func unsafe(target: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "OPTIONS \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            #expect(server.connectionCount == 0)
        }
    }

    @Test("CONNECT and a second Host get a 400")
    func connect() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            for head in ["CONNECT h:80 HTTP/1.1\r\nHost: h:80", "GET / HTTP/1.1\r\nHost: h\r\nHost: i"] {
                let answer = try await exchange(port, "\(head)\r\nConnection: close\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 400"))
            }
            #expect(server.connectionCount == 0)
        }
    }

    @Test("the path of the upstream's URL comes before that of the request", arguments: ["/v1", "/v1/"])
    func prefix(path: String) async throws {
        let server = try await TestServer.start { _ in .text("ok") }
        try await withProxy(to: server.url.absoluteString + path) { port in
            _ = try await makeClient().get("http://127.0.0.1:\(port)/a?b=c").response()
        }
        #expect(server.requests.map(\.target) == ["/v1/a?b=c"])
    }
}
