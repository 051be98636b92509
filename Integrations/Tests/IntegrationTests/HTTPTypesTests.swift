import Foundation
import HTTPTypes
import NessHTTP
import NessHTTPTypes
import NessTesting
import Testing

@Suite struct HTTPTypesTests {
    @Test("fields keep their order, their case and their repetitions in both directions")
    func fields() {
        var fields = HTTPFields()
        for (name, value) in [("X-A", "1"), ("Set-Cookie", "a=1"), ("x-a", "2"), ("Set-Cookie", "b=2")] {
            fields.append(HTTPField(name: HTTPField.Name(name) ?? .accept, value: value))
        }
        let headers = HTTPHeaders(fields)
        #expect(headers.map { "\($0.name): \($0.value)" } == ["X-A: 1", "Set-Cookie: a=1", "x-a: 2", "Set-Cookie: b=2"])
        #expect(HTTPFields(headers).map { "\($0.name.rawName): \($0.value)" } == headers.map { "\($0.name): \($0.value)" })
        #expect(HTTPFields(["not a token": "1", "A": "2"]).count == 1)
    }

    @Test(
        "requests are the same in both directions",
        arguments: ["https://host.test/", "https://host.test:8443/a%20b?c=d%26&e", "http://[::1]:80/a?", "https://host.test/%2F/x"])
    func requests(text: String) throws {
        let url = try #require(URL(string: text))
        let request = NessHTTP.HTTPRequest(.custom("PURGE"), url: url, headers: ["A": "1"])
        let converted = try HTTPTypes.HTTPRequest(request)
        #expect(converted.method.rawValue == "PURGE" && converted.url?.absoluteString == text)
        let back = try NessHTTP.HTTPRequest(converted)
        #expect(back.url == url && back.method == request.method && back.headers == request.headers)
    }

    @Test("a request without scheme, authority or a valid path is an error, and injects nothing")
    func invalid() throws {
        for request in [
            HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: "host.test", path: "/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "host.test:x", path: "/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "host.test", path: "@evil.test/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "host.test", path: ".evil.test/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "host.test", path: ":80@evil.test/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "host.test", path: "http://evil.test/"),
            HTTPTypes.HTTPRequest(method: .options, scheme: "https", authority: "host.test", path: "*"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "host.test", path: "/a#b"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "user@host.test", path: "/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "evil.test/", path: "/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "evil.test?", path: "/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "evil.test#", path: "/"),
            HTTPTypes.HTTPRequest(method: .get, scheme: "https://evil.test/", authority: "host.test", path: "/"),
        ] { #expect(throws: ConversionError.self) { try NessHTTP.HTTPRequest(request) } }
        let url = try #require(URL(string: "https://host.test/"))
        #expect(throws: ConversionError.self) { try HTTPTypes.HTTPRequest(NessHTTP.HTTPRequest(.custom("A B"), url: url)) }
    }

    @Test("responses are the same in both directions")
    func responses() throws {
        let request = NessHTTP.HTTPRequest(url: try #require(URL(string: "https://host.test/")))
        let response = NessHTTP.HTTPResponse(statusCode: 299, headers: ["A": "1", "B": "2"], request: request)
        let converted = HTTPTypes.HTTPResponse(response)
        #expect(converted.status.code == 299 && converted.headerFields.count == 2)
        let back = NessHTTP.HTTPResponse(converted, body: Data("x".utf8), request: request)
        #expect(back.statusCode == 299 && back.headers == response.headers && back.text == "x")
    }

    @Test("bodies stream both ways, and any status is a response")
    func streams() async throws {
        let server = try await TestServer.start { request in
            .text(
                String(decoding: request.body, as: UTF8.self), status: request.path == "/missing" ? 404 : 200,
                headers: ["X-Method": "\(request.method)"])
        }
        let ness = Ness()
        let authority = "\(server.url.host ?? ""):\(server.url.port ?? 0)"
        let request = HTTPTypes.HTTPRequest(
            method: .put, scheme: "http", authority: authority, path: "/a", headerFields: [.contentType: "text/plain", .contentLength: "7"])
        let pieces = AsyncStream { continuation in
            for piece in ["one ", "two"] { continuation.yield(Data(piece.utf8)) }
            continuation.finish()
        }
        let (response, body) = try await ness.send(request, streamBody: pieces)
        var text = ""
        for try await piece in body { text += String(decoding: piece, as: UTF8.self) }
        #expect(response.status == .ok && text == "one two")
        #expect(response.headerFields[HTTPField.Name("X-Method") ?? .accept] == "PUT")
        let missing = HTTPTypes.HTTPRequest(method: .post, scheme: "http", authority: authority, path: "/missing")
        let (error, rest) = try await ness.send(missing, body: Data("x".utf8)) { $0.set(tags: RequestTags(route: "missing")) }
        var count = 0
        for try await piece in rest { count += piece.count }
        #expect(error.status == .notFound && count == 1)
        await server.stop()
    }
}
