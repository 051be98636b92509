import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// Cookies compare by bytes. Swift's strings compare by canonical equivalence, and a combining scalar hides the Character before it.
@Suite(.inTurn(.withoutSockets)) struct CookieBytesTests {
    private static let start = Date(timeIntervalSince1970: 784_111_777)
    private static let composed = "caf\u{E9}", decomposed = "cafe\u{301}"

    private func cookie(_ field: String, from text: String = "https://a.example.com/") throws -> Cookie? {
        Cookie(setCookie: field, from: try url(text), now: Self.start)
    }

    @Test(
        "a prefix of a name keeps its meaning before any scalar",
        arguments: [
            "__Host-\u{301}a=b; Path=/", "__host-\u{301}=b; Secure; Path=/; Domain=example.com", "__HOST-\u{20DD}a=b; Secure; Path=/x",
            "__Secure-\u{301}a=b", "__Secure-\u{200D}=b", "__Host-\u{FE0F}a=b",
        ])
    func prefix(field: String) throws {
        #expect(try cookie(field) == nil)
        #expect(try cookie("__Host-\u{301}a=b; Secure; Path=/") != nil)
    }

    @Test(
        "a host whose last label is a number is an address, which has no parent domain",
        arguments: [
            ("127.0.0.0x1", "0.0.0x1"), ("127.0.0.0x1", "0x1"), ("127.0.0.01", "0.01"), ("a.0X1F", "0x1f"), ("a.b.0x", "b.0x"),
            ("a.b.7", "b.7"),
            ("127.0.0.1", "0.0.1"), ("a.b.0x1.", "b.0x1."),
        ])
    func address(host: String, domain: String) throws {
        #expect(try cookie("a=b; Domain=\(domain)", from: "http://\(host)/") == nil)
        let own = try #require(Cookie(name: "a", value: "b", domain: domain, includesSubdomains: true))
        let url = try url("http://\(host)/")
        #expect(own.isHostOnly && !own.applies(to: ParsedURL(url), now: Self.start))
    }

    @Test("a name whose last label only contains digits is not an address", arguments: ["a.b.x1", "a.b.0xg", "a.b.1a"])
    func noAddress(host: String) throws { #expect(!ParsedURL.isAddress(host: host)) }

    @Test("names, values and paths that are canonically equal are different")
    func equality() throws {
        let url = try url("https://a.example.com/"), jar = CookieJar(now: { Self.start })
        for name in [Self.composed, Self.decomposed] { jar.store(from: ["Set-Cookie": "\(name)=\(name); Path=/"], url: url) }
        #expect(jar.cookies.count == 2)
        #expect(jar.cookies[0] != jar.cookies[1] && Set(jar.cookies).count == 2)
        let sent = try #require(jar.header(for: url))
        #expect(sent.isExactly("\(Self.composed)=\(Self.composed); \(Self.decomposed)=\(Self.decomposed)"))
        let besides = try #require(jar.header(for: url, besides: "\(Self.composed)=own"))
        #expect(besides.isExactly("\(Self.composed)=own; \(Self.decomposed)=\(Self.decomposed)"))
        let values = [Self.composed, Self.decomposed].map { Cookie(name: "a", value: $0, domain: "a.test") }
        #expect(values[0] != values[1])
    }

    @Test("an http response cannot delete a secure cookie, but one with a canonically equal name is another cookie")
    func overlay() throws {
        let secure = try #require(try cookie("\(Self.composed)=1; Secure; Path=/"))
        let equal = try #require(try cookie("\(Self.composed)=2; Path=/")), other = try #require(try cookie("\(Self.decomposed)=2; Path=/"))
        #expect(equal.overlays(secure) && !other.overlays(secure))
    }

    @Test("a domain and a path divide at their bytes")
    func parts() throws {
        #expect(try cookie("a=b; Domain=.\u{301}example.com") == nil)
        let root = try #require(Cookie(name: "a", value: "b", domain: "a.test", path: "/\u{301}x"))
        #expect(root.path.isExactly("/\u{301}x"))
        let folder = try #require(try cookie("a=b; Path=/a")), url = try url("https://a.example.com/ab")
        #expect(!folder.applies(to: ParsedURL(url), now: Self.start))
    }

    @Test("two values of a Cookie field that are canonically equal keep their callers' parts apart")
    func callersPart() throws {
        let cookies = JarCookies(), url = try url("https://a.test/")
        let first = cookies.set(in: HTTPRequest(url: url, headers: ["Cookie": "own=1"])) { _ in "own=1; n=\(Self.composed)" }
        _ = cookies.set(in: HTTPRequest(url: url)) { _ in "own=1; n=\(Self.decomposed)" }
        var part: String?
        _ = cookies.set(in: first) { callersField in
            part = callersField
            return nil
        }
        #expect(part == "own=1")
    }
}
