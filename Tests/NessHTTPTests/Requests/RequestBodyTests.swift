import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The wire format of each kind of body.
@Suite(.inTurn) struct RequestBodyTests {
    private struct CSVEncoder: HTTPBodyEncoder {
        var relatedHeaders: [String: String]? { ["Content-Type": "text/csv", "X-Rows": "2"] }
        func encode(_ rows: [[String]]) throws -> Data {
            Data(rows.map { $0.joined(separator: ",") }.joined(separator: "\r\n").utf8)
        }
    }

    private struct PlainEncoder: HTTPBodyEncoder {
        func encode(_ text: String) throws -> Data {
            if text.isEmpty { throw Rejected() }
            return Data(text.utf8)
        }
    }

    /// Sends a POST, and returns the received request.
    private func sent(_ set: (RequestBuilder) -> RequestBuilder) async throws -> ReceivedRequest {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        _ = try await set(rig.ness.post("x")).dataRequest().value
        return try #require(rig.mock.received.first)
    }

    @Test("text arrives in its encoding")
    func text() async throws {
        let utf8 = try await sent { $0.set(stringBody: "grün\r\n") }
        #expect(utf8.body == Data("grün\r\n".utf8))
        #expect(utf8.headers.values(for: "Content-Type") == ["text/plain; charset=utf-8"])
        let latin = try await sent { $0.set(stringBody: "grün", encoding: .isoLatin1) }
        #expect(latin.body == Data([0x67, 0x72, 0xFC, 0x6E]))
        let ascii = try await sent { $0.set(stringBody: "plain", encoding: .ascii) }
        #expect(ascii.body == Data("plain".utf8))
        #expect(ascii.headers["Content-Type"]?.hasPrefix("text/plain") == true)
        let utf16 = try await sent { $0.set(stringBody: "ü", encoding: .utf16LittleEndian) }
        #expect(utf16.body == Data([0xFC, 0]))
    }

    private struct Cat: Encodable {
        let catName = "Fluffles", catAge = 3
    }

