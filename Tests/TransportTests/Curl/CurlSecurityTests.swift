#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The options of a `CurlTransport` that have to do with TLS, and the failures that they lead to.
@Suite(.inTurn) struct CurlSecurityTests {
    typealias Options = CurlTestOptions

    /// Sends a POST to a server, over a new transport.
    /// - Returns: The response's text, or the error.
    private static func outcome(
        of server: TestServer, host: String = "127.0.0.1", _ options: (inout Options) -> Void
    ) async throws -> Result<String, NessError> {
        try await stopping(server) { server in
            let ness = try curlNess(options)
            let url = "https://\(host):\(server.port)/"
            let promise = ness.httpRequest(.post, withUrl: url).set(stringBody: "body").dataRequest()
            let result = await promise.settled
            await ness.shutdown(within: .zero)
            switch result {
            case .success(let response): return .success(response.message.text)
            case .failure(let error): return .failure(try #require(error as? NessError))
            }
        }
    }

    /// Expects a failure that names its reason, and that no retry can repair.
    private static func expect(
        _ failure: TLSFailure, of outcome: Result<String, NessError>, isUnsent: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard let error = #expect(throws: NessError.self, sourceLocation: sourceLocation, performing: { try outcome.get() }) else { return }
        #expect(error.kind == .tls && error.tlsFailure == failure, "\(error)", sourceLocation: sourceLocation)
        #expect(!error.isTransient && !error.mayHaveReachedServer, sourceLocation: sourceLocation)
        #expect((error.context.repetition == .always) == isUnsent, sourceLocation: sourceLocation)
    }

    private static let never: TestServer.Handler = { _ in
        Issue.record("the request arrived")
        return .text("never")
    }
    private static let echo: TestServer.Handler = { .text($0.bodyText) }

    // MARK: the server's certificate

    @Test("a server is trusted if one of several authorities has signed its certificate")
    func authorities() async throws {
        let authority = try TestAuthority()
        for trusted in [authority.pem, try TestAuthority(name: "Another").pem + authority.pem] {
            let server = try await TestServer.start(certificate: authority.certificate(), Self.echo)
            let outcome = try await Self.outcome(of: server) { $0.authorities = trusted }
            #expect(try outcome.get() == "body")
        }
    }

    @Test("the error names the fault of a rejected certificate, and nothing was sent")
    func certificates() async throws {
        let authority = try TestAuthority()
        let cases: [(TestCertificate, TLSFailure)] = [
            (try authority.certificate(until: .seconds(-60)), .expired),
            (try authority.certificate(validFrom: .seconds(3_600)), .expired),
            (try authority.certificate(for: ["other.test"]), .wrongHost),
            (try TestAuthority(name: "Nobody's").certificate(), .untrusted),
            // An authority of the same name, with another key.
            (try TestAuthority().certificate(), .untrusted),
        ]
        for (certificate, failure) in cases {
            let server = try await TestServer.start(certificate: certificate, Self.never)
            Self.expect(failure, of: try await Self.outcome(of: server) { $0.authorities = authority.pem })
        }
    }

    @Test("the certificate must be for the host of the URL, even if an entry gives the host's address")
    func hostEntry() async throws {
        let authority = try TestAuthority()
        for (host, isRight) in [("name.test", true), ("other.test", false)] {
            let server = try await TestServer.start(certificate: authority.certificate(for: ["name.test"]), Self.echo)
            let entry = CurlTransport.HostEntry(host: host, port: server.port, addresses: ["127.0.0.1"])
            let outcome = try await Self.outcome(of: server, host: host) { options in
                options.authorities = authority.pem
                options.hostEntries = [entry]
            }
            if isRight { #expect(try outcome.get() == "body") } else { Self.expect(.wrongHost, of: outcome) }
        }
    }

    @Test("a server without a version that both sides accept is a protocol mismatch")
    func versions() async throws {
        let authority = try TestAuthority()
        for (minimum, maximum) in [(TLSVersion.v1_2, TLSVersion.v1_2), (.v1_3, .v1_3), (.v1_2, .v1_3), (.v1_3, .v1_2)] {
            let server = try await TestServer.start(certificate: authority.certificate(), maximumTLSVersion: maximum, Self.echo)
            let outcome = try await Self.outcome(of: server) { options in
                options.authorities = authority.pem
                options.minimumTLSVersion = minimum
            }
            if minimum == .v1_3, maximum == .v1_2 {
                Self.expect(.protocolMismatch, of: outcome)
            } else {
                #expect(try outcome.get() == "body")
            }
        }
    }

    // MARK: pins

    @Test("a server needs one of the pinned keys, and a trusted certificate as well")
    func pins() async throws {
        let authority = try TestAuthority(), other = try TestAuthority(name: "Another")
        let certificate = try authority.certificate()
        let right = try certificate.publicKeyHash(), wrong = try authority.certificate().publicKeyHash()
        let cases: [(TestAuthority, [String], TLSFailure?)] = [
            (authority, [right], nil), (authority, [wrong, "sha256//\(right)"], nil), (authority, [right, wrong], nil),
            (authority, [wrong], .pinMismatch), (other, [right], .untrusted),
        ]
        for (trusted, pins, failure) in cases {
            let server = try await TestServer.start(certificate: certificate, failure == nil ? Self.echo : Self.never)
            let outcome = try await Self.outcome(of: server) { options in
                options.authorities = trusted.pem
                options.pinnedPublicKeys = pins
            }
            if let failure { Self.expect(failure, of: outcome) } else { #expect(try outcome.get() == "body") }
        }
        // The pipeline rejects an empty list. For the transport it allows no key.
        try await stopping(TestServer.start(certificate: certificate, Self.never)) { server in
            var request = HTTPRequest(url: server.url)
            request.tlsDemands = TLSDemands(publicKeys: [], authorities: try authority.certificates)
            let transport = try CurlTransport { $0.proxy = .direct }
            do {
                try await transport.send(request) { _ in }
                Issue.record("it was sent")
            } catch {
                #expect((error as? TransportError)?.tlsFailure == .pinMismatch)
            }
        }
    }

    // MARK: the client's certificate

    /// Sends a POST to a server that requires a client certificate of an authority.
    private static func outcome(
        showing identity: ClientIdentity?, to authority: TestAuthority, upTo version: TLSVersion? = nil,
        _ handler: @escaping TestServer.Handler = never
    ) async throws -> Result<String, NessError> {
        let server = try await TestServer.start(
            certificate: authority.certificate(), clientAuthority: authority, maximumTLSVersion: version, handler)
        return try await outcome(of: server) { options in
            options.authorities = authority.pem
            options.clientCertificate = identity
        }
    }

    @Test("a server that requires a client certificate gets it, with an encrypted key as well", arguments: [TLSVersion.v1_2, .v1_3])
    func clientCertificate(_ version: TLSVersion) async throws {
        let authority = try TestAuthority()
        for password in [nil, "secret word"] {
            let identity = try authority.certificate().forClient(password: password)
            #expect(try await Self.outcome(showing: identity, to: authority, upTo: version, Self.echo).get() == "body")
        }
    }

    @Test("a missing or rejected client certificate has its own kind of failure, and the server has not acted")
    func rejected() async throws {
        let authority = try TestAuthority()
        let foreign = try TestAuthority(name: "Nobody's").certificate().forClient()
        let expired = try authority.certificate(until: .seconds(-60)).forClient()
        for identity in [nil, foreign, expired] {
            // With TLS 1.3 the client learns of the rejection when its request is on the way already.
            Self.expect(.clientCertificate, of: try await Self.outcome(showing: identity, to: authority, upTo: .v1_3), isUnsent: false)
        }
        // With TLS 1.2 it is known before the request is sent, and a missing certificate is a handshake without a reason.
        for (identity, failure) in [(nil, TLSFailure.protocolMismatch), (foreign, .clientCertificate)] {
            Self.expect(failure, of: try await Self.outcome(showing: identity, to: authority, upTo: .v1_2))
        }
    }

    @Test("a client certificate with a wrong password or a foreign key fails the first request, and the error shows no password")
    func unusable() async throws {
        let authority = try TestAuthority(), certificate = try authority.certificate()
        let wrongPasswords = [
            try certificate.forClient(password: "right", given: "hidden"),
            ClientIdentity(pkcs12: try certificate.identity(password: "right").certificates, password: "hidden"),
        ]
        for identity in wrongPasswords + [try certificate.forClient(keyOf: authority.certificate())] {
            let outcome = try await Self.outcome(showing: identity, to: authority)
            Self.expect(.clientCertificate, of: outcome)
            guard case .failure(let error) = outcome else { return }
            #expect(!error.context.reason.contains("hidden"))
            expectHidden("hidden", in: error)
        }
    }

    // MARK: after the request

    @Test("a connection whose encryption breaks after the request is lost, and the server may have acted")
    func damagedRecord() async throws {
        let authority = try TestAuthority()
        // A record of application data that no key fits.
        let record = Data([0x17, 3, 3, 0, 32]) + Data(repeating: 7, count: 32)
        for start in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"] {
            let server = try await TestServer.start(certificate: authority.certificate()) { _ in
                .script((start.isEmpty ? [] : [.send(start)]) + [.sendUnencrypted(record), .stall])
            }
            let outcome = try await Self.outcome(of: server) { $0.authorities = authority.pem }
            let error = try #require(throws: NessError.self) { try outcome.get() }
            #expect(error.kind == .connectionLost && error.tlsFailure == nil, "\(error)")
            #expect(error.mayHaveReachedServer && error.description.contains("may have acted"))
        }
    }

    @Test("a request that was sent is never called unsent, even if the connection on which it is repeated fails", .keepingConnections)
    func sentOnce() async throws {
        let authority = try TestAuthority()
        let ends: [[ConnectionStep]] = [
            [.receive(bytes: 1), .close], [.receive(bytes: 1), .reset],
            [.receive(bytes: 1), .send("220 mail.example.com ESMTP\r\n"), .stall],
        ]
        for end in ends {
            let server = try await TestServer.start(certificate: authority.certificate()) { request in
                request.requestNumberOnConnection == 1 && request.path == "/warm" ? .text("warm") : .script([.close])
            }
            // libcurl may not open a connection for its own repetition. The second one is the transport's.
            let door = try await TestServer.start(script: { $0.number < 2 ? [.tunnel(toPort: server.port)] : end })
            let error = try await stopping(door) { door in
                let ness = try curlNess { $0.authorities = authority.pem }
                _ = try await ness.httpRequest(withUrl: "https://127.0.0.1:\(door.port)/warm").dataRequest().value
                let error = await ness.httpRequest(withUrl: "https://127.0.0.1:\(door.port)/").dataRequest().nessError()
                await ness.shutdown(within: .zero)
                return try #require(error)
            }
            #expect(door.connectionCount == 2)
            #expect(error.kind == .connectionLost, "\(error)")
            #expect(error.mayHaveReachedServer)
            await server.stop()
        }
    }
}
#endif
