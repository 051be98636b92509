import NessHTTP
import NessTesting
import Testing

@testable import ReverseProxy

@Suite("Slow bodies", .serialized, .timeLimit(.minutes(2))) struct SlowBodyTests {
    private static let rate = BodyRate(bytesPerSecond: 10, grace: .seconds(5))

    @Test("each byte gives the client its share of time, and no more") func pace() {
        let clock = ManualClock(), pace = BodyPace(Self.rate, on: clock)
        for (seconds, isFastEnough) in [(1, true), (3, true), (4, true), (2, false)] {
            pace.beginWait()
            clock.advance(by: .seconds(seconds))
            // Ten bytes a second, and five seconds besides.
            #expect(pace.endWait(10) == isFastEnough)
        }
    }

    @Test("the time in which the upstream holds the client back does not count")
    func heldBack() {
        let clock = ManualClock(), pace = BodyPace(Self.rate, on: clock)
        for isFastEnough in [true, true, false] {
            clock.advance(by: .seconds(100))
            pace.beginWait()
            clock.advance(by: .seconds(3))
            #expect(pace.endWait(10) == isFastEnough)
        }
    }

    /// No client is as fast.
    private static let tooFast = BodyRate(grace: .seconds(-1_000))

    @Test(
        "a client whose body is too slow gets a 408, and its connection ends",
        arguments: ["Content-Length: 1000", "Transfer-Encoding: chunked"])
    func drips(field: String) async throws {
        let server = try await TestServer.start(script: { _ in [.receiveHead, .stall] })
        try await withProxy(to: server.url.absoluteString, slowestBody: Self.tooFast) { port in
            let answer = try await exchange(port, "POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n1\r\nx\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 408"), "\(answer)")
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
        await server.stop()
    }

    @Test("a client that drips the rest of its body after the response does not keep its connection")
    func dripsAfterResponse() async throws {
        try await withProxy(to: "http://127.0.0.1:1", slowestBody: Self.tooFast) { port in
            let answer = try await exchange(port, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx")
            #expect(answer.hasPrefix("HTTP/1.1 408") || answer.hasPrefix("HTTP/1.1 502"))
            #expect(answer.hasSuffix("\r\n\r\n"))
        }
    }

    @Test("without a limit a body may take any time")
    func unlimited() async throws {
        let clock = ManualClock()
        try await withProxy(to: "http://127.0.0.1:1", slowestBody: nil, { $0.clock = clock }) { port in
            try await RawClient.run(port) { client in
                try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
                #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 502"))
                clock.advance(by: .seconds(100_000))
                try await client.send("yGET / HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 502"))
            }
        }
    }
}
