import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Deadlines", .serialized, .timeLimit(.minutes(2))) struct DeadlineTests {
    @Test("the upstream has as much time as the client gives, and learns of it")
    func ends() async throws {
        let clock = ManualClock(), arrived = TestGate()
        let server = try await TestServer.start(script: { _ in [.receiveHead, .signal(arrived), .stall] })
        try await withProxy(to: server.url.absoluteString, { $0.clock = clock }) { port in
            try await RawClient.run(port) { client in
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Timeout: 2.5\r\n\r\n")
                await arrived.wait()
                await clock.waitForSleepers(1)
                clock.advance(by: .milliseconds(2_500))
                #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 504"))
            }
        }
    }

    @Test("a request whose time is over does not reach the upstream")
    func over() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Timeout: 0\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 504") && server.connectionCount == 0)
        }
    }

    @Test("a time that is not a number of seconds gets a 400", arguments: ["", "soon", "-1", "inf", "nan", "0x1p3", "1.2.3", "1, 2"])
    func invalid(value: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Timeout: \(value)\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 400") && server.connectionCount == 0)
        }
    }

    @Test("the field reaches the upstream")
    func passes() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            _ = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Timeout: 60\r\nConnection: close\r\n\r\n")
            #expect(server.requests.map { $0.headers["X-Request-Timeout"] } == ["60"])
        }
    }
}
