#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// A resolver whose names change their addresses: each look-up takes the next list, and the last one stays.
private final class Rebinding: Sendable {
    private let remaining: Log<[String]>
    private let lookUps = Tally()

    init(_ answers: [[String]]) {
        remaining = Log()
        for answer in answers { remaining.add(answer) }
    }

    func addresses(of name: String) -> [String] {
        let answers = remaining.entries
        return answers[min(lookUps.enter(), answers.count - 1)]
    }

    /// A manager whose transport uses this resolver.
    func ness(
        _ options: (inout CurlTransport.Options) -> Void = { _ in }, configure: (inout Ness.Configuration) -> Void = { _ in }
    ) throws -> Ness {
        var given = CurlTransport.Options()
        given.proxy = .direct
        options(&given)
        let resolver = NameResolver(threadLimit: 1) { .success(self.addresses(of: $0)) }
        let transport = CurlTransport(CurlEngines(try CurlSettings(given, resolver: resolver)))
        return Ness {
            $0.transport = transport
            configure(&$0)
        }
    }
}

/// The addresses that a transport may connect to (`allowsAddress`).
@Suite(.inTurn) struct AllowedAddressTests {
    /// The addresses and hosts that a transport asked about, and the answers.
    private final class Rule: Sendable {
        let asked = Log<String>()
        private let allowed: Set<String>

        init(_ allowed: String...) { self.allowed = Set(allowed) }

        @Sendable func allows(_ address: IPAddress, _ host: String) -> Bool {
            asked.add("\(host) \(address)")
            return allowed.contains(address.description)
        }
    }

    /// True for a libcurl that does not know all notations of an address (8.16), or the names of this machine.
    private static let knowsFewHosts = CurlLibrary.shared.map { $0.version < 0x07_58_00 || $0.version >> 8 == 0x08_10 } == true

    private func expectRejected(_ error: NessError?, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(error?.mayHaveReachedServer == false, sourceLocation: sourceLocation)
        if Self.knowsFewHosts, error?.context.reason.contains("Could not resolve host") == true { return }
        #expect(error?.kind == .addressRejected, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(error?.isTransient == false, sourceLocation: sourceLocation)
        let text = error?.description ?? ""
        for word in words { #expect(text.contains(word), "\(text)", sourceLocation: sourceLocation) }
    }

    // MARK: rebinding

    @Test("a name that changes its address after a check above the transport reaches an internal server; a rule of the transport stops it")
    func rebinding() async throws {
        try await serving({ _ in .text("internal") }) { server in
            let target = server.at("/", host: "rebinding.test")
            for isChecked in [false, true] {
                let names = Rebinding([["8.8.8.8"], ["127.0.0.1"]])
                let ness = try names.ness({ if isChecked { $0.allowsAddress = IPAddress.publicOnly } }) {
                    $0.loaders = [
                        .loader { request, next in
                            // What an application would do: look the name up, and check the addresses.
                            let addresses = names.addresses(of: request.url.host ?? "").compactMap { IPAddress($0) }
                            #expect(!addresses.isEmpty && addresses.allSatisfy(\.isPublic))
                            return try await next(request)
                        }
                    ]
                }
                let promise = ness.httpRequest(withUrl: target).dataRequest()
                if isChecked {
                    expectRejected(await promise.nessError(), "rebinding.test", "127.0.0.1")
                } else {
                    #expect(try await promise.value.message.text == "internal")
                }
            }
            #expect(server.connectionCount == 1)
        }
    }

    @Test("of several addresses the allowed ones are tried; an allowed one that cannot be reached is a failure to connect")
    func several() async throws {
        try await serving({ _ in .text("ok") }) { server in
            let recorder = ConnectionRecorder()
            func ness(_ rule: Rule, _ addresses: String...) throws -> Ness {
                try Rebinding([addresses]).ness({ $0.allowsAddress = rule.allows }) { $0.observers = [recorder] }
            }
            let some = Rule("127.0.0.1"), target = server.at("/", host: "some.test")
            #expect(try await ness(some, "127.0.0.2", "::1", "127.0.0.1").get(target).text() == "ok")
            #expect(Set(some.asked.entries).isSubset(of: ["some.test 127.0.0.2", "some.test ::1", "some.test 127.0.0.1"]))
            #expect(recorder.log.entries.map(\.remoteAddress?.host) == ["127.0.0.1"])
            let closed = "http://some.test:1/"
            let unreachable = try await ness(some, "127.0.0.2", "127.0.0.1").get(closed).dataRequest().nessError()
            #expect(unreachable?.kind == .cannotConnect)
            let none = try await ness(Rule(), "127.0.0.2", "127.0.0.1").get(closed).dataRequest().nessError()
            expectRejected(none, "some.test")
        }
    }

    // MARK: redirects

    @Test("a redirect to a rejected address is not followed, regardless of the notation of the address")
    func redirects() async throws {
        let rule = Rule("127.0.0.1")
        try await serving({ request in
            guard let host = URLComponents(string: request.target)?.queryItems?.first?.value else { return .text("ok") }
            return .status(307, headers: ["Location": "http://\(host):1/secret"])
        }) { server in
            let ness = try curlNess { $0.allowsAddress = rule.allows }
            for host in ["127.0.0.2", "2130706434", "0x7f.2", "[::1]", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]", "10.0.0.1"] {
                let request = ness.get(server.url).set(urlParameters: ["to": host])
                let error = await request.dataRequest().nessError()
                expectRejected(error)
            }
            // The connection to the server was allowed once, and kept.
            #expect(rule.asked.entries.filter { $0 == "127.0.0.1 127.0.0.1" }.count == server.connectionCount)
        }
    }

