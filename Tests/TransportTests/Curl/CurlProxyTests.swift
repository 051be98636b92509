#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The proxy of a `CurlTransport`.
@Suite(.inTurn) struct CurlProxyTests {
    private static let credentials = "Basic " + Data("me:hidden word".utf8).base64EncodedString()

    /// A server with TLS, and a proxy that wants credentials.
    private static func proxied(
        _ body: (_ server: TestServer, _ proxy: TestServer, _ authority: TestAuthority) async throws -> Void
    ) async throws {
        let authority = try TestAuthority()
        try await stopping(TestServer.start(certificate: authority.certificate()) { .text($0.bodyText) }) { server in
            try await serving({ request in
                guard request.headers["Proxy-Authorization"] == credentials else { return .status(407) }
                return request.method.rawValue == "CONNECT" ? .tunnel(toPort: server.port) : .text("through the proxy to \(request.target)")
            }) { try await body(server, $0, authority) }
        }
    }

    @Test("requests go through the proxy with its credentials, which may stand in its URL; the server never sees them")
    func credentials() async throws {
        try await Self.proxied { server, proxy, authority in
            for proxyURL in ["http://127.0.0.1:\(proxy.port)", "http://me:hidden%20word@127.0.0.1:\(proxy.port)"] {
                let given = try url(proxyURL)
                let isInURL = given.user != nil
                let ness = try curlNess { options in
                    options.authorities = authority.pem
                    options.proxy = isInURL ? .url(given) : .url(given, username: "me", password: "hidden word")
                }
                let request = ness.httpRequest(.post, withUrl: server.url.absoluteString + "/x").set(stringBody: "body")
                #expect(try await request.dataRequest().value.message.text == "body")
                let plain = try await ness.httpRequest(withUrl: "http://server.test/y").dataRequest().value.message.text
                #expect(plain == "through the proxy to http://server.test/y")
            }
            #expect(server.requests.allSatisfy { !$0.headers.contains("Proxy-Authorization") })
            #expect(proxy.requests.map(\.method.rawValue) == ["CONNECT", "GET", "CONNECT", "GET"])
        }
    }

    @Test("a proxy that rejects the credentials is a failure that shows no credential")
    func wrongCredentials() async throws {
        try await Self.proxied { server, proxy, authority in
            let given = try url("http://hidden1:hidden2@127.0.0.1:\(proxy.port)")
            let ness = try curlNess { $0.proxy = .url(given) }
            let request = ness.httpRequest(.post, withUrl: server.url.absoluteString + "/x").set(stringBody: "body")
            let error = try #require(await request.dataRequest().nessError())
            #expect(error.kind == .cannotConnect && !error.isTransient && !error.mayHaveReachedServer)
            let reason = "the proxy 127.0.0.1:\(proxy.port) responded to CONNECT with 407, because it requires credentials"
            #expect(error.context.reason.contains(reason))
            for secret in ["hidden1", "hidden2"] {
                expectHidden(secret, in: error)
                let command = try request.build().curlCommand
                #expect(!error.context.reason.contains(secret) && !command.contains(secret))
            }
            #expect(server.connectionCount == 0)
        }
    }

    @Test("a missing proxy is a failure to connect that shows no credential", arguments: ["http", "https", "socks5h"])
    func missing(_ scheme: String) async throws {
        let given = try url("\(scheme)://hidden1:hidden2@127.0.0.1:1")
        let ness = try curlNess { $0.proxy = .url(given) }
        for target in ["http://server.test/", "https://server.test/"] {
            let error = try #require(await ness.httpRequest(.post, withUrl: target).dataRequest().nessError())
            #expect(error.kind == .cannotConnect, "\(error)")
            #expect(!error.context.reason.contains("hidden") && !error.mayHaveReachedServer)
            #expect(error.description.contains("through the proxy 127.0.0.1:1"), "\(error)")
        }
    }

    @Test("a proxy whose name is unknown is named", arguments: ["http", "socks5", "socks5h"])
    func unknown(_ scheme: String) async throws {
        let given = try url("\(scheme)://hidden1:hidden2@no-such-proxy.invalid:3128")
        let ness = try curlNess { $0.proxy = .url(given) }
        let error = try #require(await ness.httpRequest(withUrl: "http://server.test/").dataRequest().nessError())
        #expect(error.kind == .cannotConnect && error.description.contains("through the proxy no-such-proxy.invalid:3128"), "\(error)")
        #expect(!error.description.contains("hidden"))
    }

    @Test("a SOCKS proxy that rejects the connection is named", arguments: ["socks5", "socks5h"])
    func socks(_ scheme: String) async throws {
        // It accepts no method of authentication (RFC 1928, 3).
        let proxy = try await TestServer.start(script: { _ in [.receive(bytes: 3), .sendData(Data([5, 0xFF])), .close] })
        try await stopping(proxy) { proxy in
            let given = try url("\(scheme)://127.0.0.1:\(proxy.port)")
            let ness = try curlNess { $0.proxy = .url(given) }
            let error = try #require(await ness.httpRequest(withUrl: "http://192.0.2.1/").dataRequest().nessError())
            #expect(error.kind == .cannotConnect && error.description.contains("through the proxy 127.0.0.1:\(proxy.port)"), "\(error)")
            #expect(!error.mayHaveReachedServer)
        }
    }

