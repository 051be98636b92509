import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A server as a proxy.
@Suite(.inTurn) struct TunnelTests {
    private static let connect = "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n"
    private static let established = "HTTP/1.1 200 Connection established\r\n\r\n"

    /// Runs a server with a script, and a proxy that leads to it.
    private func proxied<Result: Sendable>(
        _ script: @escaping @Sendable (ConnectionInfo) -> [ConnectionStep],
        _ body: @escaping @Sendable (RawClient, _ server: TestServer) throws -> Result
    ) async throws -> Result {
        let server = try await TestServer.start(script: script)
        let proxy = try await TestServer.start { request in
            request.method.rawValue == "CONNECT" ? .tunnel(toPort: server.port) : .status(500)
        }
        let result = try await offPool { try body(RawClient(port: proxy.port), server) }
        #expect(await proxy.waitUntil { $0.openConnections == 0 })
        #expect(await server.waitUntil { $0.openConnections == 0 })
        await proxy.stop()
        await server.stop()
        return result
    }

    @Test("a tunnel passes on what both sides send, including the bytes after the CONNECT")
    func relays() async throws {
        try await proxied({ _ in [.serve { .text("\($0.path) \($0.body.count)") }] }) { client, _ in
            client.send(Self.connect + get)
            #expect(client.read(through: "\r\n\r\n") == Self.established)
            #expect(client.exchange("").body == "/hello 0")
            client.send("POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
            client.send(Data(count: 3_000_000))
            #expect(client.exchange("").body == "/big 3000000")
            client.cut()
        }
    }

    @Test("a tunnel passes on an orderly end of either side, and a reset")
    func ends() async throws {
        let ends: [(ConnectionStep, RawClient.End)] = [(.close, .closed), (.reset, .reset)]
        for (step, end) in ends {
            let result = try await proxied({ _ in [.receiveHead, .send("bye"), step] }) { client, _ in
                client.send(Self.connect)
                _ = client.read(through: "\r\n\r\n")
                client.send(get)
                return client.readToEnd().end
            }
            #expect(result == end)
        }
        let text = try await proxied({ _ in [.serve { _ in .text("still here", headers: ["Connection": "close"]) }] }) { client, _ in
            client.send(Self.connect)
            _ = client.read(through: "\r\n\r\n")
            client.send(get)
            client.closeWriting()
            return client.readToEnd().text
        }
        #expect(text.hasSuffix("still here"))
    }

    @Test("a tunnel to a port where nothing listens is reset")
    func refused() async throws {
        let proxy = try await TestServer.start { _ in .tunnel(toPort: 1) }
        let result = try await proxy.client { client in
            client.send(Self.connect)
            return client.readToEnd()
        }
        #expect(result.end == .reset)
    }

    @Test("a proxy stops while its tunnels are open")
    func stops() async throws {
        let server = try await TestServer.start(script: { _ in [.stall] })
        let proxy = try await TestServer.start { _ in .tunnel(toPort: server.port) }
        let client = try await proxy.client { client in
            client.send(Self.connect)
            _ = client.read(through: "\r\n\r\n")
            return client
        }
        await proxy.stop()
        #expect(proxy.openConnections == 0)
        await server.waitUntil { $0.openConnections == 0 }
        client.cut()
    }
}
