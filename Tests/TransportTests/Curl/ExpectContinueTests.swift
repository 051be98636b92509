#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// `Expect: 100-continue` over libcurl. The limit of the wait is an hour where the server answers, so that no test depends on the time.
@Suite(.inTurn) struct ExpectContinueTests {
    private static let final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno"
    private static let bodies: [Data] = [Data("small".utf8), patternedData(1 << 20)]

    /// Sends a body to a server, and returns the response.
    private static func send(
        _ body: Data, to server: TestServer, by method: HTTPMethod = .post, within limit: Duration = .seconds(3_600),
        observers: [any RequestObserver] = []
    ) async throws -> HTTPResponse {
        let request = try curlNess(observers: observers).httpRequest(method, withUrl: server.url).set(body: body)
        return try await request.set(expectsContinue: true, within: limit).response()
    }

    @Test("the body follows when the server agrees", arguments: [HTTPMethod.post, .put])
    func agreed(_ method: HTTPMethod) async throws {
        for body in Self.bodies {
            let recorder = InterimTests.Recorder()
            try await serving({ _ in .text("ok") }) { server in
                _ = try await Self.send(body, to: server, by: method, observers: [recorder])
                let received = try #require(server.requests.first)
                #expect(server.requestCount == 1 && received.body == body && received.headers["Expect"] == "100-continue")
                #expect(recorder.log.entries.filter { $0.hasPrefix("100") }.count == 1)
            }
        }
    }

    @Test("no byte of the body is sent if the server rejects the request by its head")
    func refused() async throws {
        let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"
        for body in Self.bodies {
            try await serving(script: { _ in [.receiveHead, .send(answer), .stall] }) { server in
                let response = try await Self.send(body, to: server)
                #expect(response.statusCode == 413 && response.text == "big")
                await server.waitUntil { $0.openConnections == 0 }
                #expect(server.connectionCount == 1)
                let sent = server.statistics.bytesReceived
                #expect(body.count < 1_000 || sent < body.count)
            }
        }
    }

    @Test("the body is sent after the limit if the server never sends a 100")
    func silent() async throws {
        for body in Self.bodies {
            try await serving(script: { _ in [.receiveHead, .receive(bytes: body.count), .send(Self.final), .close] }) { server in
                let response = try await Self.send(body, to: server, within: .zero)
                #expect(response.text == "ok")
            }
        }
    }

    @Test(
        "a 417 before the body repeats the request once without the expectation, even a POST; the second response is the result",
        arguments: [final, refusal])
    func unknownExpectation(then answer: String) async throws {
        for body in Self.bodies {
            try await serving(script: { connection in
                connection.number == 1 ? [.receiveHead, .send(Self.refusal), .stall] : [.receiveRequest, .send(answer), .close]
            }) { server in
                let response = try await Self.send(body, to: server)
                #expect(answer.hasPrefix("HTTP/1.1 \(response.statusCode)") && answer.hasSuffix(response.text))
                let received = try #require(server.requests.first)
                #expect(server.requestCount == 1 && received.body == body && !received.headers.contains("Expect"))
                #expect(server.connectionCount == 2)
            }
        }
    }

    @Test("a 417 after the whole body is the result")
    func late() async throws {
        for body in Self.bodies {
            try await serving(script: { _ in
                [.receiveHead, .send("HTTP/1.1 100 Continue\r\n\r\n"), .receive(bytes: body.count), .send(Self.refusal), .close]
            }) { server in
                let response = try await Self.send(body, to: server)
                #expect(response.statusCode == 417 && response.text == "no")
                #expect(server.connectionCount == 1)
            }
        }
    }

    @Test("a 417 in the middle of the body is a failure with the status, and nothing is sent again")
    func inTheMiddle() async throws {
        // More than the buffers of a socket hold: the server reads on only after its answer, which so meets an unfinished body.
        let body = Data(count: 32 << 20), isSentAgain = TestGate()
        try await serving(script: { connection in
            // libcurl opens another connection, on which the transport sends nothing.
            guard connection.number == 1 else { return [.receive(bytes: 1), .signal(isSentAgain)] }
            return [.receiveHead, .send("HTTP/1.1 100 Continue\r\n\r\n"), .receive(bytes: 1), .send(Self.refusal), .stall]
        }) { server in
            let request = try curlNess().put(server.url).set(body: body).set(expectsContinue: true, within: .seconds(3_600))
            let error = await request.dataRequest(with: CounterRetryControl(maxRetryCount: 3)).nessError()
            #expect(error?.kind == .truncated && error?.response?.statusCode == 417, "\(error?.description ?? "")")
            #expect(error?.isTransient == false)
            await server.waitUntil { $0.openConnections == 0 }
            #expect(!isSentAgain.isOpen)
        }
    }

    @Test("a request without a body has no expectation")
    func noBody() async throws {
        try await serving({ _ in .text("ok") }) { server in
            for method in [HTTPMethod.get, .post, .delete] {
                _ = try await curlNess().httpRequest(method, withUrl: server.url).set(expectsContinue: true).dataRequest().value
            }
            #expect(server.requests.allSatisfy { !$0.headers.contains("Expect") })
        }
    }

    @Test("URLSession sends the request without an expectation")
    func urlSession() async throws {
        try await serving({ .text($0.bodyText) }) { server in
            let ness = Ness { $0.transport = URLSessionTransport() }
            let request = ness.httpRequest(.post, withUrl: server.url).set(stringBody: "body").set(expectsContinue: true)
            let text = try await request.text()
            #expect(text == "body")
            #expect(server.requests.allSatisfy { !$0.headers.contains("Expect") })
        }
    }
}
#endif
