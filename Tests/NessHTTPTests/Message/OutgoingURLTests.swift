import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Which URLs are refused before anything goes on the wire, and how the others are written.
@Suite(.inTurn) struct OutgoingURLTests {
    static let badTexts = [
        "", "\r\n", "http://", "http:", "http:///path", "http://?q", "http:x", "https://", "ftp://127.0.0.1/x", "file:///etc/passwd",
        "file:x", "mailto:a@b", "data:,x", "javascript:alert(1)", "ws://127.0.0.1/", "localhost:8080/x", "http://127.0.0.1:0/",
        "http://127.0.0.1:70000/", "http://127.0.0.1:65536/", "http://127.0.0.1:-1/", "http://127.0.0.1:99999999999999999999/",
        "http://127.0.0.1:8x/", "http://a b/", "http://a%00b/", "http://a%0D%0Ab/", "http://a%2Fb/", "http://a%40b/", "http://[::1",
        "http://127.0.0.1/\r\nInjected: 1", "http://127.0.0.1/ HTTP/1.1\r\nX: y\r\n\r\n", "http://127.0.0.1/\0", "http://127.0.0.1/a\nb",
        "http://127.0.0.1\r\n/", "http\r\n://127.0.0.1/", "http://127.0.0.1/\u{7F}", "http://127.0.0.1/a\tb",
    ]

    @Test("a string that is not an http or https URL is rejected", arguments: badTexts)
    func texts(text: String) async {
        let error = await Ness { $0.transport = FakeTransport { request, _ in Issue.record("\(request) was sent") } }
            .httpRequest(withUrl: text).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error?.context.attempts == 0)
        #expect(error?.context.reason.isEmpty == false)
        #expect(error?.description.contains { $0.isNewline || $0 == "\0" } == false)
    }

    @Test(
        "a URL whose scheme is neither http nor https is rejected",
        arguments: ["ftp://127.0.0.1/x", "file:///etc/passwd", "http:///x", "http://127.0.0.1:0/"])
    func urls(text: String) async throws {
        let error = await Ness().httpRequest(withUrl: try url(text)).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error?.context.attempts == 0)
    }

    @Test("a base URL that is not http or https is rejected", arguments: ["ftp://127.0.0.1/", "file:///tmp/", "http://127.0.0.1:0/"])
    func bases(text: String) async throws {
        let base = try url(text)
        let error = await Ness { $0.baseURL = base }.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error?.context.attempts == 0)
    }

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

    @Test("a fragment is not sent", arguments: ["#part", "#", "#a?b#c", "#%0D"])
    func fragment(text: String) async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "\(server.url)/x?y=1\(text)").dataRequest().value
            #expect(server.requests.map(\.target) == ["/x?y=1"])
        }
    }

    @Test("user and password of a URL are neither in the target nor in the Host field")
    func userinfo() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "http://user:pass-word@127.0.0.1:\(server.port)/x").dataRequest().value
            let request = try #require(server.requests.first)
            #expect(request.target == "/x")
            #expect(request.headers["Host"] == "127.0.0.1:\(server.port)")
            #expect(!request.headers.contains { $0.value.contains("pass-word") })
        }
    }

    @Test("the caller's Authorization takes precedence over a user in the URL")
    func userinfoAndHeader() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "http://user:pw@127.0.0.1:\(server.port)/x")
                .set(headers: ["Authorization": "Bearer t"]).dataRequest().value
            #expect(server.requests.first?.headers.values(for: "Authorization") == ["Bearer t"])
        }
    }

    @Test("characters beyond ASCII and spaces are percent-encoded; a string without them stays unchanged")
    func encoding() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "\(server.url)/a b/ü?q=ä c&r=+").dataRequest().value
            _ = try await ness.httpRequest(withUrl: "\(server.url)/%20%2F%c3?q=%26").dataRequest().value
            #expect(server.requests.map(\.target) == ["/a%20b/%C3%BC?q=%C3%A4%20c&r=+", "/%20%2F%c3?q=%26"])
        }
    }

    @Test(
        "percent-encoded characters stay unchanged beside others")
    func mixedEncoding() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "\(server.url)/a b/ü%20%2F?q=ä c&r=%26+").dataRequest().value
            #expect(server.requests.map(\.target) == ["/a%20b/%C3%BC%20%2F?q=%C3%A4%20c&r=%26+"])
        }
    }

    @Test("a URL without a path has the path /")
    func noPath() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: server.url).dataRequest().value
            _ = try await ness.httpRequest(withUrl: "\(server.url)?q=1").dataRequest().value
            #expect(server.requests.map(\.target) == ["/", "/?q=1"])
        }
    }
}
