import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Responses as a caller sees them.
@Suite(.inTurn) struct ResponseTests {
    @Test("any status is a result if there is no validator", arguments: [200, 204, 299, 304, 400, 404, 499, 500, 599, 600, 999])
    func everyStatus(status: Int) async throws {
        let rig = Rig(onUnmatched: .reply(.text("s", status: status)))
        #expect(try await rig.ness.get("x").response().statusCode == status)
        #expect(try await rig.ness.get("x").dataRequest().value.message.statusCode == status)
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

    @Test(
        "text is read correctly in each encoding that a body can be sent in",
        arguments: [
            String.Encoding.utf8, .ascii, .isoLatin1, .isoLatin2, .windowsCP1250, .windowsCP1252, .windowsCP1254, .utf16, .utf16BigEndian,
            .utf16LittleEndian, .utf32,
        ])
    func encodings(encoding: String.Encoding) async throws {
        let rig = Rig()
        rig.mock.on(.post, "/x") { .data($0.body, contentType: $0.headers["content-type"] ?? "") }
        let text = encoding == .ascii ? "green" : "grün, Öl"
        let echo = try await rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: text, encoding: encoding).dataRequest().value
        #expect(echo.message.text == text)
        var message = echo.message
        // The charset may be quoted, in any case. An unknown charset leaves UTF-8.
        message.headers["Content-Type"] =
            message.headers["Content-Type"]?.uppercased().replacing("CHARSET=", with: "format=x; Charset=\"") ?? ""
        message.headers["Content-Type"]? += "\""
        #expect(message.text == text)
        message.headers["Content-Type"] = nil
        message.body = Data([0x61, 0xFF])
        #expect(message.text == "a\u{FFFD}", "undecodable text is not an empty string")
        message.body = Data("ü".utf8)
        for name in ["x-unknown", "utf8", ""] {
            message.headers["Content-Type"] = "text/plain; charset=\(name)"
            #expect(message.text == "ü")
        }
    }

    @Test(
        "`location` is the absolute URL of the field, for any status",
        arguments: [
            (201, "/users/7", "https://mock.test/users/7"), (202, "jobs/1?x#part", "https://mock.test/v1/jobs/1?x#part"),
            (200, " https://other.test/a b ", "https://other.test/a%20b"), (302, "//other.test", "https://other.test"),
            (201, "", nil), (201, "http://", nil), (201, "a\u{0}b", nil), (201, "a\u{7F}b", nil), (201, nil, nil),
        ] as [(Int, String?, String?)])
    func location(status: Int, field: String?, url: String?) async throws {
        let rig = Rig { $0.redirects = .stop }
        rig.mock.on(.post, "/v1/users") { _ in .status(status, headers: field.map { ["Location": $0] } ?? [:]) }
        let response = try await rig.ness.post("v1/users#part").response()
        #expect(response.location?.absoluteString == url)
        #expect(response.redirectURL == nil || status == 302)
    }

    @Test("the request of a response is the request as sent")
    func sentRequest() async throws {
        try await withServer(configure: { $0.defaultHeaders = ["X-Default": "1"] }) { server, ness in
            let message = try await ness.httpRequest(withUrl: "x#part").dataRequest().value.message
            #expect(message.request.headers["X-Default"] == "1")
            #expect(message.request.url.absoluteString == "\(server.url)/x")
        }
    }
}
