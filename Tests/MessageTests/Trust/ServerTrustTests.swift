import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

@Suite("Server trust", .timeLimit(.minutes(15)))
struct ServerTrustTests {
    private static let key = Data(repeating: 1, count: 32).base64EncodedString()
    private static let other = Data(repeating: 2, count: 32).base64EncodedString()

    @Test(
        "a rule applies to its host, and `*.` to all names below one",
        arguments: [
            ("example.com", "https://example.com/", true), ("example.com", "https://a.example.com/", false),
            ("*.example.com", "https://a.example.com/", true), ("*.example.com", "https://b.a.example.com/", true),
            ("*.example.com", "https://example.com/", false), ("*.example.com", "https://badexample.com/", false),
            ("*", "https://example.com/", true), ("Example.COM.", "https://EXAMPLE.com/", true),
            ("example.com", "https://example.com./", true), ("example.com", "https://ex%61mple.com:8443/", true),
            ("münchen.de", "https://xn--mnchen-3ya.de/", true), ("xn--mnchen-3ya.de", "https://münchen.de/", true),
            ("127.0.0.1", "https://127.0.0.1:8443/", true), ("127.0.0.1", "https://127.1/", true),
            ("127.0.0.1", "https://0x7f000001/", true), ("fe80::1", "https://[fe80::1%25eth0]/", true), ("[::1]", "https://[0::1]/", true),
            ("::1", "https://[::1]:8443/", true),
        ])
    func hosts(_ host: String, _ url: String, _ isPinned: Bool) throws {
        let trust = ServerTrust.pinned([host: .publicKeys(["sha256//\(Self.key)"])])
        let text = url, url = try #require(URL(string: text))
        #expect(try trust.demands(on: url)?.publicKeys == (isPinned ? [Self.key] : nil))
        // A builder parses the URL.
        #expect(try trust.demands(on: Ness().get(text).build())?.publicKeys == (isPinned ? [Self.key] : nil))
    }

