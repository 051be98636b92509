#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// https through a proxy, which is asked for a tunnel (`CONNECT`) first. On Linux URLSession reports its answer like a response.
@Suite(.inTurn, .inOwnProcess) struct ProxyTests {
    /// A server, and a proxy before it that answers `CONNECT` with something else where that is given.
    private static func proxied(
        _ handler: @escaping TestServer.Handler,
        connect: @escaping @Sendable (_ port: Int, _ count: Int) -> Reply = { port, _ in tunnel(port) },
        _ body: (_ server: TestServer, _ proxy: TestServer) async throws -> Void
    ) async throws {
        try await servingSecurely(handler) { server in
            let count = Tally()
            let proxy = try await TestServer.start { request in
                guard request.method.rawValue == "CONNECT" else { return .status(500) }
                return connect(server.port, count.enter())
            }
            OwnProcess.setProxy(proxy.url)
            try await stopping(proxy) { try await body(server, $0) }
        }
    }

    /// The answer of a proxy that says more than it should.
    private static func tunnel(_ port: Int) -> Reply {
        .tunnel(toPort: port, headers: ["Set-Cookie": "proxy=1", "X-Proxy": "1", "Content-Encoding": "gzip", "Location": "/proxy"])
    }

    // MARK: the response is the server's

    @Test("status, header and body are the server's, on a new connection and on a reused one")
    func response() async throws {
        try await Self.proxied({ _ in .text("none", status: 404, headers: ["X-Server": "1", "Set-Cookie": "server=1"]) }) { server, proxy in
            let jar = CookieJar()
            let ness = Ness { $0.cookies = jar }
            for method in [HTTPMethod.get, .get, .head, .post, .put] {
                var builder = ness.httpRequest(method, withUrl: server.securely(at: "/x"))
                if method == .post || method == .put { builder = builder.set(stringBody: "body") }
                let response = try await builder.dataRequest().value.message
                #expect(response.statusCode == 404)
                #expect(response.text == (method == .head ? "" : "none"))
                #expect(response.headers["X-Server"] == "1")
                #expect(response.headers["X-Proxy"] == nil)
            }
            #expect(jar.cookies.map(\.name) == ["server"])
            // The two GETs and the HEAD share a connection; what must not be sent twice has one of its own.
            #expect(proxy.requestCount == (Engine.isURLSessionOnLinux ? 3 : 1))
        }
    }

    @Test("a stream reports its head before its first byte")
    func stream() async throws {
        let hasHead = TestGate()
        try await Self.proxied({ _ in
            .script([
                .send("HTTP/1.1 202 Accepted\r\nContent-Length: 4\r\nX-Server: 1\r\n\r\n"), .wait(hasHead), .send("late"), .close,
            ])
        }) { server, _ in
            let stream = Ness().httpRequest(withUrl: server.securely(at: "/")).streamRequest()
            let head = try await stream.value.message
            #expect(head.statusCode == 202)
            #expect(head.headers["X-Server"] == "1")
            hasHead.open()
            var body = Data()
            for try await chunk in stream.chunks { body += chunk }
            #expect(String(decoding: body, as: UTF8.self) == "late")
        }
    }

    // MARK: a proxy that leads nowhere

    @Test("a proxy's rejection is not a response: the server was not reached, and the reason has the proxy's status")
    func refusal() async throws {
        for status in [302, 400, 401, 403, 407, 408, 429, 500, 502, 503] {
            let fields: HTTPHeaders = ["Proxy-Authenticate": "Basic realm=p", "Location": "/x", "Set-Cookie": "proxy=1"]
            let refuse: @Sendable (Int, Int) -> Reply = { _, _ in .text("refused", status: status, headers: fields) }
            try await Self.proxied({ _ in .text("never") }, connect: refuse) { server, proxy in
                let jar = CookieJar()
                let builder = Ness { $0.cookies = jar }.httpRequest(.post, withUrl: server.securely(at: "/")).set(stringBody: "x")
                let error = await builder.dataRequest().nessError()
                #expect(error?.kind == .cannotConnect, "\(status)")
                #expect(error?.context.reason.contains("responded to CONNECT with \(status)") == true)
                #expect(error?.context.reason.contains("the proxy 127.0.0.1:\(proxy.port) ") == true, "\(error?.context.reason ?? "")")
                #expect(error?.context.reason.contains("requires credentials") == (status == 407))
                #expect(error?.response == nil)
                #expect(error?.mayHaveReachedServer == false)
                #expect(error?.isTransient == ![400, 401, 403, 407].contains(status), "\(status)")
                #expect(jar.cookies.isEmpty)
                #expect(server.connectionCount == 0)
                #expect(proxy.requestCount == 1)
            }
        }
    }

