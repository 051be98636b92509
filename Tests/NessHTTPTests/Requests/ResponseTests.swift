import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Responses as a caller sees them.
@Suite(.inTurn) struct ResponseTests {
    @Test("any status is a result if there is no validator")
    func everyStatus() async throws {
        let statuses = [200, 300, 400, 500].flatMap { $0..<($0 + 25) }
        #expect(statuses.count == 100)
        try await withServer({ .text("s", status: Int($0.path.dropFirst()) ?? 0) }) { server, ness in
            for status in statuses where !Self.redirects.contains(status) {
                let message = try await ness.httpRequest(withUrl: "\(status)").dataRequest().value.message
                #expect(message.statusCode == status)
                // 204 and 304 have no body, and a recipient may not expect one with 205.
                if ![204, 205, 304].contains(status) { #expect(message.text == "s", "\(status)") }
            }
            #expect(server.requestCount == 93)
        }
    }

    private static let redirects = [301, 302, 303, 305, 306, 307, 308]

    @Test(
        "a redirect without a Location is a result with its body; URLSession on Linux loses the body, which is an error",
        arguments: redirects)
    func redirectToNowhere(status: Int) async throws {
        try await withServer({ _ in .text("nowhere", status: status) }) { server, ness in
            let promise = ness.httpRequest(withUrl: "x").dataRequest()
            if Engine.isURLSessionOnLinux {
                let error = await promise.nessError()
                #expect(error?.kind == .truncated)
                #expect(error?.response?.statusCode == status)
            } else {
                let message = try await promise.value.message
                #expect(message.statusCode == status)
                #expect(message.text == "nowhere")
            }
            #expect(server.requestCount == 1)
        }
    }

    @Test("a requested compressed body is decoded, and its total is not taken from Content-Length")
    func gzip() async throws {
        let server = try await TestServer.start(try #require(Misbehavior.named("gzip")))
        let promise = Ness().httpRequest(withUrl: server.url).set(headers: ["Accept-Encoding": "gzip"]).dataRequest()
        #expect(try await promise.value.message.text == "hello")
        #expect(promise.progress.completedBytes == 5)
        #expect(promise.progress.totalBytes == 5)
        await server.stop()
    }

    @Test("a response to HEAD has the length of what GET would give, and no body")
    func head() async throws {
        try await withServer({ _ in .text("0123456789") }) { _, ness in
            let message = try await ness.httpRequest(.head, withUrl: "x").dataRequest().value.message
            #expect(message.headers["content-length"] == "10")
            #expect(message.body.isEmpty)
        }
    }

    @Test("headers are found in any case, cookies one by one")
    func headers() async throws {
        let sent: HTTPHeaders = [
            "ETag": "\"1\"", "x-lower": "a", "Set-Cookie": "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "Set-Cookie": "b=2",
        ]
        try await withServer({ _ in .text("x", headers: sent) }) { _, ness in
            let headers = try await ness.httpRequest(withUrl: "x").dataRequest().value.message.headers
            #expect(headers["etag"] == "\"1\"")
            #expect(headers["X-Lower"] == "a")
            #expect(headers.values(for: "Set-Cookie").sorted() == ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"])
        }
    }

    @Test(
        "text is read correctly in each encoding that a body can be sent in",
        arguments: [
            String.Encoding.utf8, .ascii, .isoLatin1, .isoLatin2, .windowsCP1252, .utf16, .utf16BigEndian, .utf16LittleEndian, .utf32,
        ])
    func encodings(encoding: String.Encoding) async throws {
        let rig = Rig()
        rig.mock.on(.post, "/x") { .data($0.body, contentType: $0.headers["content-type"] ?? "") }
        let text = encoding == .ascii ? "green" : "grün, Öl"
        let echo = try await rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: text, encoding: encoding).dataRequest().value
        #expect(echo.message.text == text)
        var message = echo.message
        // The charset may be quoted, in any case. An unknown or a wrong charset leaves UTF-8.
        message.headers["Content-Type"] =
            message.headers["Content-Type"]?.uppercased().replacing("CHARSET=", with: "format=x; Charset=\"") ?? ""
        message.headers["Content-Type"]? += "\""
        #expect(message.text == text)
        message.body = Data("ü".utf8)
        for name in ["x-unknown", "us-ascii", ""] {
            message.headers["Content-Type"] = "text/plain; charset=\(name)"
            #expect(message.text == "ü")
        }
    }

    @Test("the request of a response is the request as sent")
    func sentRequest() async throws {
        try await withServer(configure: { $0.defaultHeaders = ["X-Default": "1"] }) { server, ness in
            let message = try await ness.httpRequest(withUrl: "x#part").dataRequest().value.message
            #expect(message.request.headers["X-Default"] == "1")
            #expect(message.request.url.absoluteString == "\(server.url)/x")
        }
    }

    @Test("undecodable text is not an empty string") func undecodableText() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.data(Data([0x61, 0xFF]), contentType: "text/plain")])
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "a\u{FFFD}")
    }

    @Test("the transport follows no redirect", arguments: redirects)
    func redirect(status: Int) async throws {
        try await withServer({ _ in .text("moved", status: status, headers: ["Location": "/elsewhere"]) }) { server, _ in
            let events = Log<String>()
            let transport = URLSessionTransport()
            let request = HTTPRequest(url: server.url.appending(path: "start"))
            try await transport.send(request) { event in
                switch event {
                case .sent, .connection, .interim, .trailers: break
                case .head(let status, let headers): events.add("\(status) \(headers["Location"] ?? "")")
                case .body(let data): events.add(String(decoding: data, as: UTF8.self))
                }
            }
            #expect(events.entries.first == "\(status) /elsewhere")
            #expect(server.requests.map(\.target) == ["/start"])
        }
    }
}
