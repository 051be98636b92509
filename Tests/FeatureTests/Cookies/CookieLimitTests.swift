import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The number of cookies in a jar.
@Suite(.inTurn(.withoutSockets)) struct CookieLimitTests {
    private static let start = Date(timeIntervalSince1970: 784_111_777)

    private func jar() -> CookieJar { CookieJar(now: { Self.start }) }

    private func set(_ fields: [String], in jar: CookieJar, from text: String = "https://a.example.com/") throws {
        var headers = HTTPHeaders()
        for field in fields { headers.add(field, for: "Set-Cookie") }
        jar.store(from: headers, url: try url(text))
    }

    @Test("of a response with thousands of cookies, a site keeps the latest and the secure ones", arguments: ["https", "http"])
    func manyInOne(scheme: String) throws {
        let jar = jar()
        try set(["secure=1; Secure"], in: jar)
        try set((0..<3_000).map { "n\($0)=1; Path=/\($0 % 7)" }, in: jar, from: "\(scheme)://a.example.com/")
        #expect(jar.cookies.count == 180)
        #expect(jar.cookies.contains { $0.name == "n2999" } && !jar.cookies.contains { $0.name == "n100" })
        #expect(jar.cookies.contains { $0.name == "secure" })
    }

    @Test("a file of many cookies, for one site or for many, is read up to the limits", arguments: [1, 8_000])
    func manyInFile(siteCount: Int) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "jar"), end = Self.start + 1_000
            let cookies = (0..<8_000).compactMap { number in
                Cookie(name: "n\(number)", value: "1", domain: "h\(number % siteCount).test", expires: end)
            }
            try JSONEncoder().encode(cookies).write(to: file)
            let jar = CookieJar(contentsOf: file, now: { Self.start })
            #expect(jar.cookies.count == (siteCount == 1 ? 180 : 3_000))
            #expect(jar.cookies.last?.name == "n7999")
        }
    }

    @Test("cookies that are set one by one are reduced now and then, not each time")
    func oneByOne() throws {
        let jar = jar()
        for number in 0..<4_000 { jar.insert(try #require(Cookie(name: "a", value: "1", domain: "h\(number).test"))) }
        #expect((3_000...3_300).contains(jar.cookies.count))
    }

    @Test("a cookie that was removed leaves room for another")
    func removed() throws {
        let jar = jar()
        for number in 0..<3_300 { jar.insert(try #require(Cookie(name: "a", value: "1", domain: "h\(number).test"))) }
        try set(["a=; Max-Age=0"], in: jar, from: "https://h0.test/")
        #expect(jar.cookies.count == 3_299)
        for (name, count) in [("b", 3_300), ("c", 3_000)] {
            try set(["\(name)=1"], in: jar)
            #expect(jar.cookies.count == count)
        }
    }

    @Test("a request gets the cookies of its site, however many other sites there are")
    func lookUp() throws {
        let jar = jar()
        for number in 0..<1_000 { try set(["a=1"], in: jar, from: "https://h\(number).test/") }
        try set(["b=1; Domain=example.com"], in: jar)
        #expect(jar.header(for: try url("https://x.example.com/")) == "b=1")
    }

    @Test("the hosts of one site, however many, displace no cookie of another site")
    func manyHosts() throws {
        let jar = jar()
        for number in 0..<100 { try set(["id=1"], in: jar, from: "https://h\(number).test/") }
        for number in 0..<600 {
            try set(["a\(number % 60)=1"], in: jar, from: "https://a\(number).b.c.d.example.com/")
            try set(
                ["b\(number % 60)=1; Domain=\(number % 2 == 0 ? "b.c.d" : "d").example.com"], in: jar, from: "https://x.b.c.d.example.com/")
        }
        #expect(jar.cookies.count { $0.domain.hasSuffix("example.com") } == 180)
        #expect(jar.cookies.count { $0.domain.hasSuffix(".test") } == 100)
    }

    @Test("customers of one provider are separate sites: none sets a cookie for another, or displaces one")
    func customers() throws {
        let jar = jar()
        try set(["id=1"], in: jar, from: "https://me.s3.amazonaws.com/")
        try set((0..<200).map { "a\($0)=1" }, in: jar, from: "https://evil.s3.amazonaws.com/")
        try set(["wide=1; Domain=amazonaws.com"], in: jar, from: "https://evil.s3.amazonaws.com/")
        #expect(jar.header(for: try url("https://me.s3.amazonaws.com/")) == "id=1")
        #expect(jar.cookies.count == 181)
    }

    @Test("expired cookies go first, then those without Secure, then the others; in each group the one unused for the longest time")
    func order() throws {
        let time = Lock(Self.start), jar = CookieJar(now: { time.withLock { $0 } })
        try set((0..<178).map { "s\($0)=1; Secure; Path=/s\($0)" }, in: jar)
        try set(["plain=1; Path=/p"], in: jar)
        try set(["short=1; Secure; Max-Age=10"], in: jar)
        #expect(jar.cookies.count == 180)
        time.withLock { $0 += 10 }
        try set(["a=1; Secure"], in: jar)
        #expect(jar.cookies.map(\.name).contains("plain") && jar.cookies.count == 180)
        try set(["b=1; Secure"], in: jar)
        #expect(!jar.cookies.map(\.name).contains("plain") && jar.cookies.map(\.name).contains("s0"))
        // A request with the first cookie makes it the latest.
        _ = jar.header(for: try url("https://a.example.com/s0"))
        try set(["c=1; Secure"], in: jar)
        #expect(jar.cookies.map(\.name).contains("s0") && !jar.cookies.map(\.name).contains("s1"))
        // Setting a cookie again is a use, too.
        try set(["s2=2; Secure; Path=/s2", "d=1; Secure"], in: jar)
        #expect(jar.cookies.map(\.name).contains("s2") && !jar.cookies.map(\.name).contains("s3"))
    }

    @Test(
        "of two cookies, the one that was sent last stays; of two that were last sent together, the one that was set last",
        arguments: [("/b", "a"), ("/", "b")])
    func sent(path: String, kept: String) throws {
        let jar = jar()
        try set(["a=1; Path=/", "b=1; Path=\(path)"], in: jar)
        _ = jar.header(for: try url("https://a.example.com/"))
        try set((0..<179).map { "n\($0)=1" }, in: jar)
        let names = jar.cookies.map(\.name)
        #expect(names.count == 180 && ["a", "b"].filter(names.contains) == [kept])
    }

    @Test("no number of http responses, from any number of hosts, displaces a secure cookie")
    func secureStays() throws {
        let jar = jar()
        for number in 0..<3_000 { try set(["id=1; Secure"], in: jar, from: "https://h\(number).test/") }
        for number in 0..<1_000 { try set(["n=1"], in: jar, from: "http://n\(number).test/") }
        #expect(jar.cookies.count { $0.isSecure } == 3_000)
    }
}