    @Test("an error of a proxy that is unknown or that cannot be reached names it, but not its credentials")
    func missing() async throws {
        for proxy in ["127.0.0.1:1", "no-such-proxy.invalid:3128"] {
            for variable in ["http_proxy", "https_proxy"] { setenv(variable, "http://hidden1:hidden2@\(proxy)", 1) }
            for target in ["http://server.test/", "https://server.test/"] {
                let error = try #require(await Ness().httpRequest(withUrl: target).dataRequest().nessError())
                #expect(error.kind == .cannotConnect && error.description.contains("through the proxy \(proxy)"), "\(error)")
                expectHidden("hidden", in: error)
            }
        }
    }

    @Test("a 407 over http is explained: the proxy, which the error names, requires credentials")
    func credentialsOverHTTP() async throws {
        let proxy = try await TestServer.start { _ in .text("no", status: 407, headers: ["Proxy-Authenticate": "Basic realm=p"]) }
        try await stopping(proxy) { proxy in
            setenv("http_proxy", proxy.url.absoluteString, 1)
            let demand = "status 407, expected 200..<300; the proxy 127.0.0.1:\(proxy.port) requires credentials"
            let request = Ness().httpRequest(withUrl: "http://server.test/")
            let error = await request.validate().dataRequest().nessError()
            #expect(error?.kind == .validation && error?.description.contains(demand) == true, "\(String(describing: error))")
            let failed = await request.validate().streamRequest().nessError()
            #expect(failed?.description.contains(demand) == true, "\(String(describing: failed))")
            // Every response of a request without validators is a result.
            let response = try await request.dataRequest().value.message
            #expect(response.statusCode == 407)
        }
    }

    @Test("a proxy's 403 and 407 are never retried, for any control; a temporary rejection is retried, even for a POST")
    func retries() async throws {
        for (status, attempts) in [(403, 1), (407, 1), (429, 3), (503, 3)] {
            let refuse: @Sendable (Int, Int) -> Reply = { port, count in count < 2 ? .status(status) : Self.tunnel(port) }
            try await Self.proxied({ .text($0.bodyText) }, connect: refuse) { server, proxy in
                let request = Ness().httpRequest(.post, withUrl: server.securely(at: "/")).set(stringBody: "x")
                let outcome = await request.dataRequest(with: CounterRetryControl(maxRetryCount: 5)).settled
                let text = try? outcome.get().message.text
                #expect(text == (attempts == 1 ? nil : "x"))
                #expect(proxy.requestCount == attempts)
            }
        }
    }

    @Test("a proxy that closes has not reached the server, and its message is not a response")
    func gone() async throws {
        let established = "HTTP/1.1 200 Connection established\r\n"
        let ends: [(name: String, steps: [ConnectionStep], kind: NessError.Kind)] = [
            ("closes", [.close], .cannotConnect),
            ("resets", [.reset], .connectionLost),
            ("resets in its head", [.send(established), .reset], .connectionLost),
            ("closes the tunnel", [.send(established + "\r\n"), .close], .connectionLost),
            ("resets the tunnel", [.send(established + "\r\n"), .reset], .connectionLost),
            ("leads to a closed port", [.send(established + "\r\n"), .tunnel(toPort: 1)], .connectionLost),
        ]
        for end in ends {
            try await Self.proxied({ _ in .text("never") }, connect: { _, _ in .script(end.steps) }) { server, _ in
                let error = await Ness().httpRequest(withUrl: server.securely(at: "/")).dataRequest().nessError()
                #expect(error?.kind == end.kind, "\(end.name): \(error?.description ?? "")")
                #expect(error?.response == nil)
                #expect(error?.isTransient == true)
                #expect(server.connectionCount == 0)
            }
        }
    }
}
#endif
