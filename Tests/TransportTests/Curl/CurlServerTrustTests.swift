#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// `ServerTrust` over a `CurlTransport`, against servers with real certificates.
@Suite(.inTurn) struct CurlServerTrustTests {
    /// A server of a host name, and a transport that trusts it.
    private struct Host {
        let authority: TestAuthority
        let certificate: TestCertificate
        let transport: CurlTransport
        let url: String
        let key: String
        static let wrongKey = Data(repeating: 1, count: 32).base64EncodedString()

        init(_ server: TestServer, _ authority: TestAuthority, _ certificate: TestCertificate) throws {
            (self.authority, self.certificate) = (authority, certificate)
            transport = try CurlTransport {
                $0.proxy = .direct
                $0.hostEntries = ["pinned.test", "free.test"].map { .init(host: $0, port: server.port, addresses: ["127.0.0.1"]) }
            }
            url = "https://pinned.test:\(server.port)/"
            key = try certificate.publicKeyHash()
        }

        /// Makes a manager that trusts the authority, and for one of the hosts only the keys.
        func ness(_ keys: [String]?) throws -> Ness {
            let trusted = try authority.certificates
            return Ness {
                $0.transport = transport
                $0.serverTrust = .pinned([
                    "pinned.test": keys.map { .publicKeys($0, signedBy: trusted) } ?? .authorities(trusted),
                    "free.test": .authorities(trusted),
                ])
            }
        }
    }

    private static func withHost(
        _ handler: @escaping TestServer.Handler, _ body: (Host, TestServer) async throws -> Void
    ) async throws {
        let authority = try TestAuthority()
        let certificate = try authority.certificate(for: ["pinned.test", "free.test"])
        let server = try await TestServer.start(certificate: certificate, handler)
        try await stopping(server) { server in
            let host = try Host(server, authority, certificate)
            try await body(host, server)
            await host.transport.shutdown()
        }
    }

    private static func expectBody(_ request: RequestBuilder, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let text = try await request.text()
        #expect(text == "body", sourceLocation: sourceLocation)
    }

    private static func expectMismatch(_ request: RequestBuilder, sourceLocation: SourceLocation = #_sourceLocation) async {
        let error = await #expect(throws: NessError.self, sourceLocation: sourceLocation) { try await request.response() }
        #expect(error?.kind == .tls && error?.tlsFailure == .pinMismatch, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(error?.context.repetition == .always && error?.isTransient == false, sourceLocation: sourceLocation)
    }

    @Test("a connection that was opened without the keys, or for other authorities, carries no request that needs them")
    func sharedTransport() async throws {
        try await Self.withHost({ _ in .text("body") }) { host, server in
            try await Self.expectBody(host.ness(nil).get(host.url))
            try await Self.expectMismatch(host.ness([Host.wrongKey]).get(host.url))
            try await Self.expectBody(host.ness([host.key]).get(host.url))
            let foreign = try TestAuthority(name: "Nobody's").certificates
            for rule in [ServerTrust.Rule.authorities(foreign), .publicKeys([host.key], signedBy: foreign)] {
                let ness = Ness {
                    $0.transport = host.transport
                    $0.serverTrust = .pinned(["pinned.test": rule])
                }
                #expect(await ness.get(host.url).dataRequest().nessError()?.tlsFailure == .untrusted)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test("a redirect to a pinned host is checked like a request to it")
    func redirect() async throws {
        let handler: TestServer.Handler = { request in
            let host = request.headers["Host"] ?? ""
            guard host.hasPrefix("free") else { return .text("body") }
            return .status(302, headers: ["Location": "//\(host.replacing("free", with: "pinned"))/"])
        }
        try await Self.withHost(handler) { host, server in
            let free = host.url.replacing("pinned", with: "free")
            try await Self.expectBody(host.ness([host.key]).get(free))
            try await Self.expectMismatch(host.ness([Host.wrongKey]).get(free))
            #expect(server.requests.count == 3)
        }
    }

    @Test(
        "a host that requests a client certificate gets its identity, and another host gets nothing", arguments: [TLSVersion.v1_2, .v1_3])
    func identities(_ version: TLSVersion) async throws {
        let authority = try TestAuthority()
        let certificate = try authority.certificate(for: ["pinned.test", "free.test"])
        let server = try await TestServer.start(certificate: certificate, clientAuthority: authority, maximumTLSVersion: version) { _ in
            .text("body")
        }
        try await stopping(server) { server in
            let host = try Host(server, authority, certificate), trusted = try authority.certificates
            let identity = try authority.certificate().identity(password: "secret word")
            let ness = Ness {
                $0.transport = host.transport
                $0.clientIdentities = ["pinned.test": identity]
                $0.serverTrust = .pinned(["*": .authorities(trusted)])
            }
            try await Self.expectBody(ness.get(host.url))
            // Not even by the TLS session of the first connection, which speaks for the identity.
            for request in [ness.get(host.url.replacing("pinned", with: "free")), try host.ness(nil).get(host.url)] {
                let error = await request.dataRequest().nessError()
                // Some versions of libcurl lose the alert that says why.
                #expect(error?.kind == .tls || error?.kind == .connectionLost)
            }
            #expect(server.requests.count == 1)
            await host.transport.shutdown()
        }
    }
}
#endif