    // MARK: notations

    @Test(
        "no notation of an internal address gets past the rule for public addresses",
        arguments: [
            "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0.0.0.0", "0", "localhost",
            "a.localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
            "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::1]", "[fd00:ec2::254]",
            "169.254.169.254", "10.0.0.1", "192.168.0.1", "100.64.0.1", "224.0.0.1", "[ff02::1]",
        ])
    func notations(_ host: String) async throws {
        try await serving({ _ in .text("internal") }) { server in
            let ness = try curlNess { $0.allowsAddress = IPAddress.publicOnly }
            let request = ness.httpRequest(.post, withUrl: "http://\(host):\(server.port)/").set(stringBody: "x")
            let control = AskedControl(CounterRetryControl(maxRetryCount: 3))
            let error = await request.dataRequest(with: control).nessError()
            expectRejected(error)
            #expect(server.connectionCount == 0 && (error?.kind != .addressRejected || control.asked.entries.isEmpty))
        }
    }

    @Test("the rule sees an IPv4 address that is mapped into IPv6 as the IPv4 address")
    func mapped() async throws {
        let rule = Rule()
        let ness = try curlNess { $0.allowsAddress = rule.allows }
        expectRejected(await ness.httpRequest(withUrl: "http://[::ffff:127.0.0.1]:1/").dataRequest().nessError(), "127.0.0.1")
        #expect(rule.asked.entries == ["::ffff:127.0.0.1 127.0.0.1"])
    }

    // MARK: connections

    @Test("a connection that is used again was allowed when it was opened", .keepingConnections)
    func reuse() async throws {
        let rule = Rule("127.0.0.1")
        try await serving({ _ in .text("ok") }) { server in
            let ness = try curlNess { $0.allowsAddress = rule.allows }
            for _ in 0..<3 { #expect(try await ness.get(server.url).text() == "ok") }
            #expect(rule.asked.entries == ["127.0.0.1 127.0.0.1"])
        }
    }

    @Test("a host entry does not get around the rule")
    func hostEntries() async throws {
        let entry = CurlTransport.HostEntry(host: "entry.test", port: 1, addresses: ["127.0.0.1", "::1"])
        let ness = try curlNess {
            $0.hostEntries = [entry]
            $0.allowsAddress = IPAddress.publicOnly
        }
        expectRejected(await ness.httpRequest(withUrl: "http://entry.test:1/").dataRequest().nessError(), "entry.test")
    }

    @Test("a rule for addresses and a unix socket exclude each other")
    func unixSocket() {
        let error = #expect(throws: CurlTransport.OptionError.self) {
            try CurlTransport {
                $0.unixSocketPath = "/run/a"
                $0.allowsAddress = IPAddress.publicOnly
            }
        }
        #expect(error?.option == "allowsAddress")
    }

    // MARK: proxies

    @Test(
        "the rule applies to the proxy under the proxy's name, and nothing reaches a rejected proxy",
        arguments: ["http", "socks5", "socks5h"])
    func proxy(_ scheme: String) async throws {
        try await serving({ _ in .text("proxied") }) { proxy in
            let rule = Rule("10.0.0.1"), proxyURL = try url("\(scheme)://me:hidden@localhost:\(proxy.port)")
            let ness = try curlNess {
                $0.proxy = .url(proxyURL)
                $0.allowsAddress = rule.allows
            }
            for target in ["http://10.0.0.1/", "https://10.0.0.1/"] {
                let error = await ness.httpRequest(withUrl: target).dataRequest().nessError()
                expectRejected(error, "of the proxy localhost:\(proxy.port)")
                #expect(error?.description.contains("hidden") == false)
            }
            #expect(Set(rule.asked.entries) == ["10.0.0.1 10.0.0.1", "localhost 127.0.0.1", "localhost ::1"])
            #expect(proxy.connectionCount == 0)
        }
    }

