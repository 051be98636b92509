#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// TLS on loopback, with certificates that are made when they are needed.
@Suite(.inTurn, .inOwnProcess) struct SecureTests {
    private static func error(of server: TestServer, _ method: HTTPMethod = .get) async throws -> NessError {
        var builder = Ness().httpRequest(method, withUrl: "https://127.0.0.1:\(server.port)/")
        if method == .post { builder = builder.set(stringBody: "x") }
        let promise = builder.dataRequest()
        return try await stopping(server) { _ in try #require(await promise.nessError()) }
    }

    // MARK: what goes through

    @Test("requests and responses of any size arrive complete, and a connection is reused")
    func whole() async throws {
        try await servingSecurely({ .data($0.body, headers: ["X-Method": $0.method.rawValue]) }) { server in
            let ness = Ness()
            for size in [0, 1, 16_383, 16_384, 16_385, 3 << 20] {
                let body = patternedData(size)
                let response = try await ness.httpRequest(.put, withUrl: server.securely(at: "/")).set(body: body).dataRequest().value
                    .message
                #expect(response.body == body)
            }
            for _ in 0..<3 { _ = try await ness.httpRequest(withUrl: server.securely(at: "/")).dataRequest().value }
            #expect(Set(server.requests.filter { $0.method == .get }.map(\.connectionNumber)).count == 1)
        }
    }

    @Test("bodies from sequences arrive whole, and a sequence that fails is the cause", arguments: [true, false])
    func sequences(isLengthKnown: Bool) async throws {
        try await servingSecurely({ .data($0.body) }) { server in
            let content = patternedData(3 << 20), builder = Ness().httpRequest(.post, withUrl: server.securely(at: "/"))
            for _ in 0..<2 {
                let pieces = Pieces(content.pieces(of: 100_000))
                let sent = builder.set(streamBody: pieces, length: isLengthKnown ? Int64(content.count) : nil)
                let result = try await sent.dataRequest().value
                #expect(result.responseData == content)
            }
            let failing = Pieces { number in if number < 20 { Data(count: 100_000) } else { throw Rejected() } }
            let error = await builder.set(streamBody: failing, length: isLengthKnown ? 1 << 30 : nil).dataRequest().nessError()
            #expect(error?.kind == .invalidRequest && error?.underlying as? Rejected == Rejected())
            #expect(server.requestCount == 2)
        }
    }

    @Test("a request that must not be repeated arrives once, even if reused connections break")
    func once() async throws {
        try await servingSecurely({ request in
            request.requestNumberOnConnection == 1 ? .text(request.bodyText + "!") : .script([.close])
        }) { server in
            let ness = Ness()
            for round in 0..<3 {
                _ = try await ness.httpRequest(withUrl: server.securely(at: "/warm")).dataRequest().value
                let promise = ness.httpRequest(.post, withUrl: server.securely(at: "/\(round)")).set(stringBody: "body").dataRequest()
                let outcome = await promise.settled
                switch outcome {
                case .success(let result): #expect(result.message.text == "body!")
                // URLSession gives it a connection of its own. Elsewhere one that was used a moment ago may die under it.
                case .failure(let error): #expect(!Engine.isURLSessionOnLinux && (error as? NessError)?.kind == .connectionLost)
                }
            }
            #expect(server.requests.filter { $0.method == .post }.map(\.target) == ["/0", "/1", "/2"])
        }
    }

    // MARK: what does not

    @Test("the error names the fault of a rejected certificate, and the request is not retried")
    func certificates() async throws {
        let authority = try OwnProcess.authority.get()
        let cases: [(TestCertificate, TLSFailure)] = [
            (try authority.certificate(until: .seconds(-60)), .expired),
            (try authority.certificate(validFrom: .seconds(3_600)), .expired),
            (try authority.certificate(for: ["other.test"]), .wrongHost),
            (try TestAuthority(name: "Nobody's").certificate(), .untrusted),
        ]
        for (certificate, failure) in cases {
            let error = try await Self.error(of: TestServer.start(certificate: certificate) { _ in .text("never") })
            #expect(error.kind == .tls)
            #expect(error.tlsFailure == failure, "\(error)")
            #expect(!error.isTransient && !error.mayHaveReachedServer)
        }
    }

    @Test("a server without TLS is a protocol mismatch")
    func plain() async throws {
        let servers = [
            try await TestServer.start { _ in .text("plain") },
            try await TestServer.start(script: { _ in [.receive(bytes: 1), .send("220 mail.example.com ESMTP\r\n"), .stall] }),
        ]
        for server in servers {
            let error = try await Self.error(of: server)
            #expect(error.kind == .tls)
            #expect(error.tlsFailure == .protocolMismatch, "\(error)")
        }
    }

    @Test("a server that closes during the handshake is a lost connection, and the request was not sent")
    func closesInHandshake() async throws {
        for first in [[], [ConnectionStep.receive(bytes: 1)]] {
            for method in [HTTPMethod.get, .post] {
                let error = try await Self.error(of: TestServer.start(script: { _ in first + [.close] }), method)
                #expect(error.kind == .connectionLost, "\(error)")
                #expect(error.tlsFailure == nil)
                #expect(error.isTransient)
                // A server that closes with unread bytes may reset the connection, and URLSession on Linux does not tell when that was.
                if Engine.isURLSessionOnLinux, error.context.reason.contains("reset") { continue }
                #expect(!error.mayHaveReachedServer)
                #expect(!error.context.reason.contains("may have acted"))
            }
        }
    }

    @Test("a reset during the handshake is a lost connection")
    func resetsInHandshake() async throws {
        let error = try await Self.error(of: TestServer.start(script: { _ in [.receive(bytes: 1), .reset] }))
        #expect(error.kind == .connectionLost, "\(error)")
        #expect(error.isTransient)
    }

    @Test("a control may retry a connection lost in the handshake, even for a POST")
    func retries() async throws {
        let certificate = try OwnProcess.authority.get().certificate()
        let server = try await TestServer.start(certificate: certificate) { .text($0.bodyText) }
        let door = try await TestServer.start(script: { connection in
            connection.number < 3 ? [.receive(bytes: 1), .close] : [.tunnel(toPort: server.port)]
        })
        let ness = Ness { $0.retryControl = CounterRetryControl(maxRetryCount: 5) }
        let promise = ness.httpRequest(.post, withUrl: "https://127.0.0.1:\(door.port)/").set(stringBody: "x").dataRequest()
        let text = try await promise.value.message.text
        #expect(text == "x")
        #expect(door.connectionCount == 3)
        #expect(server.requestCount == 1)
        await door.stop()
        await server.stop()
    }

    @Test("a connection that breaks in the middle of a body is lost or cut, not insecure")
    func breaks() async throws {
        for (last, kinds) in [(ConnectionStep.reset, [NessError.Kind.connectionLost]), (.close, [.truncated])] {
            let start = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nstart"
            try await servingSecurely({ _ in .script([.send(start), last]) }) { server in
                let error = await Ness().httpRequest(withUrl: server.securely(at: "/")).dataRequest().nessError()
                #expect(error.map { kinds.contains($0.kind) } == true, "\(error?.description ?? "")")
            }
        }
    }
}
#endif
