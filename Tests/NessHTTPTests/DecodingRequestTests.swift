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
        "FLX-21: wrong JSON is a decoding error that names the type and holds cause and response",
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
}

/// Text that says it is JSON.
private func json(_ text: String, status: Int = 200) -> Reply {
    .data(Data(text.utf8), contentType: "application/json", status: status)
}
