import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The rules of RFC 6265bis that keep sites apart, and secure cookies from what comes in the clear.
@Suite(.inTurn) struct CookieStoreTests {
    private static let start = Date(timeIntervalSince1970: 784_111_777)

    private func jar() -> CookieJar { CookieJar(now: { Self.start }) }

    private func set(_ fields: String..., in jar: CookieJar, from text: String = "https://a.example.com/") throws {
        let url = try url(text)
        for field in fields { jar.store(from: ["Set-Cookie": field], url: url) }
    }

    private func sent(_ jar: CookieJar, to text: String) throws -> String? { jar.header(for: try url(text)) }

    @Test(
        "an http response neither overwrites, nor deletes, nor hides a secure cookie",
        arguments: [
            ("id=evil; Path=/", "http://a.example.com/"), ("id=; Path=/; Max-Age=0", "http://a.example.com/"),
            ("id=evil; Path=/login/x", "http://a.example.com/"), ("id=evil; Domain=example.com; Path=/", "http://a.example.com/"),
            ("id=evil; Path=/", "http://b.a.example.com/"), ("id=evil; Domain=example.com; Path=/", "http://evil.example.com/"),
        ])
    func secureStays(field: String, from: String) throws {
        let jar = jar()
        try set("id=good; Secure; Path=/; Domain=a.example.com", in: jar)
        try set(field, in: jar, from: from)
        #expect(try sent(jar, to: "https://b.a.example.com/login/x") == "id=good")
        #expect(jar.cookies.count == 1)
        // Over https the same server may.
        try set("id=new; Path=/; Domain=a.example.com", in: jar)
        #expect(try sent(jar, to: "https://a.example.com/") == "id=new")
    }

    @Test("an http response may set a cookie that hides no secure one: by name, host, path, or after its expiry")
    func besidesSecure() throws {
        let jar = jar(), time = Lock(Self.start)
        try set("id=good; Secure; Path=/login", in: jar)
        try set("other=1; Path=/login", "id=top; Path=/", in: jar, from: "http://a.example.com/")
        try set("id=elsewhere; Path=/login", in: jar, from: "http://c.example.com/")
        #expect(jar.cookies.map(\.value) == ["good", "1", "top", "elsewhere"])
        let later = CookieJar(now: { time.withLock { $0 } })
        try set("id=good; Secure; Path=/; Max-Age=1", in: later)
        time.withLock { $0 += 2 }
        try set("id=new; Path=/", in: later, from: "http://a.example.com/")
        #expect(later.cookies.map(\.value) == ["new"])
    }

    @Test("a cookie for one host and a cookie for its subdomains are two, even with the same name")
    func hostOnly() throws {
        let jar = jar()
        try set("id=host; Path=/", "id=all; Path=/; Domain=a.example.com", in: jar)
        #expect(try sent(jar, to: "https://a.example.com/") == "id=host; id=all")
        #expect(try sent(jar, to: "https://b.a.example.com/") == "id=all")
        try set("id=; Path=/; Max-Age=0", in: jar)
        #expect(try sent(jar, to: "https://a.example.com/") == "id=all")
    }

    @Test(
        "no host sets a cookie for a public suffix, with or without a dot at either end",
        arguments: [
            ("com", "example.com"), ("com.", "example.com"), ("com.", "example.com."), (".com", "example.com"), ("..com", "example.com"),
            ("co.uk", "example.co.uk"), (".co.uk", "example.co.uk"), ("co.uk.", "example.co.uk."), ("com.au", "a.com.au"),
            ("github.io", "evil.github.io"), ("gov.br", "a.sp.gov.br"), ("sp.gov.br", "a.sp.gov.br"), ("tokyo.jp", "a.b.tokyo.jp"),
            ("b.tokyo.jp", "a.b.tokyo.jp"), ("k12.ca.us", "a.k12.ca.us"), ("ca.us", "a.ca.us"), ("anything.ck", "a.anything.ck"),
            ("pvt.k12.ma.us", "a.pvt.k12.ma.us"),
            ("mi.it", "a.mi.it"), ("waw.pl", "a.waw.pl"), ("herokuapp.com", "a.herokuapp.com"),
        ])
    func publicSuffix(domain: String, host: String) throws {
        let jar = jar()
        try set("a=b; Domain=\(domain)", in: jar, from: "https://\(host)/")
        #expect(jar.cookies.isEmpty)
    }

    @Test(
        "a host sets cookies for its registered domain, and for the domains between",
        arguments: [
            ("example.com", "a.b.example.com"), ("b.example.com", "a.b.example.com"), ("example.co.uk", "a.example.co.uk"),
            ("me.github.io", "a.me.github.io"), ("bbc.uk", "a.bbc.uk"), ("t.co", "a.t.co"), ("example.de", "a.example.de"),
            ("x.b.tokyo.jp", "a.x.b.tokyo.jp"), ("example.io", "a.example.io"), ("example.museum", "a.example.museum"),
        ])
    func registered(domain: String, host: String) throws {
        let jar = jar()
        try set("a=b; Domain=\(domain)", in: jar, from: "https://\(host)/")
        #expect(try sent(jar, to: "https://other.\(domain)/") == "a=b")
    }