    @Test("behind an allowed proxy, an address in the URL has to be allowed as well, in every notation")
    func literalsBehindProxy() async throws {
        try await serving({ .text("to \($0.target)") }) { proxy in
            let rule = Rule("127.0.0.1", "8.8.8.8"), proxyURL = proxy.url
            for allowsUnchecked in [false, true] {
                let ness = try curlNess {
                    $0.proxy = .url(proxyURL)
                    $0.allowsAddress = rule.allows
                    $0.allowsUncheckedProxyTargets = allowsUnchecked
                }
                for host in ["169.254.169.254", "2852039166", "0xa9.0xfea9fe", "[::1]", "[::ffff:169.254.169.254]", "localhost"] {
                    expectRejected(await ness.httpRequest(withUrl: "http://\(host)/").dataRequest().nessError())
                    expectRejected(await ness.httpRequest(withUrl: "https://\(host)/").dataRequest().nessError())
                }
                #expect(proxy.requestCount == (allowsUnchecked ? 1 : 0))
                #expect(try await ness.get("http://8.8.8.8/x").text() == "to http://8.8.8.8/x")
            }
        }
    }

    @Test("a name that only the proxy looks up is rejected, unless the options leave it to the proxy")
    func namesBehindProxy() async throws {
        try await serving({ .text("to \($0.target)") }) { proxy in
            let proxyURL = proxy.url
            for isLeft in [false, true] {
                let ness = try curlNess {
                    $0.proxy = .url(proxyURL)
                    $0.allowsAddress = { _, _ in true }
                    $0.allowsUncheckedProxyTargets = isLeft
                }
                let promise = ness.httpRequest(withUrl: "http://name.test/").dataRequest()
                if isLeft {
                    #expect(try await promise.value.message.text == "to http://name.test/")
                } else {
                    expectRejected(await promise.nessError(), "name.test", "the proxy 127.0.0.1:\(proxy.port)")
                }
            }
            #expect(proxy.requestCount == 1)
        }
    }
}

/// The addresses that a transport may connect to, with a proxy of the environment.
@Suite(.inTurn, .inOwnProcess) struct AllowedAddressEnvironmentTests {
    @Test("the environment's proxy is checked like one of the options; a host that it exempts is checked by its own addresses")
    func environment() async throws {
        try await serving({ .text("\($0.target)") }) { server in
            let asked = Log<String>(), port = server.port
            let ness = try curlNess {
                $0.proxy = .environment
                $0.hostEntries = [.init(host: "direct.test", port: port, addresses: ["127.0.0.1"])]
                $0.allowsAddress = { address, host in
                    asked.add(host)
                    return address.description == "127.0.0.1"
                }
            }
            setenv("http_proxy", "http://localhost:\(port)", 1)
            setenv("no_proxy", "other.test, .DIRECT.test", 1)
            // The proxy would look the name up.
            #expect(await ness.httpRequest(withUrl: "http://name.test/").dataRequest().nessError()?.kind == .addressRejected)
            #expect(asked.entries.isEmpty)
            #expect(try await ness.get("http://direct.test:\(port)/a").text() == "/a")
            #expect(asked.entries == ["direct.test"])
            #expect(try await ness.get("http://127.0.0.1:1/b").text() == "http://127.0.0.1:1/b")
            #expect(asked.entries.contains("localhost") && asked.entries.contains("127.0.0.1"))
            // The handle of the request before had a proxy.
            unsetenv("http_proxy")
            #expect(try await ness.get("http://direct.test:\(port)/c").text() == "/c")
        }
    }

    @Test(
        "no_proxy exempts hosts, domains, ranges of addresses, or all",
        arguments: [
            ("a.test", "a.test", true), ("b.a.test", "a.test", true), ("b.a.test", ".a.test", true), ("ba.test", "a.test", false),
            ("A.test.", "x, a.TEST", true), ("a.test", "", false), ("a.test", "*", true), ("10.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "10.0.0.0/8", false), ("[::1]", "::1", true), ("[::1]", "[::1]", true), ("1.10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "0.1", false), ("a.test", "a.test.evil", false),
        ])
    func exceptions(_ host: String, _ list: String, _ isExempt: Bool) { #expect(ProxyEnvironment.exempts(host, in: list) == isExempt) }
}
#endif
