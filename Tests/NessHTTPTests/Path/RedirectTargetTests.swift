import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The resolution of a Location (RFC 3986, 5.4), and the locations that must not be followed.
@Suite(.inTurn) struct RedirectTargetTests {
    /// Redirects a request from a URL to a Location, and returns the target.
    private func follow(
        _ location: String, from base: String = "http://a/b/c/d;p?q", status: Int = 302,
        _ change: (RequestBuilder) -> RequestBuilder = { $0 }
    ) async throws -> (response: HTTPResponse, sent: [String]) {
        let wire = AnsweringTransport(redirectingTo: location, status: status)
        let builder = change(Ness { $0.transport = wire }.httpRequest(withUrl: base))
        let response = try await builder.dataRequest().value.message
        return (response, wire.requests.map(\.url.absoluteString))
    }

    /// Returns the error of the same redirect.
    private func refusal(
        _ location: String, from base: String = "http://a/b/c/d;p?q", status: Int = 302,
        _ change: (RequestBuilder) -> RequestBuilder = { $0 }
    ) async -> (error: NessError?, requestCount: Int) {
        let wire = AnsweringTransport(redirectingTo: location, status: status)
        let error = await change(Ness { $0.transport = wire }.httpRequest(withUrl: base)).dataRequest().nessError()
        return (error, wire.requests.count)
    }

    struct Example: Sendable, CustomTestStringConvertible {
        let location, target: String
        init(_ location: String, _ target: String) { (self.location, self.target) = (location, target) }
        var testDescription: String { "\(location.debugDescription) -> \(target)" }
    }

    /// The examples of RFC 3986, 5.4.1, with the base `http://a/b/c/d;p?q`. Two are left out: `g:h` is not http, and the empty reference is
    /// not a redirect's target.
    static let normal = [
        Example("g", "http://a/b/c/g"), Example("./g", "http://a/b/c/g"), Example("g/", "http://a/b/c/g/"), Example("/g", "http://a/g"),
        Example("//g", "http://g"), Example("?y", "http://a/b/c/d;p?y"), Example("g?y", "http://a/b/c/g?y"),
        Example("#s", "http://a/b/c/d;p?q#s"), Example("g#s", "http://a/b/c/g#s"), Example("g?y#s", "http://a/b/c/g?y#s"),
        Example(";x", "http://a/b/c/;x"), Example("g;x", "http://a/b/c/g;x"), Example("g;x?y#s", "http://a/b/c/g;x?y#s"),
        Example(".", "http://a/b/c/"), Example("./", "http://a/b/c/"), Example("..", "http://a/b/"), Example("../", "http://a/b/"),
        Example("../g", "http://a/b/g"), Example("../..", "http://a/"), Example("../../", "http://a/"), Example("../../g", "http://a/g"),
    ]

    /// The examples of RFC 3986, 5.4.2.
    static let abnormal = [
        Example("../../../g", "http://a/g"), Example("../../../../g", "http://a/g"), Example("/./g", "http://a/g"),
        Example("/../g", "http://a/g"), Example("g.", "http://a/b/c/g."), Example(".g", "http://a/b/c/.g"),
        Example("g..", "http://a/b/c/g.."), Example("..g", "http://a/b/c/..g"), Example("./../g", "http://a/b/g"),
        Example("./g/.", "http://a/b/c/g/"), Example("g/./h", "http://a/b/c/g/h"), Example("g/../h", "http://a/b/c/h"),
        Example("g;x=1/./y", "http://a/b/c/g;x=1/y"), Example("g;x=1/../y", "http://a/b/c/y"),
        Example("g?y/./x", "http://a/b/c/g?y/./x"), Example("g?y/../x", "http://a/b/c/g?y/../x"),
        Example("g#s/./x", "http://a/b/c/g#s/./x"), Example("g#s/../x", "http://a/b/c/g#s/../x"),
    ]

    /// Locations that real servers send.
    static let wild = [
        // An escape beside a character that needs one.
        Example("/a%20b/é", "http://a/a%20b/%C3%A9"), Example("//g/x?page[n]=2&q=a%20b", "http://g/x?page%5Bn%5D=2&q=a%20b"),
        Example("http://[::1]/a%20b|", "http://[::1]/a%20b%7C"),
        Example("http://b/x", "http://b/x"), Example("HTTP://B/x", "http://B/x"),
        Example("http://b:8080/x?y=1&z=%20", "http://b:8080/x?y=1&z=%20"),
        Example("https://b/x", "https://b/x"), Example("  /g\t", "http://a/g"), Example("/a b", "http://a/a%20b"),
        Example("/caf\u{e9}", "http://a/caf%C3%A9"), Example("/g?q=\u{1F980}", "http://a/g?q=%F0%9F%A6%80"),
        Example("/a%2Fb", "http://a/a%2Fb"),
        Example("/100%25", "http://a/100%25"), Example("/%c3%a9", "http://a/%c3%a9"), Example("/g?y=http://c/d", "http://a/g?y=http://c/d"),
        Example("/x:y", "http://a/x:y"), Example("./x:y", "http://a/b/c/x:y"), Example("/a|b", "http://a/a%7Cb"),
        Example("/a<b>\"c\"", "http://a/a%3Cb%3E%22c%22"), Example("/g?", "http://a/g?"), Example("//g/h//i", "http://g/h//i"),
    ]

