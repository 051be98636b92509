import Foundation
import NessHTTP
import NessTesting
import Testing

/// `dataRequest(decoding:)`.
@Suite(.inTurn) struct DecodingRequestTests {
    @Test("a value is decoded, by the given decoder")
    func value() async throws {
        try await withServer({ _ in json(#"{"id":1,"name":"a"}"#, status: 201) }) { _, ness in
            let user = try await ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).value
            #expect(user == User(id: 1, name: "a"))
            let json = try await ness.httpRequest(withUrl: "x").dataRequest(decoding: JSONValue.self).value
            #expect(json == ["id": 1, "name": "a"])
        }
        struct Cat: Decodable, Sendable, Equatable { let catName: String }
        try await withServer({ _ in json(#"{"cat_name":"Fluffles"}"#) }) { _, ness in
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let cat = try await ness.httpRequest(withUrl: "x").dataRequest(decoding: Cat.self, using: decoder).value
            #expect(cat == Cat(catName: "Fluffles"))
        }
    }

    @Test("a status other than 2xx is refused, and the error holds the body", arguments: [199, 300, 404, 500])
    func status(status: Int) async throws {
        let transport = FakeTransport { _, receive in
            try await receive(.head(statusCode: status, headers: [:]))
            try await receive(.body(Data(#"{"id":1,"name":"a"}"#.utf8)))
        }
        let error = await Ness { $0.transport = transport }.httpRequest(withUrl: "http://x").dataRequest(decoding: User.self).nessError()
        #expect(error?.kind == .validation)
        #expect(error?.response?.statusCode == status)
        #expect(error?.response?.text == #"{"id":1,"name":"a"}"#)
        #expect(error?.context.reason.contains("\(status)") == true)
    }

    @Test("an optional is nil for an empty body, and for null")
    func optional() async throws {
        try await withServer({ $0.path == "/none" ? Reply.status(204) : json("null") }) { _, ness in
            let none = try await ness.httpRequest(withUrl: "none").dataRequest(decoding: User?.self).value
            #expect(none == nil)
            let null = try await ness.httpRequest(withUrl: "null").dataRequest(decoding: User?.self).value
            #expect(null == nil)
        }
    }

    @Test("an empty body is an error for a type that is not optional", arguments: [200, 204])
    func empty(status: Int) async throws {
        try await withServer({ _ in .status(status) }) { _, ness in
            let error = await ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).nessError()
            #expect(error?.kind == .decoding)
            #expect(error?.response?.statusCode == status)
            #expect(error?.context.reason.contains("empty") == true)
        }
    }

    @Test(
        "wrong JSON is a decoding error that names the type and holds cause and response", .covers("FLX-21"),
        arguments: ["{", "[]", #"{"id":"x","name":"a"}"#, #"{"id":1}"#, #"{"id":1,"name":null}"#, "<html>"])
    func wrong(text: String) async throws {
        try await withServer({ _ in json(text) }) { _, ness in
            let error = await ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).nessError()
            #expect(error?.kind == .decoding)
            #expect(error?.response?.text == text)
            #expect(error?.context.underlying is DecodingError)
            #expect(error?.context.reason.contains("User") == true)
        }
    }

    @Test("the caller's validators run too")
    func validators() async throws {
        try await withServer({ _ in json(#"{"id":1,"name":"a"}"#, status: 201) }) { _, ness in
            let error = await ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest(decoding: User.self).nessError()
            #expect(error?.kind == .validation)
        }
    }

    private final class Animal: Decodable, Sendable {
        let name: String
    }

    private struct Word: ResponseDecoder {
        func decode(from data: Data) throws -> String { String(decoding: data, as: UTF8.self).uppercased() }
    }

    @Test(
        "a response is decoded as a value, a class, a list, any JSON or a custom decoder's text; one wrong element fails a list",
        .covers("ION-44"))
    func decoders() async throws {
        let rig = Rig()
        func answer(_ path: String, _ text: String) { rig.mock.on(.get, path) { _ in .data(Data(text.utf8), contentType: "text/json") } }
        answer("/one", #"{"id":1,"name":"a"}"#)
        answer("/list", #"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#)
        answer("/mixed", #"[{"id":1,"name":"a"},7]"#)
        func get(_ path: String) -> RequestBuilder { rig.ness.httpRequest(withUrl: path) }
        #expect(try await get("one").dataRequest(decoding: User.self).value == User(id: 1, name: "a"))
        #expect(try await get("one").dataRequest(decoding: Animal.self).value.name == "a")
        #expect(try await get("one").dataRequest(decoding: JSONValue.self).value["name"]?.stringValue == "a")
        #expect(try await get("list").dataRequest(decoding: [User].self).value.map(\.id) == [1, 2])
        #expect(try await get("mixed").dataRequest(decoding: JSONValue.self).value.arrayValue?.count == 2)
        #expect(await get("mixed").dataRequest(decoding: [User].self).nessError()?.kind == .decoding)
        #expect(try await get("mixed").dataRequest().value.message.parseBody(using: Word()).hasPrefix(#"[{"ID":1"#))
    }

    @Test(
        "a message can be read as text, JSON, a value or a list, of an inferred or a named type; an empty body is a typed error",
        .covers("ION-45"))
    func helpers() throws {
        func message(_ text: String) throws -> HTTPResponse {
            HTTPResponse(statusCode: 200, body: Data(text.utf8), request: HTTPRequest(url: try url("https://mock.test")))
        }
        let user = try message(#"{"id":1,"name":"ä"}"#), list = try message(#"[{"id":1,"name":"ä"}]"#)
        #expect(user.text == #"{"id":1,"name":"ä"}"#)
        let inferred: User = try user.parseJSONBody()
        #expect(inferred == User(id: 1, name: "ä"))
        #expect(try user.parseJSONBody(User.self) == inferred)
        let users: [User] = try list.parseJSONBody()
        #expect(users == [inferred])
        #expect(try user.parseJSONBody(JSONValue.self).objectValue?.count == 2 && list.parseJSONBody(JSONValue.self).arrayValue?.count == 1)
        let empty = try message("")
        #expect(empty.text.isEmpty)
        let error = #expect(throws: NessError.self) { try empty.parseJSONBody(User.self) }
        #expect(error?.kind == .decoding && error?.context.reason.contains("the body is empty") == true)
    }

    @Test(
        "a parser makes any type of a 2xx, also of an empty 204, for any Content-Type; its error is the request's error", .covers("PMH-53"))
    func parsers() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/:status") { request in
            let status = Int(request.pathParameters["status"] ?? "") ?? 0
            return status == 204 ? .status(204) : .text("four", status: status)
        }
        let parsed = Tally()
        func count(_ status: Int) -> Promise<Int> {
            rig.ness.request(
                TypedRequest<Int>(.get, "\(status)") { response in
                    parsed.enter()
                    if response.statusCode == 202 { throw Rejected() }
                    return response.body.count
                })
        }
        #expect(try await count(200).value == 4)
        #expect(try await count(204).value == 0)
        await #expect(throws: Rejected()) { _ = try await count(202).value }
        #expect(parsed.total == 3)
        for status in [300, 404, 500] { #expect(await count(status).nessError()?.response?.statusCode == status) }
        #expect(parsed.total == 3)
    }

    @Test("JSON is decoded by the given decoder, and mapped further; an error of the map is the request's error", .covers("PMH-54"))
    func mapping() async throws {
        let rig = Rig(onUnmatched: .reply(.json(["user_name": "Ada"])))
        struct Name: Decodable, Sendable { let userName: String }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let request = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "body")
        #expect(try await request.dataRequest(decoding: Name.self, using: decoder).then { $0.userName.count }.value == 3)
        #expect(try await request.dataRequest(decoding: JSONValue.self).then { $0["user_name"]?.stringValue }.value == "Ada")
        let failing = request.dataRequest(decoding: JSONValue.self).then { _ -> Int in throw Rejected() }
        await #expect(throws: Rejected()) { _ = try await failing.value }
        #expect(rig.mock.received.map(\.bodyText) == ["body", "body", "body"])
    }

    @Test("a typed request decodes by its own rule; a decoding error is a failure, and the outcome a Result", .covers("HIS-39"))
    func typedRequests() async throws {
        let rig = Rig(), decoder = PropertyListDecoder()
        let list = try PropertyListEncoder().encode(User(id: 1, name: "a"))
        rig.mock.on(.get, "/users/1", replies: [.data(list), .text("no list")])
        let request = TypedRequest(.get, "users/1") { try decoder.decode(User.self, from: $0.body) }
        let good = rig.ness.request(request)
        _ = try await good.value
        let outcome: Result<User, any Error> = try #require(good.outcome)
        #expect(try outcome.get() == User(id: 1, name: "a"))
        await #expect(throws: DecodingError.self) { _ = try await rig.ness.request(request).value }
    }
}

/// Text that says it is JSON.
private func json(_ text: String, status: Int = 200) -> Reply {
    .data(Data(text.utf8), contentType: "application/json", status: status)
}