    @Test("a host that is a public suffix sets cookies only for itself")
    func ownSuffix() throws {
        let jar = jar()
        try set("a=b; Domain=github.io", in: jar, from: "https://github.io/")
        #expect(try sent(jar, to: "https://github.io/") == "a=b")
        #expect(try sent(jar, to: "https://evil.github.io/") == nil)
    }

    @Test(
        "a date is read in every form of the grammar",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "6 nov 94 8:49:37",
            "1994 NOVEMBER 6 08:49:37", "06-Nov-1994-08:49:37", "08:49:37 6th Nov 1994", "Sun,06 Nov 1994 08:49:37",
            "sun 6/nov/1994 08:49:37x",
            "Nov 06 1994 08:49:37 -0800",
        ])
    func date(text: String) { #expect(CookieDate.parse(text) == Self.start) }

    @Test(
        "an attribute with an invalid date does not count",
        arguments: [
            "", "0", "Sun, 06 Nov 1994", "06 Nov 1994 08:49", "06 Nov 1994 24:00:00", "06 Nov 1994 00:60:00", "06 Nov 1994 00:00:60",
            "31 Feb 2030 00:00:00", "29 Feb 2023 00:00:00", "0 Nov 1994 08:49:37", "06 Nov 1600 08:49:37", "06 Foo 1994 08:49:37",
            "006 Nov 1994 08:49:37", "06 Nov 19940 08:49:37",
        ])
    func noDate(text: String) throws {
        #expect(CookieDate.parse(text) == nil)
        let jar = jar()
        try set("a=b; Expires=\(text)", "c=d; Expires=Sun, 06 Nov 1994 09:00:00 GMT; Expires=\(text)", in: jar)
        #expect(jar.cookies.map(\.expires) == [nil, Self.start + 623])
    }

    @Test("two digits are a year from 1970 to 2069; leap days and centuries are right")
    func years() {
        let texts = ["1 Jan 70 0:0:0", "1 Jan 69 0:0:0", "29 Feb 2000 12:00:00", "1 Mar 1900 0:0:0", "31 Dec 9999 23:59:59"]
        let expected = [0, 3_124_224_000, 951_825_600, -2_203_891_200, 253_402_300_799]
        #expect(texts.map { CookieDate.parse($0).map { Int($0.timeIntervalSince1970) } } == expected)
    }

    @Test("no cookie lasts longer than 400 days; a Max-Age that is not a number does not count")
    func longest() throws {
        let jar = jar(), longest = Self.start + 400 * 86_400
        try set(
            "a=1; Max-Age=99999999999999999999999", "b=1; Expires=1 Jan 2050 0:0:0", "c=1; Max-Age=+5", "d=1; Max-Age=-5", "e=1; Max-Age=",
            "f=1; Max-Age=5; Max-Age=x", in: jar)
        #expect(jar.cookies.map(\.name) == ["a", "b", "c", "e", "f"])
        #expect(jar.cookies.map(\.expires) == [longest, longest, nil, nil, Self.start + 5])
    }

    @Test("an attribute of more than 1,024 bytes does not count, however long its cookie is")
    func longAttribute() throws {
        let jar = jar(), longest = "/" + String(repeating: "x", count: 1_023)
        try set("a=1; Path=\(longest)x; Secure; Comment=\(String(repeating: "y", count: 9_000))", "b=1; Path=\(longest)", in: jar)
        #expect(jar.cookies.map(\.path) == ["/", longest] && jar.cookies[0].isSecure)
    }

    @Test("several values of Cookie go out in one field, joined with a semicolon")
    func joined() async throws {
        let jar = jar()
        try await withServer({ _ in .text("") }, configure: { $0.cookies = jar }) { server, ness in
            var headers: HTTPHeaders = ["Cookie": "a=1", "X": "1"]
            headers.add("b=2", for: "cookie")
            _ = try await ness.get(server.url).set(headers: headers).response()
            try set("b=jar; Path=/", "c=3; Path=/", in: jar, from: server.url.absoluteString)
            for ness in [ness, Ness()] { _ = try await ness.get(server.url).set(headers: headers).response() }
            #expect(server.requests.map { $0.headers.values(for: "Cookie") } == [["a=1; b=2"], ["a=1; b=2; c=3"], ["a=1; b=2"]])
        }
    }

    @Test("a response that a loader fetched from another host sets cookies for that host")
    func mirror() async throws {
        let jar = CookieJar(), mirror = try url("https://mirror.test/x")
        let rig = Rig {
            $0.cookies = jar
            $0.inserted[.exchange] = [.modifyRequest { $0.url = mirror }]
        }
        rig.mock.on(.get, "https://mirror.test/x", replies: [.status(200, headers: ["Set-Cookie": "a=1"])])
        _ = try await rig.ness.get("https://origin.test/x").response()
        #expect(jar.cookies.map(\.domain) == ["mirror.test"])
    }
}
