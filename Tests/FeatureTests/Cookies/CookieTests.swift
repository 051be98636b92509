import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// RFC 6265bis, as far as a client that is no browser has to know it.
@Suite(.inTurn) struct CookieTests {
    private static let start = Date(timeIntervalSince1970: 1_000_000_000)

    private func cookie(_ field: String, from text: String = "https://a.example.com/dir/page") throws -> Cookie? {
        Cookie(setCookie: field, from: try url(text), now: Self.start)
    }

    @Test(
        "valid and invalid cookies are told apart",
        arguments: [
            ("a=b", "a=b"), (" a = b ; Path=/", "a=b"), ("a=", "a="), ("a=b=c; HttpOnly", "a=b=c"), ("a=\"b\"", "a=\"b\""),
            ("a=b; nonsense; =x;;", "a=b"),
            ("a", nil), ("=b", nil), ("", nil), (";", nil), ("a=b\nc", nil), ("a=\u{7F}", nil), ("a=b; x=\u{1}", nil),
            ("a=" + String(repeating: "b", count: 4_096), nil),
        ] as [(String, String?)])
    func pairs(field: String, expected: String?) throws { #expect(try cookie(field).map { "\($0.name)=\($0.value)" } == expected) }

    @Test(
        "domain, path and scheme decide who may set a cookie and where it is sent",
        arguments: [
            // Domain, set by, sent to, not sent to
            ("", "https://example.com/", "https://EXAMPLE.com:8443/", "https://a.example.com/"),
            ("Domain=example.com", "https://a.example.com/", "https://b.example.com/", "https://badexample.com/"),
            ("Domain=.Example.com", "https://example.com/", "https://example.com/", "https://example.com.evil.test/"),
            ("Domain=localhost", "http://localhost/", "http://localhost/", "http://a.localhost/"),
            ("Domain=127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", "http://1.127.0.0.1/"),
            ("Domain=", "https://example.com/", "https://example.com/", "https://a.example.com/"),
            ("Secure", "https://example.com/", "https://example.com/", "http://example.com/"),
            ("Path=/a", "https://example.com/", "https://example.com/a/b", "https://example.com/ab"),
            ("Path=/a/", "https://example.com/", "https://example.com/a/b", "https://example.com/a"),
            ("Path=a", "https://example.com/x/y/z", "https://example.com/x/y", "https://example.com/x"),
            ("", "https://example.com/x", "https://example.com", "https://example.org"),
        ])
    func scope(attribute: String, from: String, goesTo: String, not: String) throws {
        let cookie = try #require(try cookie("a=b; " + attribute, from: from))
        #expect(cookie.applies(to: ParsedURL(try url(goesTo)), now: Self.start))
        #expect(!cookie.applies(to: ParsedURL(try url(not)), now: Self.start))
    }

    @Test(
        "no host sets cookies for others, or secure cookies over http",
        arguments: [
            ("a=b; Domain=com", "https://example.com/"), ("a=b; Domain=other.com", "https://example.com/"),
            ("a=b; Domain=a.example.com", "https://example.com/"), ("a=b; Domain=0.0.1", "http://127.0.0.1/"),
            ("a=b; Secure", "http://example.com/"),
            ("__Secure-a=b", "https://example.com/"), ("__Host-a=b; Secure; Path=/; Domain=example.com", "https://example.com/"),
            ("__Host-a=b; Secure; Path=/x", "https://example.com/"),
        ])
    func refused(field: String, from: String) throws { #expect(try cookie(field, from: from) == nil) }

    @Test("Max-Age counts before Expires; expired cookies are removed, and an expired one deletes its predecessor")
    func expiry() throws {
        let time = Lock(Self.start), jar = CookieJar(now: { time.withLock { $0 } })
        let url = try url("https://example.com/")
        func set(_ fields: String...) {
            var headers = HTTPHeaders()
            for field in fields { headers.add(field, for: "Set-Cookie") }
            jar.store(from: headers, url: url)
        }
        set(
            "session=1", "short=2; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "date=3; Expires=Sun, 09 Sep 2001 01:47:00 GMT",
            "odd=4; Max-Age=x")
        #expect(jar.header(for: url) == "session=1; short=2; date=3; odd=4")
        time.withLock { $0 += 10 }
        #expect(jar.header(for: url) == "session=1; date=3; odd=4")
        time.withLock { $0 += 10 }
        #expect(jar.header(for: url) == "session=1; odd=4")
        set("session=; Max-Age=0", "odd=5; Max-Age=99999999999999")
        #expect(jar.cookies.map(\.value) == ["5"])
        jar.removeAll()
        #expect(jar.header(for: url) == nil)
    }

    @Test("the longest path comes first, then the oldest cookie")
    func order() throws {
        let jar = CookieJar(), url = try url("https://example.com/a/b")
        for field in ["x=1; Path=/", "y=2; Path=/a", "z=3; Path=/", "x=4; Path=/"] { jar.store(from: ["Set-Cookie": field], url: url) }
        #expect(jar.header(for: url) == "y=2; x=4; z=3")
        #expect(jar.header(for: url, besides: "z=own; n=1") == "z=own; n=1; y=2; x=4")
        // A removal leaves no place behind, neither for a cookie that was there nor for one that was not.
        for field in ["x=; Path=/; Max-Age=0", "n=; Path=/; Max-Age=0", "x=5; Path=/", "n=6; Path=/"] {
            jar.store(from: ["Set-Cookie": field], url: url)
        }
        #expect(jar.header(for: url) == "y=2; z=3; x=5; n=6")
    }

    @Test("a manager with a jar returns the servers' cookies; redirects set and send their own, and no other origin's")
    func manager() async throws {
        try await withServer({ _ in .text("") }) { other, _ in
            let there = other.at("/there")
            try await withServer({ request in
                switch request.target {
                case "/login": .status(302, headers: ["Location": "/a/next", "Set-Cookie": "id=1; Path=/a"])
                case "/a/next": .status(302, headers: ["Location": there, "Set-Cookie": "id=2; Path=/a"])
                default: .text(request.headers["cookie"] ?? "none")
                }
            }) { server, _ in
                let jar = CookieJar(), ness = Ness { ($0.baseURL, $0.cookies) = (server.url, jar) }
                _ = try await ness.httpRequest(withUrl: "login").set(headers: ["Cookie": "own=1"]).dataRequest().value
                #expect(server.requests.map { $0.headers["cookie"] } == ["own=1", "own=1; id=1"])
                // The same host, but another port: cookies do not know ports, what the caller set does.
                #expect(other.requests.map { $0.headers["cookie"] } == [nil])
                #expect(try await ness.get("a/x").text() == "id=2")
                #expect(try await ness.get("b").text() == "none")
                #expect(!"\(jar.cookies)".contains("id=2") && "\(jar.cookies)".contains("id="))
                await ness.reset()
                #expect(try await ness.get("a/x").text() == "none")
            }
        }
    }

    @Test("without a jar no cookie is kept") func noJar() async throws {
        try await withServer({ .text($0.headers["cookie"] ?? "none", headers: ["Set-Cookie": "id=1"]) }) { server, ness in
            let texts = [try await ness.get(server.url).text(), try await ness.get(server.url).text()]
            #expect(texts == ["none", "none"])
        }
    }

    @Test("a request with other cookies shares no exchange, and no stored response unless a rule says so") func separation() async throws {
        let jar = CookieJar(), gate = TestGate()
        let rig = Rig { ($0.cookies, $0.cache) = (jar, HTTPCache(memoryLimit: 1 << 20, userCookies: .named(["id"]))) }
        let url = try url("https://mock.test/")
        rig.mock.on(.get, "/kept") { .text($0.headers["cookie"] ?? "none", headers: ["Cache-Control": "max-age=60"]) }
        rig.mock.on(.get, "/slow", after: gate) { request in .text(request.headers["cookie"] ?? "none") }
        var promises: [DataPromise] = []
        for number in 1...2 {
            jar.store(from: ["Set-Cookie": "id=\(number)"], url: url)
            for _ in 0..<2 { #expect(try await rig.ness.get("kept").text() == "id=\(number)") }
            promises.append(rig.ness.get("slow").dataRequest())
            await rig.mock.waitUntil { $0.requests.count == 2 * number }
        }
        gate.open()
        #expect(try await Promise.all(promises).value.map(\.message.text) == ["id=1", "id=2"])
    }

    @Test("a Cookie field that a redirect removed does not return with the jar's cookies")
    func removedFieldStaysRemoved() async throws {
        let rig = Rig { $0.cookies = CookieJar() }
        rig.mock.on(.get, "/start") { _ in .status(302, headers: ["Location": "https://other.test/1"]) }
        rig.mock.on(.get, "https://other.test/1") { _ in .status(302, headers: ["Location": "/2", "Set-Cookie": "x=1"]) }
        rig.mock.on(.get, "https://other.test/2") { _ in .status(302, headers: ["Location": "/3"]) }
        rig.mock.on(.get, "https://other.test/3") { _ in .status(200) }
        _ = try await rig.ness.get("start").set(header: "Cookie", to: "session=secret").response()
        #expect(rig.mock.requests.map { $0.headers["Cookie"] } == ["session=secret", nil, "x=1", "x=1"])
    }

    @Test("a request that a loader makes keeps its own Cookie field, even if the jar wrote the same value into the caller's request")
    func loaderMade() async throws {
        let jar = CookieJar(), own = HTTPRequest(url: try url("https://other.test/"), headers: ["Cookie": "id=1"])
        jar.store(from: ["Set-Cookie": "id=1"], url: try url("https://mock.test/"))
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.cookies = jar
            $0.insert(
                .loader { request, next in
                    _ = try await next(own)
                    return try await next(request)
                }, at: .authenticated)
        }
        _ = try await rig.ness.get("x").response()
        #expect(rig.mock.requests.map { $0.headers["Cookie"] } == ["id=1", "id=1"])
    }

    @Test("the cookies of a stream are stored when its head arrives", arguments: [true, false])
    func ofStream(isLeft: Bool) async throws {
        let go = TestGate(), jar = CookieJar()
        let head = "HTTP/1.1 200 OK\r\nSet-Cookie: id=1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        try await withServer({ _ in .script([.send(head), .wait(go), .send("0\r\n\r\n")]) }, configure: { $0.cookies = jar }) { _, ness in
            for try await _ in ness.get("x").streamRequest().chunks {
                #expect(jar.cookies.map(\.name) == ["id"])
                if isLeft { break }
                go.open()
            }
            #expect(jar.cookies.map(\.name) == ["id"])
        }
    }
}