    @Test("a Location is resolved by RFC 3986", arguments: normal + abnormal + wild)
    func resolution(_ example: Example) async throws {
        let (response, sent) = try await follow(example.location)
        // A fragment is not sent.
        let target = String(example.target.prefix { $0 != "#" })
        #expect(sent == ["http://a/b/c/d;p?q", target])
        #expect(response.text == "arrived")
        #expect(response.url.absoluteString.prefix { $0 != "#" } == target)
    }

    @Test("a scheme without a host is either read as RFC 3986 5.2.2 allows or not followed, never a third thing")
    func schemeOnly() async throws {
        let (response, sent) = try await follow("http:g")
        #expect(sent == ["http://a/b/c/d;p?q"] && response.statusCode == 302 || sent.last == "http://a/b/c/g")
    }

    @Test(
        "a relative Location is resolved against a base of every form",
        arguments: [
            ("http://a", "x", "http://a/x"), ("http://a", "?q", "http://a?q"), ("http://a/", "x", "http://a/x"),
            ("http://a/b/", "x", "http://a/b/x"), ("http://a/b/", "../x", "http://a/x"), ("http://a:81/b?c#d", "x", "http://a:81/x"),
            ("http://a/b%2Fc/d", "x", "http://a/b%2Fc/x"), ("https://a/b", "//c/d", "https://c/d"),
        ])
    func bases(_ base: String, _ location: String, _ target: String) async throws {
        let sent = try await follow(location, from: base).sent
        #expect(sent.last == target)
        #expect(sent.count == 2)
    }

    // MARK: what may not be followed

    @Test(
        "only http and https are followed", arguments: RedirectTests.codes,
        [
            "ftp://a/x", "FTP://a/x", "file://a/x", "ws://a/x", "g://h", "g:h", "mailto://a@b/", "data:text/html,x", "javascript:alert(1)",
            "about:blank",
        ])
    func otherSchemes(_ status: Int, _ location: String) async throws {
        let (error, requestCount) = await refusal(location, status: status)
        #expect(error?.kind == .redirect)
        #expect(error?.response?.statusCode == status)
        #expect(requestCount == 1)
    }

    @Test("a redirect from https to http is rejected", arguments: RedirectTests.codes, ["http://a/x", "http://b/x", "HTTP://a:443/x"])
    func insecure(_ status: Int, _ location: String) async throws {
        let (error, requestCount) = await refusal(location, from: "https://a/", status: status)
        #expect(error?.kind == .redirect)
        #expect(error?.response?.statusCode == status)
        #expect(error?.response?.text == "moved")
        #expect(requestCount == 1)
    }

    @Test("a redirect from https to http is followed if allowed, for the request or the manager")
    func allowedInsecure() async throws {
        let sent = try await follow("http://a/x", from: "https://a/") { $0.set(redirects: .follow(), allowsInsecure: true) }.sent
        #expect(sent == ["https://a/", "http://a/x"])
        let wire = AnsweringTransport(redirectingTo: "http://a/x")
        let ness = Ness {
            $0.transport = wire
            $0.allowsInsecureRedirects = true
        }
        _ = try await ness.httpRequest(withUrl: "https://a/").dataRequest().value
        #expect(wire.requests.count == 2)
        // The request's own setting takes precedence.
        let other = Ness {
            $0.transport = AnsweringTransport(redirectingTo: "http://a/x")
            $0.allowsInsecureRedirects = true
        }
        let strict = other.httpRequest(withUrl: "https://a/").set(redirects: .follow(), allowsInsecure: false)
        #expect(await strict.dataRequest().nessError()?.kind == .redirect)
    }

    @Test("a redirect from http to https and within https is followed", arguments: ["http://a/", "https://a/"])
    func secure(_ base: String) async throws {
        #expect(try await follow("https://b/x", from: base).sent == [base, "https://b/x"])
    }

    @Test(
        "a target that cannot be sent is an error of the redirect, not of the caller",
        arguments: ["http://host:99999999/", "http://host:0/", "http://b%00c/"])
    func unsendable(_ location: String) async throws {
        let (error, requestCount) = await refusal(location)
        #expect(error?.kind == .redirect)
        #expect(requestCount == 1)
    }

    @Test("the error of a rejected redirect shows no secret")
    func refusalText() async throws {
        let error = await refusal("ftp://user:hunter2@a/?token=hunter3", from: "http://u:hunter1@a/?token=hunter4").error
        let text = try #require(error?.description)
        #expect(!text.contains("hunter"))
        #expect(text.contains("ftp"))
    }

    @Test("the error shows a relative Location resolved") func relativeLocation() async throws {
        let rig = Rig { $0.redirects = .follow(limit: 0) }
        rig.mock.on(.get, "/a/b", replies: [.status(302, headers: ["Location": "../c"])])
        let error = await rig.ness.httpRequest(withUrl: "a/b").dataRequest().nessError()
        #expect(error?.kind == .redirect)
        #expect(error?.response?.redirectRequest()?.url.absoluteString == "https://mock.test/c")
    }
}
