#if os(Linux)
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Resumed TLS sessions, with a real server that tells of them: nginx.
@Suite(
    .inTurn, .enabled(if: Nginx.executable != nil, "nginx is not installed (apt-get install nginx): resumed TLS sessions are not tested")
) struct TLSResumptionTests {
    @Test(
        "a new connection resumes the session of an earlier one, but none of other keys or of another transport",
        .enabled(if: CurlLibrary.shared?.takesAuthorities == true))
    func sessions() async throws {
        let authority = try TestAuthority()
        let nginx = try await Nginx.start(certificate: authority.certificate(), forwardingTo: 1)
        defer { nginx.stop() }
        let (path, trusted) = (nginx.socketPath, try authority.certificates)
        func transport() throws -> CurlTransport {
            try CurlTransport { options in
                options.proxy = .direct
                options.unixSocketPath = path
                // Each request that must not be sent twice opens a connection.
                options.maximumIdleTimeForWrites = .zero
                // libcurl 7.88 closes a connection of HTTP/2 in a way that makes OpenSSL give up its session.
                options.allowsHTTP2 = false
            }
        }
        func session(_ transport: CurlTransport, keys: [String]? = nil) async throws -> String? {
            let ness = Ness {
                $0.transport = transport
                $0.serverTrust = .pinned(["*": keys.map { .publicKeys($0, signedBy: trusted) } ?? .authorities(trusted)])
            }
            return try await ness.get("https://localhost/session").set(isIdempotent: false).text()
        }
        let first = try transport()
        #expect(try await session(first) == ".")
        #expect(try await session(first) == "r")
        let pinned = [nginx.publicKeyHash]
        #expect(try await session(first, keys: pinned) == ".")
        #expect(try await session(first, keys: pinned) == "r")
        #expect(try await session(first) == "r")
        let second = try transport()
        #expect(try await session(second) == ".")
        await first.shutdown()
        await second.shutdown()
    }
}
#endif
