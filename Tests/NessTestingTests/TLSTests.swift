#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A server with TLS, as a client sees it that speaks none. `SecureTests` has those that do.
@Suite(.inTurn) struct TLSTests {
    @Test("a server with a certificate has an https URL, and does not respond to plain HTTP")
    func plainClient() async throws {
        let server = try await TestServer.start(certificate: TestAuthority().certificate()) { _ in .text("secret") }
        #expect(server.url.absoluteString == "https://127.0.0.1:\(server.port)")
        let result = try await server.client { client in
            client.send(get)
            return client.readToEnd().text
        }
        #expect(!result.contains("secret"))
        #expect(await server.waitUntil { $0.openConnections == 0 })
        #expect(server.requestCount == 0)
    }

    @Test("a server stops while clients are silent before their handshake")
    func stops() async throws {
        let server = try await TestServer.start(certificate: TestAuthority().certificate()) { _ in .text("") }
        let client = try await offPool { try RawClient(port: server.port) }
        await server.waitUntil { $0.openConnections == 1 }
        await server.stop()
        client.cut()
    }

    @Test("an authority's certificate is text that clients can be given; each authority has another")
    func pem() throws {
        let first = try TestAuthority(), second = try TestAuthority()
        #expect(first.pem.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
        #expect(first.pem.hasSuffix("-----END CERTIFICATE-----\n"))
        #expect(first.pem != second.pem)
        // Without an end, as far as a certificate can be.
        #expect(throws: Never.self) { try first.certificate(until: .seconds(Int64.max)) }
    }

    @Test("a host that is neither a name nor an address is an error")
    func hosts() throws {
        #expect(throws: TestServerError.self) { try TestAuthority().certificate(for: ["300.1.2.3"]) }
        #expect(throws: TestServerError.self) { try TestAuthority().certificate(for: []) }
    }
}
#endif
