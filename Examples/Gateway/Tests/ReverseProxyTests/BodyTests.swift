import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Bodies", .serialized, .timeLimit(.minutes(2))) struct BodyTests {
    private static let megabyte = Data(repeating: 7, count: 1 << 20)

    @Test(
        "every method passes, with a body in each direction", arguments: ["POST", "PUT", "PATCH", "DELETE", "QUERY", "OPTIONS", "PROPFIND"])
    func methods(name: String) async throws {
        try await withUpstream({ _ in }, { .data($0.body, contentType: $0.headers["Content-Type"] ?? "none") }) { port, server in
            for length in [5, nil] as [Int64?] {
                let response = try await makeClient().httpRequest(.custom(name), withUrl: "http://127.0.0.1:\(port)/")
                    .set(
                        streamBody: AsyncStream {
                            $0.yield(Data("hello".utf8)); $0.finish()
                        }, length: length, contentType: "text/x-a"
                    ).response()
                #expect(response.text == "hello")
                #expect(response.headers["Content-Type"] == "text/x-a")
            }
            #expect(server.requests.map(\.method.rawValue) == [name, name])
            #expect(server.requests.map { $0.headers["Content-Length"] } == ["5", nil])
            #expect(server.requests.map(\.isChunked) == [false, true])
        }
    }

    @Test(
        "a request without a body is forwarded without one, and a GET with a body gets a 400", arguments: ["GET", "HEAD", "DELETE", "POST"])
    func withoutBody(name: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let head = "\(name) / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            let answer = try await exchange(port, "\(head)\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            #expect(server.requests.first?.isChunked == false)
            #expect(server.requests.first?.headers["Content-Length"] == (name == "POST" ? "0" : nil))
            let withBody = try await exchange(port, "\(head)Content-Length: 1\r\n\r\nx")
            #expect(withBody.hasPrefix("HTTP/1.1 \(name == "GET" || name == "HEAD" ? 400 : 200)"))
        }
    }

    @Test("a transfer coding that the proxy does not decode gets a 501")
    func transferCoding() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(
                port, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 501"))
            #expect(server.connectionCount == 0)
        }
    }

    @Test("bodies are streamed in both directions: neither side waits for the end of the other's body")
    func streams() async throws {
        let hasStart = TestGate(), go = TestGate()
        let server = try await TestServer.start(script: { _ in
            [
                .receiveHead, .receive(bytes: 5), .signal(hasStart), .receive(bytes: 5),
                .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nstart"), .wait(go), .send("rest!"),
            ]
        })
        try await withProxy(to: server.url.absoluteString) { port in
            try await RawClient.run(port) { client in
                try await client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nstart")
                await hasStart.wait()
                try await client.send("rest!")
                #expect(await client.read(until: "start").hasSuffix("start"))
                go.open()
                #expect(await client.read(until: "rest!") == "rest!")
            }
        }
    }

    /// The limit for the bytes that both connections and all buffers between client and upstream hold, in MiB.
    private static let inFlight = 48

    @Test("a client that reads slowly holds the upstream back")
    func slowClient() async throws {
        let count = 192
        let gates = (0..<count).map { _ in TestGate() }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(count << 20)\r\n\r\n"
        let steps = [.send(head)] + gates.flatMap { [.sendData(Self.megabyte), .signal($0)] as [ConnectionStep] }
        try await withUpstream({ _ in }, { _ in .script(steps) }) { port, _ in
            var received = 0
            for try await chunk in makeClient().get("http://127.0.0.1:\(port)/").streamRequest().chunks {
                received += chunk.count
                let isAhead = (received >> 20) + Self.inFlight < count && gates[(received >> 20) + Self.inFlight].isOpen
                if isAhead {
                    Issue.record("the upstream is more than \(Self.inFlight) MiB ahead of the client, which has \(received) bytes")
                }
                if isAhead { break }
            }
            #expect(received == count << 20)
        }
    }

    @Test("an upstream that reads slowly holds the client back")
    func slowUpstream() async throws {
        let count = 192
        let gates = (0..<count).map { _ in TestGate() }
        let steps = [.receiveHead] + gates.flatMap { [.receive(bytes: 1 << 20), .signal($0)] as [ConnectionStep] }
        let server = try await TestServer.start(script: { _ in steps + [.send("HTTP/1.1 204 No Content\r\n\r\n")] })
        try await withProxy(to: server.url.absoluteString) { port in
            let response = try await makeClient().put("http://127.0.0.1:\(port)/").set(
                streamBody: { writer in
                    for number in 0..<count {
                        try await writer.write(Self.megabyte)
                        let isAhead = number > Self.inFlight && !gates[number - Self.inFlight].isOpen
                        if isAhead { Issue.record("the client is more than \(Self.inFlight) MiB ahead of the upstream at \(number) MiB") }
                    }
                }, length: Int64(count << 20)
            ).response()
            #expect(response.statusCode == 204)
        }
    }

    @Test("a response that arrives before the whole body was sent reaches the client, and the connection serves the next request")
    func earlyResponse() async throws {
        let server = try await TestServer.start(script: { info in
            info.number == 1
                ? [.receiveHead, .receive(bytes: 3), .send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"), .stall]
                : [.serve { _ in .text("next") }]
        })
        try await withProxy(to: server.url.absoluteString) { port in
            try await RawClient.run(port) { client in
                try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc")
                #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 413"))
                try await client.send("defGET /next HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(await client.read(until: "next").hasPrefix("HTTP/1.1 200"))
            }
        }
    }
}
