import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Which URLs are refused before anything goes on the wire, and how the others are written.
@Suite(.inTurn) struct OutgoingURLTests {
    static let badTexts = [
        "", "\r\n", "http://", "http:", "http:///path", "http://?q", "http:x", "https://", "ftp://127.0.0.1/x", "file:///etc/passwd",
        "file:x", "mailto:a@b", "data:,x", "javascript:alert(1)", "ws://127.0.0.1/", "localhost:8080/x", "http://127.0.0.1:0/",
        "http://127.0.0.1:70000/", "http://127.0.0.1:65536/", "http://127.0.0.1:-1/", "http://127.0.0.1:99999999999999999999/",
        "http://127.0.0.1:8x/", "http://a b/", "http://[::1", "http://[]/", "http://127.0.0.1/\r\nInjected: 1",
        "http://127.0.0.1/ HTTP/1.1\r\nX: y\r\n\r\n", "http://127.0.0.1/\0", "http://127.0.0.1/a\nb", "http://127.0.0.1\r\n/",
        "http\r\n://127.0.0.1/", "http://127.0.0.1/\u{7F}", "http://127.0.0.1/a\tb",
    ]

    /// Hosts with an escaped control character or delimiter, in either case; with a wide slash; with one in a zone; and not in UTF-8.
    static let badHosts = [
        "a%00b", "a%0D%0Ab", "a%0ab", "a%1Fb", "a%1fb", "a%20b", "a%23b", "a%25b", "a%252fb", "a%2Fb", "a%2fb", "a%3Ab", "a%3ab", "a%3Fb",
        "a%3fb", "a%40b", "%5B::1%5D", "%5b%3a%3a1%5d", "a%5Cb", "a%5cb", "a%7Fb", "a%7fb", "a%C2%85b", "a%3C%CC%B8b",
        "a%EF%BC%8Fb", "a%ef%bc%8fb", "[fe80::1%25a%2Fb]", "[fe80::1%25a%2fb]", "a%FFb",
    ]

    @Test("a string that is not an http or https URL is rejected", arguments: badTexts + badHosts.map { "http://\($0)/" })
    func texts(text: String) async {
        let error = await Ness { $0.transport = FakeTransport { request, _ in Issue.record("\(request) was sent") } }
            .httpRequest(withUrl: text).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error?.context.attempts == 0)
        #expect(error?.context.reason.isEmpty == false)
        #expect(error?.description.contains { $0.isNewline || $0 == "\0" } == false)
    }

    @Test(
        "a URL and a base URL whose scheme is neither http nor https are rejected",
        arguments: ["ftp://127.0.0.1/x", "file:///etc/passwd", "http:///x", "http://127.0.0.1:0/"])
    func urls(text: String) async throws {
        let url = try url(text)
        for builder in [Ness().httpRequest(withUrl: url), Ness { $0.baseURL = url }.httpRequest(withUrl: "x")] {
            let error = await builder.dataRequest().nessError()
            #expect(error?.kind == .invalidRequest && error?.context.attempts == 0)
        }
    }

    @Test(
        "a host with harmless escapes or capitals is accepted, and the URL stays as it is",
        arguments: [
            "http://b%C3%BCcher.test/", "http://b%c3%bccher.test/", "http://xn--bcher-kva.test/", "http://[fe80::1%25eth0]/",
            "http://A.test/!?~",
        ])
    func escapedHosts(text: String) throws {
        let checked = try OutgoingCheck.checked(try url(text))
        #expect(checked.absoluteString == text)
    }

    @Test("a host with only one bracket is not valid", arguments: ["[::1", "::1]", "[a", "a]"])
    func bracket(host: String) { #expect(!OutgoingCheck.isValidHost(host)) }

    @Test("an invalid URL from a loader or a delegate is rejected")
    func fromLoader() async throws {
        let bad = try url("file:///etc/passwd")
        let loader = ClosureLoader { request, next in
            var request = request
            request.url = bad
            return try await next(request)
        }
        try await withServer(configure: { $0.loaders = [loader] }) { server, ness in
            #expect(await ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
            #expect(server.connectionCount == 0)
        }
    }

    @Test("an IPv6 literal is a clear error if the transport cannot reach it", arguments: ["[::1]", "[::ffff:127.0.0.1]"])
    func ipv6(host: String) async throws {
        try await withServer { server, _ in
            let promise = Ness().httpRequest(withUrl: "http://\(host):\(server.port)/x").dataRequest()
            if Engine.isURLSessionOnLinux {
                let error = await promise.nessError()
                #expect(error?.kind == .invalidRequest)
                #expect(error?.context.reason.contains("IPv6") == true)
                #expect(server.connectionCount == 0)
            } else if host == "[::1]" {
                // The server listens on 127.0.0.1 only: what matters is that the request was tried.
                #expect(await promise.nessError()?.kind == .cannotConnect)
            } else {
                let status = try await promise.value.message.statusCode
                #expect(status == 200)
            }
        }
    }

    @Test("scheme and host are accepted in any case")
    func capitals() async throws {
        try await withServer { server, ness in
            let message = try await ness.httpRequest(withUrl: "HTTP://127.0.0.1:\(server.port)/Path?Q=1").dataRequest().value.message
            #expect(message.text == "ok")
            #expect(message.url.absoluteString == "http://127.0.0.1:\(server.port)/Path?Q=1")
            #expect(server.requests.map(\.target) == ["/Path?Q=1"])
            _ = try await ness.httpRequest(withUrl: "http://LOCALHOST:\(server.port)/").dataRequest().value
            #expect(server.requestCount == 2)
        }
    }

    @Test(
        "a URL is sent percent-encoded where needed, with at least the path /, and without its fragment",
        arguments: [
            ("/x?y=1#part", "/x?y=1"), ("/x?y=1#", "/x?y=1"), ("/x?y=1#a?b#c", "/x?y=1"), ("/x?y=1#%0D", "/x?y=1"), ("", "/"),
            ("?q=1", "/?q=1"),
            ("/a b/ü?q=ä c&r=+", "/a%20b/%C3%BC?q=%C3%A4%20c&r=+"), ("/%20%2F%c3?q=%26", "/%20%2F%c3?q=%26"),
            ("/a b/ü%20%2F?q=ä c&r=%26+", "/a%20b/%C3%BC%20%2F?q=%C3%A4%20c&r=%26+"),
        ])
    func targets(text: String, target: String) async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "\(server.url)\(text)").dataRequest().value
            #expect(server.requests.map(\.target) == [target])
        }
    }

    @Test("user and password of a URL are neither in the target nor in the Host field, and the caller's Authorization takes precedence")
    func userinfo() async throws {
        try await withServer { server, ness in
            let request = ness.httpRequest(withUrl: "http://user:pass-word@127.0.0.1:\(server.port)/x")
            _ = try await request.response()
            _ = try await request.set(headers: ["Authorization": "Bearer t"]).response()
            #expect(server.requests.map(\.target) == ["/x", "/x"])
            #expect(server.requests.allSatisfy { $0.headers["Host"] == "127.0.0.1:\(server.port)" })
            #expect(server.requests.first?.headers.contains { $0.value.contains("pass-word") } == false)
            #expect(server.requests.last?.headers.values(for: "Authorization") == ["Bearer t"])
        }
    }
}
