import Foundation
import NessHTTP
import NessTesting
import Testing

@testable import ReverseProxy

@Suite("Errors", .serialized, .timeLimit(.minutes(2))) struct ErrorTests {
    @Test("each kind of error has its status")
    func table() {
        let statuses: [NessError.Kind: Int] = [
            .invalidRequest: 400, .offline: 502, .cannotConnect: 502, .addressRejected: 502, .timedOut: 504, .dropped: 503, .tls: 502,
            .connectionLost: 502,
            .truncated: 502, .malformedResponse: 502, .validation: 500, .decoding: 500, .redirect: 500, .duplicate: 500, .circuitOpen: 503,
            .responseTooLarge: 502, .fileSystem: 500, .notCached: 504,
        ]
        for kind in NessError.Kind.allCases {
            #expect(Refusal(NessError(kind, .init(request: nil, reason: ""))).status == statuses[kind])
        }
        #expect(Refusal(NessError(.timedOut, .init(request: nil, reason: "", underlying: StalledBody()))).status == 408)
    }

    @Test(
        "an upstream that cannot be reached, or does not speak HTTP or TLS, gives a 502", arguments: ["refused", "noise", "reset", "tls"])
    func badGateway(fault: String) async throws {
        let server = try await TestServer.start(script: { _ in [.receive(bytes: 1), fault == "reset" ? .reset : .send("noise\r\n\r\n")] })
        let url =
            switch fault {
            case "refused": "http://127.0.0.1:1"
            case "tls": "https://127.0.0.1:\(server.port)"
            default: server.url.absoluteString
            }
        try await withProxy(to: url) { port in
            for method in ["GET", "POST"] {
                let answer = try await exchange(port, "\(method) / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 502") && answer.hasSuffix("\r\n\r\n"))
            }
        }
    }

    @Test("the proxy reads a body that no upstream accepts, and the connection serves the next request")
    func unreadBody() async throws {
        try await withProxy(to: "http://127.0.0.1:1") { port in
            let body = String(repeating: "x", count: 4 << 20)
            try await RawClient.run(port) { client in
                for _ in 1...2 {
                    try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                    #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 502"))
                }
            }
        }
    }

    @Test("a silent upstream gives a 504")
    func timeout() async throws {
        let clock = ManualClock(), arrived = TestGate()
        let server = try await TestServer.start(script: { _ in [.receiveHead, .signal(arrived), .stall] })
        try await withProxy(to: server.url.absoluteString, { $0.clock = clock }) { port in
            try await RawClient.run(port) { client in
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                await arrived.wait()
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(60))
                #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 504"))
            }
        }
    }

    @Test("a client that stalls inside its body gets a 408, and its connection ends")
    func stalledClient() async throws {
        let clock = ManualClock()
        try await withUpstream({ $0.clock = clock }, { _ in .text("ok") }) { port, server in
            try await RawClient.run(port) { client in
                try await client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
                // The connection to the upstream wants the body.
                _ = await client.read(until: "\r\n\r\n")
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(60))
                let answer = await client.readAll()
                #expect(answer.hasPrefix("HTTP/1.1 408") && answer.contains("Connection: close\r\n"))
            }
            #expect(server.requestCount == 0)
        }
    }

    @Test("while the circuit breaker is open, a request gets a 503 with the remaining time")
    func circuitOpen() async throws {
        let clock = ManualClock()
        try await withUpstream(
            {
                $0.clock = clock
                $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.1, minimumRequests: 1, openDuration: .seconds(30))
            }, { _ in .status(500) }
        ) { port, server in
            let url = "http://127.0.0.1:\(port)/"
            let failed = try await makeClient().get(url).response()
            #expect(failed.statusCode == 500)
            clock.advance(by: .milliseconds(500))
            let response = try await makeClient().get(url).response()
            #expect(response.statusCode == 503)
            #expect(response.headers["Retry-After"] == "30")
            #expect(server.requestCount == 1)
        }
    }

    @Test(
        "a truncated response never looks complete",
        arguments: ["Content-Length: 10\r\n\r\nhalf!", "Transfer-Encoding: chunked\r\n\r\n5\r\nhalf!\r\n"], [ConnectionStep.close, .reset])
    func broken(response: String, end: ConnectionStep) async throws {
        let go = TestGate()
        let steps: [ConnectionStep] = [.receiveHead, .send("HTTP/1.1 200 OK\r\n\(response)"), .wait(go), end]
        let server = try await TestServer.start(script: { _ in steps })
        try await withProxy(to: server.url.absoluteString) { port in
            try await RawClient.run(port) { client in
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(await client.read(until: "half!").contains("half!"))
                go.open()
                // The end of the connection, and not that of the chunks.
                #expect(["", "\r\n"].contains(await client.readAll()))
            }
        }
    }
}
