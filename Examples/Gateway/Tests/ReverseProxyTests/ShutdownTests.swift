import Foundation
import NessHTTP
import NessTesting
import ReverseProxy
import ServiceLifecycle
import Testing

@Suite("Graceful shutdown", .serialized, .timeLimit(.minutes(2))) struct ShutdownTests {
    @Test("a running request ends with its whole response, and then the connections to the upstream close")
    func graceful() async throws {
        let go = TestGate()
        let steps: [ConnectionStep] = [
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"), .wait(go), .send("full"), .stall,
        ]
        let server = try await TestServer.start(script: { _ in steps })
        let upstream = try #require(Upstream(server.url.absoluteString))
        let (ports, found) = AsyncStream<Int>.makeStream()
        let services = ReverseProxy(to: upstream, logger: Receivers().logger).services(host: "127.0.0.1", port: 0) { found.yield($0) }
        let group = ServiceGroup(configuration: .init(services: services, logger: Receivers().logger))
        let running = Task { try await group.run() }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        try await RawClient.run(port) { client in
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = await client.read(until: "half")
            await group.triggerGracefulShutdown()
            // The shutdown has started once the server accepts no connection.
            while (try? await RawClient.run(port, { _ in })) != nil {}
            go.open()
            #expect(await client.readAll() == "full")
        }
        try await running.value
        #expect(await server.waitUntil { $0.openConnections == 0 })
    }
}