    @Test("the longest matching name applies, and a host's own rule takes precedence")
    func mostSpecific() throws {
        let trust = ServerTrust.pinned([
            "*": .publicKeys([Self.other]), "*.example.com": .publicKeys([Self.key]), "cdn.example.com": .system,
            "*.cdn.example.com": .system,
        ])
        func keys(_ url: String) throws -> [String]? { try trust.demands(on: try #require(URL(string: url)))?.publicKeys }
        #expect(try keys("https://a.example.com") == [Self.key])
        #expect(try keys("https://cdn.example.com") == nil)
        #expect(try keys("https://a.b.cdn.example.com") == nil)
        #expect(try keys("https://example.org") == [Self.other])
    }

    @Test(
        "a mistake in the rules fails every request, before a connection is opened",
        arguments: [
            ["": .publicKeys([key])], ["*.": .publicKeys([key])], ["a.*.com": .publicKeys([key])], ["https://a.com": .publicKeys([key])],
            ["a.com/": .publicKeys([key])], ["a.com:443": .publicKeys([key])],
            ["a.com%2F": .publicKeys([key])], ["a.com%3A443": .publicKeys([key])], ["%2A": .publicKeys([key])],
            ["%2A.a.com": .publicKeys([key])], ["a.com ": .publicKeys([key])],
            ["a.com": .publicKeys([key]), "A.com.": .system], ["a.com": .publicKeys([])],
            ["a.com": .publicKeys(["short"])],
        ] as [[String: ServerTrust.Rule]])
    func mistakes(_ hosts: [String: ServerTrust.Rule]) async throws {
        let rig = Rig { $0.serverTrust = .pinned(hosts) }
        let error = await #expect(throws: NessError.self) { try await rig.ness.get("https://other.test/").response() }
        #expect(error?.kind == .invalidRequest && error?.context.reason.hasPrefix("serverTrust: ") == true)
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a host that percent-encoding hides is not sent", arguments: ["https://%EF%BD%85xample.com/", "https://m%C3%BCnchen.de/"])
    func hidden(_ url: String) throws {
        let trust = ServerTrust.pinned(["example.com": .publicKeys([Self.key])])
        let url = try #require(URL(string: url))
        #expect(throws: InvalidRequest.self) { try trust.demands(on: url)?.publicKeys }
        #expect(try ServerTrust.system.demands(on: url) == nil)
    }

    @Test("the keys of a pinned host do not apply after a redirect to another host")
    func redirect() async throws {
        let rig = Rig { $0.serverTrust = .pinned(["pinned.test": .publicKeys([Self.key])]) }
        rig.mock.on(.get, "https://pinned.test/x", replies: [.status(302, headers: ["Location": "https://free.test/y"])])
        rig.mock.on(.get, "https://free.test/y", replies: [.text("body")])
        #expect(try await rig.ness.get("https://pinned.test/x").text() == "body")
        #expect(rig.mock.requests.map(\.tlsDemands?.publicKeys) == [[Self.key], nil])
    }

    @Test("a request to a pinned host over http, or over a transport that checks no keys, is not sent")
    func cannotCheck() async throws {
        let pinned = ServerTrust.pinned(["pinned.test": .publicKeys([Self.key])])
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.serverTrust = pinned }
        let overHTTP = await #expect(throws: NessError.self) { try await rig.ness.get("http://pinned.test/").response() }
        #expect(overHTTP?.kind == .invalidRequest)
        for url in ["https://pinned.test/", "http://other.test/"] { _ = try await rig.ness.get(url).response() }
        #expect(rig.mock.requests.map(\.url.scheme) == ["https", "http"])

        let fake = Ness {
            $0.transport = FakeTransport { _, _ in Issue.record("the request was sent") }
            $0.serverTrust = pinned
        }
        let unchecked = await #expect(throws: NessError.self) { try await fake.get("https://pinned.test/").response() }
        #expect(unchecked?.kind == .invalidRequest && unchecked?.context.reason.contains("tlsCapabilities") == true)
    }

    @Test("a host's authorities and identity reach the transport with requests to it, over https alone")
    func demands() async throws {
        let certificates = try Certificates(pem: Data(FixedCertificate.pem.utf8))
        let identity = ClientIdentity(pkcs12: Data("p12".utf8), password: "secret")
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.serverTrust = .pinned(["a.test": .authorities(certificates)])
            $0.clientIdentities = ["*.test": identity]
        }
        for url in ["https://a.test/", "https://b.test/", "http://b.test/", "https://c.example/"] {
            _ = try await rig.ness.get(url).response()
        }
        #expect(rig.mock.requests.map(\.tlsDemands?.authorities) == [certificates, nil, nil, nil])
        #expect(rig.mock.requests.map(\.tlsDemands?.identity) == [identity, identity, nil, nil])
        let overHTTP = await #expect(throws: NessError.self) { try await rig.ness.get("http://a.test/").response() }
        #expect(overHTTP?.kind == .invalidRequest)
        // The authorities of all hosts do not forbid http.
        let others = Rig(onUnmatched: .reply(.status(200))) {
            $0.serverTrust = .pinned(["*": .authorities(certificates), "b.test": .system])
        }
        for url in ["http://a.test/", "https://a.test/", "http://b.test/"] { _ = try await others.ness.get(url).response() }
        #expect(others.mock.requests.map(\.tlsDemands?.authorities) == [nil, certificates, nil])
    }

    @Test("a transport that shows no identities, and a mistake in the hosts of identities, fail the request before it is sent")
    func unusableIdentities() async throws {
        let identity = ClientIdentity(pkcs12: Data(), password: "")
        for (hosts, url) in [(["a.test": identity], "https://a.test/"), (["a.test/x": identity], "https://other.test/")] {
            let ness = Ness {
                $0.transport = FakeTransport { _, _ in Issue.record("the request was sent") }
                $0.clientIdentities = hosts
            }
            let error = await #expect(throws: NessError.self) { try await ness.get(url).response() }
            #expect(error?.kind == .invalidRequest)
        }
    }

    @Test("certificates are read from PEM, with text around them, and damaged ones are rejected")
    func certificates() throws {
        let pem = FixedCertificate.pem
        let two = try Certificates(pem: Data("comment\r\n\(pem)between\n\(pem.replacing("\n", with: "\r\n"))".utf8))
        #expect(two.der.count == 2 && two.der[0] == two.der[1])
        #expect(try Certificates(pem: two.pem) == two)
        let lines = pem.split(separator: "\n").map(String.init)
        for damaged in [
            "", "text", lines.dropLast().joined(separator: "\n"), lines.dropFirst().joined(separator: "\n"),
            "\(lines[0])\nAAAA\n\(lines[lines.count - 1])", pem + lines[0], lines[0] + "\n" + pem,
        ] {
            #expect(throws: CertificateError.self) { try Certificates(pem: Data(damaged.utf8)) }
        }
    }

    @Test("nothing that an identity shows contains its key or its password")
    func secrets() {
        let identity = ClientIdentity(pkcs12: Data("key-bytes".utf8), password: "hidden-word")
        let configuration = Ness { $0.clientIdentities = ["a.test": identity] }.configuration
        for secret in ["hidden-word", "key-bytes"] {
            expectHidden(secret, in: identity)
            expectHidden(secret, in: configuration)
        }
    }

    @Test("the hash of a certificate's key is that of its SubjectPublicKeyInfo, and damaged bytes have none")
    func hash() throws {
        let der = try #require(Certificates(pem: Data(FixedCertificate.pem.utf8)).der.first)
        #expect(PublicKeyHash.make(certificate: der) == FixedCertificate.publicKeyHash)
        for count in 0..<der.count { #expect(PublicKeyHash.make(certificate: der.prefix(count)) == nil) }
        for index in der.indices {
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] as [UInt8] {
                var damaged = der
                damaged[index] = byte
                _ = PublicKeyHash.make(certificate: damaged)
            }
        }
    }

    @Test("a request with the demands of another manager has those of this one alone, and its response has none")
    func demandsOfAnotherManager() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.loaders = [.modifyRequest { $0.tlsDemands = TLSDemands(publicKeys: [Self.key]) }]
        }
        let response = try await rig.ness.get("https://free.test/").response()
        #expect(rig.mock.requests.map(\.tlsDemands) == [nil] && response.request.tlsDemands == nil)
    }
}

extension ServerTrust {
    fileprivate func demands(on url: URL) throws -> TLSDemands? { try demands(on: HTTPRequest(url: url)) }
}
