import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct LifecycleTests {
    @Test("stop ends connections that stall, wait or are idle") func stopEndsStalledWaitingAndIdleConnections() async throws {
        let never = TestGate()
        let server = try await TestServer.start(script: { connection in
            switch connection.number {
            case 1: [.stall]
            case 2: [.wait(never)]
            case 3: [.delay(.seconds(3600))]
            case 4: [.receiveRequest]
            case 5: [.sendUntilClosed(Data(count: 65_536))]
            case 6: [.loop([])]
            default: [.serve { _ in .status(200) }]
            }
        })
        let clients = try await offPool { try (0..<7).map { _ in try RawClient(port: server.port) } }
        #expect(await server.waitUntil { $0.openConnections == 7 })
        await server.stop()
        await server.stop()
        #expect(server.openConnections == 0)
        let ends = try await offPool { clients.map { $0.readToEnd().end } }
        #expect(!ends.contains(.limit))
        #expect(await server.waitUntil { $0.connectionCount == 100 } == false)
        await #expect(throws: RawClient.Failure.self) { try await offPool { _ = try RawClient(port: server.port) } }
    }

    @Test("stopping in the middle of a reply resets the connection, so the client never takes it for the reply's end")
    func stopInAReply() async throws {
        let head = "HTTP/1.1 200 OK\r\n", whole = head + "Content-Length: 0\r\n\r\n"
        let scripts: [[ConnectionStep]] = [
            [.send(head), .stall], [.send(head), .wait(TestGate())], [.send(head), .delay(.seconds(3600))],
            [.send(whole + head), .receive(bytes: 100)], [.drip(head + "X", every: .seconds(3600))],
        ]
        let server = try await TestServer.start(script: { connection in
            if scripts.indices.contains(connection.number - 1) { return scripts[connection.number - 1] }
            return [.serve { _ in .script([.send(whole), .resumeServing]) }]
        })
        let clients = try await offPool {
            try (0...scripts.count).map { index in
                let client = try RawClient(port: server.port)
                client.send("GET / HTTP/1.1\r\n\r\n")
                // The server numbers connections in the order in which it accepts them.
                _ = client.read(through: index == scripts.count ? "\r\n\r\n" : "H")
                return client
            }
        }
        await server.stop()
        let ends = try await offPool { clients.map { $0.readToEnd().end } }
        #expect(ends == Array(repeating: .reset, count: scripts.count) + [.closed])
    }

    @Test(
        "a client that disconnects cancels the handler, and so does stop, which does not wait for one that ignores the cancellation",
        arguments: [true, false])
    func cancelsTheHandler(byStop: Bool) async throws {
        let began = TestGate(), cancelled = TestGate()
        let server = try await TestServer.start { _ in
            began.open()
            await TestGate().wait()
            cancelled.open()
            return .status(200)
        }
        let client = try await server.client { client in
            client.send(get)
            return client
        }
        await began.wait()
        if byStop { await server.stop() } else { client.cut() }
        await cancelled.wait()
        #expect(await server.waitUntil { $0.openConnections == 0 })
    }

    @Test("a server that is released closes its port and its connections") func aServerThatNobodyKeepsCloses() async throws {
        func startAndForget() async throws -> RawClient {
            let server = try await TestServer.start(script: { _ in [.stall] })
            let client = try await offPool { try RawClient(port: server.port) }
            await server.waitUntil { $0.openConnections == 1 }
            return client
        }
        let forgotten = try await startAndForget()
        #expect(try await offPool { forgotten.readToEnd().end } != .limit)
    }

    @Test("waitUntil returns when its task is canceled") func waitUntilReturnsWhenItsTaskIsCancelled() async throws {
        let server = try await TestServer.start { _ in .status(200) }
        let waiting = Task { await server.waitUntil { $0.requestCount == 1 } }
        waiting.cancel()
        #expect(await waiting.value == false)
        let gate = TestGate()
        let stuck = Task { await gate.wait() }
        stuck.cancel()
        await stuck.value
        #expect(!gate.isOpen)
    }

    @Test("starting on a port that is in use fails with an error") func aTakenPortIsAnError() async throws {
        // Another process may get the port while it is free. The test then tries again.
        for _ in 0..<20 {
            let server = try await TestServer.start { _ in .status(200) }
            await #expect(throws: TestServerError.self) { try await TestServer.start(port: UInt16(server.port)) { _ in .status(200) } }
            await server.stop()
            guard let again = try? await TestServer.start(port: UInt16(server.port), { _ in .status(200) }) else { continue }
            #expect(again.port == server.port)
            return await again.stop()
        }
        Issue.record("a port that was given back is not to be had")
    }
}