    private static let snakeEncoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = .sortedKeys
        return encoder
    }()

    private static let name = "Fluffles", age: Int? = nil
    private static let fields: [String: (any Encodable & Sendable)?] = ["name": name, "age": age, "user": User(id: 1, name: "a")]
    private static let elements: [(any Encodable & Sendable)?] = [1, name, nil, User(id: 2, name: "b")]
    private static let snakeCat = #"{"cat_age":3,"cat_name":"Fluffles"}"#

    private static let bodies: [(name: String, set: @Sendable (RequestBuilder) -> RequestBuilder, text: String)] = [
        (
            "JSON literal", { $0.set(jsonBody: ["name": "Fluffles", "tags": ["a", 1, true, nil], "id": 9_007_199_254_740_993]) },
            #"{"id":9007199254740993,"name":"Fluffles","tags":["a",1,true,null]}"#
        ),
        ("array literal", { $0.set(arrayJsonBody: [1, "two", nil]) }, #"[1,"two",null]"#),
        ("variables", { $0.set(jsonBody: fields) }, #"{"age":null,"name":"Fluffles","user":{"id":1,"name":"a"}}"#),
        ("array of variables", { $0.set(arrayJsonBody: elements) }, #"[1,"Fluffles",null,{"id":2,"name":"b"}]"#),
        ("encodable", { $0.set(jsonEncodable: User(id: 1, name: "ü")) }, #"{"id":1,"name":"ü"}"#),
        ("encodable with an encoder", { $0.set(jsonEncodable: Cat(), with: snakeEncoder) }, snakeCat),
        ("array with an encoder", { $0.set(arrayJsonEncodable: [Cat(), Cat()], with: snakeEncoder) }, "[\(snakeCat),\(snakeCat)]"),
    ]

    @Test("literals, variables and encodable values arrive as JSON, by the encoder given", arguments: bodies.map(\.name))
    func json(name: String) async throws {
        let body = try #require(Self.bodies.first { $0.name == name })
        let request = try await sent(body.set)
        #expect(request.bodyText == body.text)
        #expect(request.headers.values(for: "Content-Type") == ["application/json"])
    }

    @Test(
        "equal JSON bodies are equal bytes")
    func sameBytes() throws {
        let bodies = try (0..<50).map { _ in
            try Ness().httpRequest(.post, withUrl: "http://x").set(jsonBody: ["name": "Fluffles", "n": [1, 2.5]]).build().body?.data
        }
        let users = try (0..<50).map { _ in
            try Ness().httpRequest(.post, withUrl: "http://x").set(jsonEncodable: User(id: 1, name: "a")).build().body?.data
        }
        #expect(Set(bodies).count == 1)
        #expect(Set(users).count == 1)
    }

    @Test("a form arrives with the encoding of a query")
    func form() async throws {
        let request = try await sent { $0.set(form: ["name": "a b", "q": "1+1=2", "x": "&", "x": "ü"]) }
        #expect(request.bodyText == "name=a%20b&q=1%2B1%3D2&x=%26&x=%C3%BC")
        #expect(request.formFields.map(\.value) == ["a b", "1+1=2", "&", "ü"])
        #expect(request.headers.values(for: "Content-Type") == ["application/x-www-form-urlencoded"])
    }

    @Test("the body of a custom encoder arrives with its header fields")
    func customEncoder() async throws {
        let request = try await sent { $0.set(body: [["a", "b"], ["c", "d"]], with: CSVEncoder()) }
        #expect(request.bodyText == "a,b\r\nc,d")
        #expect(request.headers.values(for: "Content-Type") == ["text/csv"])
        #expect(request.headers.values(for: "X-Rows") == ["2"])
        // The header fields of an earlier encoder are removed together with its body.
        let plain = try await sent { $0.set(body: [["a"]], with: CSVEncoder()).set(body: "x", with: PlainEncoder()) }
        #expect(plain.bodyText == "x" && !plain.headers.contains("X-Rows"))
        #expect(!plain.headers.contains("Content-Type"))
    }

    @Test("a ready-made body arrives with its header fields, and `nil` removes it")
    func ready() async throws {
        let body = HTTPBody(Data("<a/>".utf8), headers: ["Content-Type": "text/xml", "Content-Language": "en"])
        let request = try await sent { $0.set(body: body) }
        #expect(request.bodyText == "<a/>")
        #expect(request.headers.values(for: "Content-Type") == ["text/xml"])
        #expect(request.headers.values(for: "Content-Language") == ["en"])
        let nothing = try Ness().httpRequest(.post, withUrl: "http://x").set(body: body).set(body: HTTPBody?.none).build()
        #expect(nothing.body == nil)
    }

    @Test("a body is sent with the media type that the caller names; a Content-Type of the request wins")
    func namedType() async throws {
        let png = try await sent { $0.set(body: Data([0x89, 0x50]), contentType: "image/png") }
        #expect(png.body == Data([0x89, 0x50]) && png.headers.values(for: "Content-Type") == ["image/png"])
        let own = try await sent { $0.set(stringBody: "<a/>").set(headers: ["Content-Type": "text/b"]) }
        #expect(own.bodyText == "<a/>" && own.headers.values(for: "Content-Type") == ["text/b"])
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let error = await rig.ness.post("x").set(body: Data(), contentType: "text/a\r\nX-B: 1").dataRequest().nessError()
        #expect(error?.kind == .invalidRequest && rig.mock.requests.isEmpty)
    }

    @Test("a body that cannot be encoded fails before any connection is opened, and a later valid body replaces it")
    func unencodable() async throws {
        struct Bad: Encodable { let number = Double.nan }
        try await withServer { server, ness in
            let post = ness.httpRequest(.post, withUrl: "x")
            let builders = [
                post.set(jsonEncodable: Bad()), post.set(arrayJsonEncodable: [Bad()]), post.set(jsonBody: ["a": .number(.infinity)]),
                post.set(jsonBody: ["a": Double.nan] as [String: (any Encodable & Sendable)?]),
                post.set(arrayJsonBody: [.number(-.infinity)]), post.set(stringBody: "漢", encoding: .ascii),
            ]
            for builder in builders {
                let error = await builder.dataRequest().nessError()
                #expect(error?.kind == .invalidRequest)
                #expect(error?.context.reason.contains("can't be encoded") == true)
                #expect(error?.context.underlying is EncodingError || error?.context.underlying is InvalidRequest)
            }
            let invalid = post.set(body: "", with: PlainEncoder())
            let error = await invalid.dataRequest().nessError()
            #expect(error?.kind == .invalidRequest && error?.context.underlying as? Rejected == Rejected())
            #expect(server.connectionCount == 0)
            _ = try await invalid.set(stringBody: "good").dataRequest().value
            #expect(server.requests.map(\.bodyText) == ["good"])
        }
    }

    @Test("body and headers can be set in any order, and the caller's header wins")
    func orderOfSetters() async throws {
        try await withServer { server, ness in
            let post = ness.httpRequest(.post, withUrl: "x")
            let builders = [
                post.set(jsonBody: [1]).set(headers: ["X": "1"]),
                post.set(headers: ["X": "1"]).set(jsonBody: [1]),
                post.set(jsonBody: [1]).set(headers: ["X": "1", "content-type": "application/vnd.own+json"]),
                post.set(headers: ["X": "1", "CONTENT-TYPE": "application/vnd.own+json"]).set(jsonBody: [1]),
                post.set(headers: ["X": "1", "Content-Type": "application/vnd.own+json"]).set(form: ["a": 1]).set(jsonBody: [1]),
                post.set(form: ["a": 1]).set(headers: ["X": "1"]).set(jsonBody: [1]),
            ]
            for builder in builders { _ = try await builder.dataRequest().value }
            let own = "application/vnd.own+json"
            let types = server.requests.map { $0.headers.values(for: "Content-Type") }
            #expect(types == [["application/json"], ["application/json"], [own], [own], [own], ["application/json"]])
            #expect(server.requests.map { $0.headers.values(for: "X") } == Array(repeating: ["1"], count: 6))
            #expect(server.requests.map(\.bodyText) == Array(repeating: "[1]", count: 6))
        }
    }
}
