#if os(Linux)
import Foundation
import NessTesting
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

        init(_ server: TestServer, _ authority: TestAuthority, _ certificate: TestCertificate, pins: [String] = []) throws {
            (self.authority, self.certificate) = (authority, certificate)
            transport = try CurlTransport {
                $0.proxy = .direct
                $0.authorities = authority.trusted
                $0.hostEntries = ["pinned.test", "free.test"].map { .init(host: $0, port: server.port, addresses: ["127.0.0.1"]) }
                $0.pinnedPublicKeys = pins
            }
            url = "https://pinned.test:\(server.port)/"
            key = try certificate.publicKeyHash()
        }

        func ness(_ keys: [String]?) -> Ness {
            Ness {
                $0.transport = transport
                if let keys { $0.serverTrust = .pinned(["pinned.test": .publicKeys(keys)]) }
            }
        }
    }

    private static func withHost(
        pins: (String) -> [String] = { _ in [] }, _ handler: @escaping TestServer.Handler, _ body: (Host, TestServer) async throws -> Void
    ) async throws {
        let authority = try TestAuthority()
        let certificate = try authority.certificate(for: ["pinned.test", "free.test"])
        let server = try await TestServer.start(certificate: certificate, handler)
        try await stopping(server) { server in
            let host = try Host(server, authority, certificate, pins: pins(try certificate.publicKeyHash()))
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
        #expect(error?.context.isUnsent == true && error?.isTransient == false, sourceLocation: sourceLocation)
    }

    @Test("a pinned server needs one of the keys, and nothing is sent to another", .covers("HIS-37"))
    func keys() async throws {
        try await Self.withHost({ _ in .text("body") }) { host, server in
            try await Self.expectBody(host.ness([Host.wrongKey, "sha256//\(host.key)"]).get(host.url))
            await Self.expectMismatch(host.ness([Host.wrongKey]).post(host.url).set(stringBody: "secret"))
            #expect(server.requests.count == 1)
        }
    }

    @Test("a connection that was opened without the keys carries no request that needs them")
    func sharedTransport() async throws {
        try await Self.withHost({ _ in .text("body") }) { host, server in
            try await Self.expectBody(host.ness(nil).get(host.url))
            await Self.expectMismatch(host.ness([Host.wrongKey]).get(host.url))
            try await Self.expectBody(host.ness([host.key]).get(host.url))
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
            await Self.expectMismatch(host.ness([Host.wrongKey]).get(free))
            #expect(server.requests.count == 3)
        }
    }

    @Test("the keys of the transport's options count as well")
    func both() async throws {
        try await Self.withHost(pins: { [$0] }, { _ in .text("body") }) { host, _ in
            try await Self.expectBody(host.ness([Host.wrongKey, host.key]).get(host.url))
            await Self.expectMismatch(host.ness([Host.wrongKey]).get(host.url))
        }
        try await Self.withHost(pins: { _ in [Host.wrongKey] }, { _ in .text("body") }) { host, _ in
            await Self.expectMismatch(host.ness([host.key]).get(host.url))
        }
    }
}
#endif
