import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Expect: 100-continue", .serialized, .timeLimit(.minutes(2))) struct ExpectTests {
    private static let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"

    @Test("the client gets its 100 when the upstream wants the body")
    func continues() async throws {
        try await withUpstream({ _ in }, { .data($0.body) }) { port, server in
            try await RawClient.run(port) { client in
                try await client.send(Self.head)
                #expect(await client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                try await client.send("body")
                #expect(await client.read(until: "body").hasPrefix("HTTP/1.1 200"))
            }
            #expect(server.requests.first?.headers["Expect"] == "100-continue")
        }
    }

    @Test("a client that the upstream rejects by the head sends no body, and the connection ends")
    func rejects() async throws {
        let server = try await TestServer.start(script: { _ in
            [.receiveHead, .send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), .close]
        })
        try await withProxy(to: server.url.absoluteString) { port in
            let answer = try await exchange(port, Self.head)
            #expect(answer.hasPrefix("HTTP/1.1 401") && answer.contains("Connection: close\r\n"))
        }
    }

    @Test("an upstream that cannot be reached gives a 502 instead of the 100")
    func unreachable() async throws {
        try await withProxy(to: "http://127.0.0.1:1") { port in
            let answer = try await exchange(port, Self.head)
            #expect(answer.hasPrefix("HTTP/1.1 502"))
        }
    }
}