    @Test("a proxy that swallows the request for a tunnel is named once the limit for connecting has passed", .keepingConnections)
    func silent() async throws {
        let clock = ManualClock(), proxy = try await TestServer.start(script: { _ in [.receiveRequest, .stall] })
        try await stopping(proxy) { proxy in
            let given = proxy.url
            let ness = try curlNess({ $0.proxy = .url(given) }, configure: { $0.clock = clock })
            let promise = ness.httpRequest(withUrl: "https://server.test/").dataRequest()
            await clock.waitForSleepers(1)
            await proxy.waitUntil { $0.connectionCount == 1 }
            clock.advance(by: .seconds(10))
            let error = try #require(await promise.nessError())
            #expect(error.description.contains("no connection was ready after 10.0 seconds, through the proxy 127.0.0.1:\(proxy.port)"))
        }
    }

    @Test("a proxy may speak TLS, with a certificate that the proxy's authorities have signed")
    func secureProxy() async throws {
        let authority = try TestAuthority(), other = try TestAuthority(name: "Nobody's")
        let proxy = try await TestServer.start(certificate: authority.certificate()) { .text("to \($0.target)") }
        try await stopping(proxy) { proxy in
            let given = try url("https://127.0.0.1:\(proxy.port)")
            for trusted in [authority, other] {
                let certificates = try trusted.certificates
                let ness = try curlNess { $0.proxy = .url(given, authorities: certificates) }
                let promise = ness.httpRequest(withUrl: "http://server.test/y").dataRequest()
                if trusted === authority {
                    #expect(try await promise.value.message.text == "to http://server.test/y")
                } else {
                    #expect(await promise.nessError()?.tlsFailure == .untrusted)
                }
            }
        }
    }
}

/// The proxy of the environment, over libcurl.
@Suite(.inTurn, .inOwnProcess) struct CurlProxyEnvironmentTests {
    @Test("the environment's proxy is used by default, unless the options name another one or switch it off", .onlyOf8_16)
    func environment() async throws {
        let authority = try OwnProcess.authority.get()
        try await stopping(TestServer.start(certificate: authority.certificate()) { _ in .text("ok") }) { server in
            try await serving({ _ in .tunnel(toPort: server.port) }) { proxy in
                let proxyURL = proxy.url
                OwnProcess.setProxy(proxyURL)
                let target = server.url.absoluteString + "/"
                // A proxy of the options counts for every host.
                let cases: [(CurlTransport.Proxy, exceptions: String, count: Int)] = [
                    (.environment, "", 1), (.direct, "", 1), (.url(proxyURL), "", 2), (.environment, "*", 2), (.url(proxyURL), "*", 3),
                ]
                for (proxies, exceptions, count) in cases {
                    setenv("no_proxy", exceptions, 1)
                    let ness = try curlNess { options in
                        options.authorities = authority.pem
                        options.proxy = proxies
                    }
                    _ = try await ness.get(target).text()
                    #expect(proxy.requestCount == count)
                }
            }
        }
    }

    @Test(
        "a host that no_proxy exempts is reached even if the proxy's name is unknown",
        .enabled(if: CurlLibrary.shared?.tellsProxyLate == false, "this libcurl does not report whether a look-up is for a proxy"))
    func exempt() async throws {
        try await serving({ _ in .text("direct") }) { server in
            setenv("http_proxy", "http://no-such-proxy.test:3128", 1)
            setenv("no_proxy", "direct.test", 1)
            let resolver = NameResolver(threadLimit: 1) { name in
                name == "direct.test" ? .success(["127.0.0.1"]) : .failure(NameResolver.Failure(reason: "unknown"))
            }
            let transport = CurlTransport(CurlEngines(try CurlSettings(CurlTransport.Options(), resolver: resolver)))
            let ness = Ness { $0.transport = transport }
            #expect(try await ness.get(server.at("/", host: "direct.test")).text() == "direct")
        }
    }

    @Test("authorities of a host replace the system's")
    func authorities() async throws {
        try await servingSecurely({ _ in .text("ok") }) { server in
            // The system of this process trusts the server.
            _ = try await curlNess().httpRequest(withUrl: server.securely(at: "/")).dataRequest().value
            let other = try TestAuthority(name: "Another")
            let ness = try curlNess { $0.authorities = other.pem }
            #expect(await ness.httpRequest(withUrl: server.securely(at: "/")).dataRequest().nessError()?.tlsFailure == .untrusted)
        }
    }

    @Test("an address of a proxy that cannot be read is a failure that shows no credential")
    func unreadable() async throws {
        for address in ["http://hidden1:hidden2@127.0.0.1:99999999", "gopher2://hidden1:hidden2@a.test", "hidden1:hid den2@a b"] {
            setenv("https_proxy", address, 1)
            let ness = try curlNess { $0.proxy = .environment }
            let error = try #require(await ness.httpRequest(withUrl: "https://server.test/").dataRequest().nessError())
            #expect(!error.context.reason.contains("hid"), "\(address)")
            expectHidden("hid", in: error)
            #expect(!error.mayHaveReachedServer)
        }
    }
}
#endif
