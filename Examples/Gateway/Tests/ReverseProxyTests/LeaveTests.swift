import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Clients that leave", .serialized, .timeLimit(.minutes(2))) struct LeaveTests {
    @Test("a client that disconnects before the response ends the upstream's request")
    func beforeHead() async throws {
        let arrived = TestGate()
        let server = try await TestServer.start(script: { _ in [.receiveHead, .signal(arrived), .stall] })
        try await withProxy(to: server.url.absoluteString) { port in
            try await RawClient.run(port) { client in
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                await arrived.wait()
            }
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
    }

    @Test("a client that disconnects during a pause inside the response ends the upstream's request")
    func insideResponse() async throws {
        let steps: [ConnectionStep] = [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nstart"), .stall]
        let server = try await TestServer.start(script: { _ in steps })
        try await withProxy(to: server.url.absoluteString) { port in
            try await RawClient.run(port) { client in
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                _ = await client.read(until: "start")
            }
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
    }

    @Test(
        "a body that a client sent only in part never looks complete to the upstream",
        arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
    func insideBody(framing: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            try await RawClient.run(port) { client in
                try await client.send(
                    "POST / HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n\(framing.hasPrefix("C") ? "start" : "5\r\nstart\r\n")")
                await server.waitUntil { $0.busyConnections == 1 }
            }
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requestCount == 0)
        }
    }

    @Test("a body with broken framing gets a 400, and never looks complete to the upstream")
    func malformedBody() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstart\r\nzz\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requestCount == 0)
        }
    }
}
