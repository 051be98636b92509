#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The options of a `CurlTransport` that have to do with its connections. `CurlSecurityTests` has those of TLS.
@Suite(.inTurn) struct CurlOptionTests {
    typealias Options = CurlTransport.Options
    typealias OptionError = CurlTransport.OptionError

    // MARK: when the transport is made

    @Test("an invalid option fails when the transport is made, and the error names the option")
    func invalid() throws {
        func entry(_ host: String, _ port: Int, _ addresses: [String]) -> (String, (inout Options) -> Void) {
            ("hostEntries", { $0.hostEntries = [CurlTransport.HostEntry(host: host, port: port, addresses: addresses)] })
        }
        func proxy(_ text: String, _ password: String? = nil) throws -> (String, (inout Options) -> Void) {
            let proxy = CurlTransport.Proxy.url(try url(text), username: "me", password: password)
            return ("proxy", { $0.proxy = proxy })
        }
        let cases: [(String, (inout Options) -> Void)] = [
            entry("", 80, ["127.0.0.1"]), entry("a:b", 80, ["127.0.0.1"]), entry("a", -1, ["127.0.0.1"]), entry("a", 65_536, ["127.0.0.1"]),
            entry("a.test", 1, ["127.0.0.1\0b.test:1:127.0.0.2"]), entry("a", 80, []), entry("a", 80, ["localhost"]),
            entry("a", 80, ["127.0.0.1,evil"]), entry("*", 80, ["127.0.0.1"]),
            try proxy("ftp://proxy:1"), try proxy("http:/proxy"), try proxy("http://proxy:1", "a\0b"),
            ("unixSocketPath", { $0.unixSocketPath = "" }), ("unixSocketPath", { $0.unixSocketPath = "a\0b" }),
            ("unixSocketPath", { $0.unixSocketPath = String(repeating: "a", count: 108) }),
            ("localInterface", { $0.localInterface = "" }), ("localInterface", { $0.localInterface = "lo\0x" }),
        ]
        for (option, change) in cases {
            let error = #expect(throws: OptionError.self) { try CurlTransport(change) }
            #expect(error?.option == option, "\(error?.description ?? option)")
            #expect(error?.description.contains("hidden") == false)
        }
    }

    @Test("an identity needs a key in the text form, and a password if the key is encrypted")
    func identities() throws {
        let certificate = try TestAuthority().certificate()
        let good = Data(try certificate.pem().utf8), key = Data(try certificate.keyPEM().utf8)
        let encrypted = Data(try certificate.keyPEM(password: "hidden").utf8), certificates = try Certificates(pem: good)
        _ = try ClientIdentity(certificates: certificates, key: key)
        _ = try ClientIdentity(certificates: certificates, key: encrypted, password: "hidden")
        let damaged = Data("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".utf8)
        for (key, password) in [
            (Data(), nil), (good, nil), (damaged, nil), (key.prefix(60), nil), (encrypted, nil), (encrypted, ""), (encrypted, "hid\0den"),
        ] as [(Data, String?)] {
            let error = #expect(throws: CertificateError.self) {
                try ClientIdentity(certificates: certificates, key: key, password: password)
            }
            #expect(error?.description.contains("private key") == true)
        }
    }

    @Test("options show no password, no key and no credential, and a transport shows none of its options")
    func secrets() throws {
        var options = Options()
        let identity = try TestAuthority().certificate().forClient(password: "hidden1")
        options.proxy = .url(try url("http://hidden2:hidden3@proxy.test:1"), username: "hidden4", password: "hidden5")
        let given = options
        let transport = try CurlTransport { $0 = given }
        let key = String(decoding: try #require(identity.key), as: UTF8.self)
        let ness = Ness {
            $0.transport = transport
            $0.clientIdentities = ["*": identity]
        }
        for secret in (1...5).map({ "hidden\($0)" }) + [key.prefix(100).suffix(40).description] {
            expectHidden(secret, in: options)
            expectHidden(secret, in: transport)
            expectHidden(secret, in: identity)
            expectHidden(secret, in: ness)
        }
        #expect("\(options)".contains("proxy.test"))
    }

    // MARK: connections

    @Test("every connection goes to a Unix socket, regardless of the URL's host", .keepingConnections)
    func unixSocket() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "s").path, door = try UnixDoor(path)
            let recorder = ConnectionRecorder()
            let ness = try curlNess({ $0.unixSocketPath = path }, observers: [recorder])
            for _ in 0..<2 { #expect(try await ness.get("http://engine.test/info").text() == "engine.test") }
            #expect(recorder.log.entries.map(\.isReused) == [false, true])
            #expect(recorder.log.entries.allSatisfy { $0.remoteAddress == nil && $0.localAddress == nil })
            await ness.shutdown(within: .zero)
            withExtendedLifetime(door) {}
        }
    }

    @Test("without its Unix socket or its interface no server can be reached")
    func missing() async throws {
        try await serving({ _ in .text("ok") }) { server in
            let options: [(inout CurlTestOptions) -> Void] = [
                { $0.unixSocketPath = "/nowhere/socket" }, { $0.localInterface = "nowhere0" }, { $0.localInterface = "192.0.2.1" },
            ]
            for option in options {
                let error = try await curlNess(option).post(server.url).dataRequest().nessError()
                #expect(error?.kind == .cannotConnect && error?.mayHaveReachedServer == false, "\(String(describing: error))")
            }
            #expect(server.requestCount == 0)
        }
    }

    @Test("connections start at the given local address or interface")
    func interface() async throws {
        try await serving({ _ in .text("ok") }) { server in
            let recorder = ConnectionRecorder()
            for local in ["127.0.0.2", "lo"] {
                _ = try await curlNess({ $0.localInterface = local }, observers: [recorder]).get(server.url).text()
            }
            #expect(recorder.log.entries.map(\.localAddress?.host) == ["127.0.0.2", "127.0.0.1"])
        }
    }

    @Test("a host has the addresses of its entry; the first reachable one is used")
    func hostEntries() async throws {
        try await serving({ .text($0.headers["Host"] ?? "") }) { server in
            let recorder = ConnectionRecorder(), port = server.port
            let ness = try curlNess(
                {
                    $0.hostEntries = [
                        .init(host: "one.test", port: port, addresses: ["127.0.0.1"]),
                        .init(host: "two.test", port: port, addresses: ["127.0.0.3", "127.0.0.1"]),
                        .init(host: "six.test", port: 1, addresses: ["::1"]),
                    ]
                }, observers: [recorder])
            for host in ["one.test", "two.test"] { #expect(try await ness.get(server.at("/", host: host)).text() == "\(host):\(port)") }
            #expect(recorder.log.entries.map(\.remoteAddress?.host) == ["127.0.0.1", "127.0.0.1"])
            let error = await ness.httpRequest(withUrl: "http://six.test:1/").dataRequest().nessError()
            #expect(error?.kind == .cannotConnect)
            #expect(error?.context.reason.contains("resolve") == false, "\(error?.context.reason ?? "")")
        }
    }
}
#endif
