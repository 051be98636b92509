import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The conversion of a response to a value: coders, empty bodies, content types, and errors.
extension ResultTests {
    private struct Cat: Codable, Sendable, Equatable {
        var catName: String
        var born = Date(timeIntervalSince1970: 0)
    }

    private static let snake: @Sendable (inout Ness.Configuration) -> Void = {
        $0.jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
        $0.jsonDecoder.dateDecodingStrategy = .secondsSince1970
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = .sortedKeys
        $0.jsonEncoder = encoder
    }

    private static let catText = #"{"born":1,"cat_name":"Fluffles"}"#

    private func reply(_ text: String, _ type: String? = "application/json", status: Int = 200) -> Reply {
        let reply = Reply.chunked([Data(text.utf8)], status: status)
        return type.map { reply.adding($0, for: "Content-Type") } ?? reply
    }

    // MARK: coders

    @Test("the manager's coders are used everywhere, unless the request gives one")
    func coders() async throws {
        let rig = Rig(Self.snake)
        let cat = Cat(catName: "Fluffles", born: Date(timeIntervalSince1970: 1))
        rig.mock.on(.get, "/cats/1") { _ in reply(Self.catText) }
        rig.mock.on(.post, "/cats") { request in reply(String(decoding: request.body, as: UTF8.self)) }
        #expect(try await rig.ness.httpRequest(withUrl: "cats/1").dataRequest(decoding: Cat.self).value == cat)
        let message = try await rig.ness.httpRequest(withUrl: "cats/1").dataRequest().value.message
        #expect(try message.parseJSONBody(Cat.self) == cat)
        #expect(try await rig.ness.request(TypedRequest<Cat>.get("cats/1")).value == cat)
        let echo = try await rig.ness.httpRequest(.post, withUrl: "cats").set(jsonEncodable: cat).dataRequest().value
        #expect(echo.message.text == Self.catText)
        let both = try await rig.ness.httpRequest(.post, withUrl: "cats").set(arrayJsonEncodable: [cat, cat]).dataRequest().value
        #expect(both.message.text == "[\(Self.catText),\(Self.catText)]")
        // A coder that one request gives takes precedence.
        let plain = JSONEncoder()
        plain.outputFormatting = .sortedKeys
        let own = try await rig.ness.httpRequest(.post, withUrl: "cats").set(jsonEncodable: cat, with: plain).dataRequest().value
        #expect(own.message.text.contains("catName"))
        let error = await rig.ness.get("cats/1").set(jsonDecoder: JSONDecoder()).dataRequest(decoding: Cat.self).nessError()
        #expect(error?.kind == .decoding)
    }

    /// A spec whose content the sending manager encodes.
    private struct AddCat: ConnectionSpec {
        let cat: Cat
        var url: String { "cats" }
        var httpMethod: HTTPMethod { .post }
        func prepare(_ builder: RequestBuilder) -> RequestBuilder { builder.set(jsonEncodable: cat) }
        func parseResponse(response: HTTPResponse) throws -> Cat { try response.parseJSONBody() }
    }

    @Test("a typed request and a spec are encoded by the encoder of the manager that sends them")
    func codersOfTypedRequests() async throws {
        let rig = Rig(Self.snake), other = Rig()
        let cat = Cat(catName: "Fluffles", born: Date(timeIntervalSince1970: 1))
        for mock in [rig.mock, other.mock] { mock.on(nil, "/cats") { reply(String(decoding: $0.body, as: UTF8.self)) } }
        var request = TypedRequest<Cat>(.post, "cats").body(json: cat)
        for request in [request, .init(.put, "cats").body(json: cat)] {
            #expect(try await rig.ness.request(request).value == cat)
            #expect(try await other.ness.request(request).value == cat)
        }
        #expect(try await rig.ness.request(AddCat(cat: cat)).value == cat)
        #expect(rig.mock.received.map(\.bodyText) == [Self.catText, Self.catText, Self.catText])
        #expect(rig.mock.received.allSatisfy { $0.headers["Content-Type"] == "application/json" })
        #expect(other.mock.received.map(\.bodyText) == Array(repeating: #"{"born":-978307199,"catName":"Fluffles"}"#, count: 2))
        // The body that is set last is sent.
        request = request.body(HTTPBody(Data(#"{"born":2,"cat_name":"Tom"}"#.utf8)))
        #expect(try await rig.ness.request(request).value.catName == "Tom")
    }

    // MARK: empty bodies

    @Test(
        "an empty body is nil for an Optional, accepted for Void, and an error for any other type",
        arguments: [200, 204, 205])
    func empty(status: Int) async throws {
        let rig = Rig(onUnmatched: .reply(.status(status)))
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.dataRequest(decoding: User?.self).value == nil)
        try await request.dataRequest(decoding: Void.self).value
        for error in [
            await request.dataRequest(decoding: User.self).nessError(), await request.dataRequest(decoding: [User].self).nessError(),
            await request.dataRequest(decoding: JSONValue.self).nessError(),
        ] {
            #expect(error?.kind == .decoding)
            #expect(error?.response?.statusCode == status)
            #expect(error?.context.reason.contains("the body is empty") == true)
        }
        #expect(try await rig.ness.request(TypedRequest<User?>.get("x")).value == nil)
        try await rig.ness.request(TypedRequest<Void>(.delete, "x")).value
        try await rig.ness.request(Remove()).value
    }

    private struct Remove: ConnectionSpec {
        typealias ResponseModel = Void
        var url: String { "x" }
        var httpMethod: HTTPMethod { .delete }
    }

    @Test("a Void result accepts any body, but requires a 2xx") func void() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [reply("<html>", "text/html"), reply("{}", status: 500)])
        try await rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: Void.self).value
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: Void.self).nessError()
        #expect(error?.kind == .validation)
        #expect(error?.response?.statusCode == 500)
    }

    // MARK: Accept and Content-Type

    @Test("Accept is application/json, unless the request or the manager sets it") func accept() async throws {
        let rig = Rig(onUnmatched: .reply(.json(User(id: 1, name: "a"))))
        let request = rig.ness.httpRequest(withUrl: "x")
        _ = try await request.dataRequest(decoding: User.self).value
        _ = try await request.decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).value
        _ = try await request.set(headers: ["accept": "application/hal+json"]).dataRequest(decoding: User.self).value
        _ = try await request.dataRequest().value
        _ = try await request.dataRequest(decoding: Void.self).value
        let types = ["application/json", "application/json, application/problem+json;q=0.9", "application/hal+json", nil, nil]
        #expect(rig.mock.requests.map { $0.headers["Accept"] } == types)
        let other = Rig(onUnmatched: .reply(.json(User(id: 1, name: "a")))) { $0.defaultHeaders = ["Accept": "application/vnd.api+json"] }
        _ = try await other.ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).value
        #expect(other.mock.requests.map { $0.headers["Accept"] } == ["application/vnd.api+json"])
    }

    @Test(
        "a JSON Content-Type, or none, is decoded; any other is an error that names it and the expected types",
        arguments: [
            ("application/json", true), ("Application/JSON; charset=utf-8", true), ("text/json", true), (nil, true),
            ("application/vnd.api+json;v=1", true), ("application/problem+JSON", true), ("text/html; charset=utf-8", false),
            ("text/plain", false), ("application/jsonp", false), ("+json", false), ("json", false), ("application/xml", false),
        ] as [(String?, Bool)])
    func contentType(type: String?, isDecoded: Bool) async throws {
        let rig = Rig(onUnmatched: .reply(reply(#"{"id":1,"name":"a"}"#, type)))
        let request = rig.ness.httpRequest(withUrl: "x")
        if isDecoded {
            #expect(try await request.dataRequest(decoding: User.self).value == User(id: 1, name: "a"))
        } else {
            let error = await request.dataRequest(decoding: User.self).nessError()
            #expect(error?.kind == .validation)
            let found = String(type?.prefix { $0 != ";" } ?? "")
            #expect(error?.context.reason.contains("Content-Type \(found), expected application/json") == true)
            #expect(error?.context.reason.contains("User") == true)
            #expect(error?.response?.text == #"{"id":1,"name":"a"}"#)
        }
        // The check can be turned off for a request and for a manager.
        #expect(try await request.set(checksContentType: false).dataRequest(decoding: User.self).value.id == 1)
        let lax = Rig(onUnmatched: .reply(reply(#"{"id":1,"name":"a"}"#, type))) { $0.checksContentType = false }
        #expect(try await lax.ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).value.id == 1)
        guard !isDecoded else { return }
        let strict = lax.ness.httpRequest(withUrl: "x").set(checksContentType: true).dataRequest(decoding: User.self)
        #expect(await strict.nessError()?.kind == .validation)
    }

    @Test("the check of types skips 204, and a wrong type is not retried") func contentTypeOfNothing() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/none") { _ in .status(204, headers: ["Content-Type": "text/html"]) }
        #expect(try await rig.ness.httpRequest(withUrl: "none").dataRequest(decoding: User?.self).value == nil)
        rig.mock.on(.get, "/html") { _ in reply("<html>", "text/html") }
        let control = AskedControl()
        #expect(
            await rig.ness.get("html").set(retry: control).dataRequest(decoding: User.self).nessError()?.kind == .validation)
        #expect(control.asked.entries.isEmpty)
    }

    @Test(
        "an error page, or a redirect that is not followed, is a status error and never a decoding error")
    func errorPage() async throws {
        let rig = Rig { $0.redirects = .stop }
        rig.mock.on(.get, "/error") { _ in reply("<html>", "text/html", status: 502) }
        rig.mock.on(.get, "/moved") { _ in .status(302, headers: ["Location": "/error"]) }
        for (path, status) in [("error", 502), ("moved", 302)] {
            let error = await rig.ness.httpRequest(withUrl: path).dataRequest(decoding: User.self).nessError()
            #expect(error?.kind == .validation)
            #expect(error?.response?.statusCode == status)
            #expect(error?.underlying == nil)
        }
    }

    // MARK: decoding

    @Test(
        "wrong JSON is a decoding error that names the type and holds cause and response",
        arguments: ["{", "[]", #"{"id":"x","name":"a"}"#, #"{"id":1}"#, #"{"id":1,"name":null}"#, "<html>"])
    func wrong(text: String) async throws {
        let rig = Rig(onUnmatched: .reply(reply(text)))
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).nessError()
        #expect(error?.kind == .decoding && error?.response?.text == text)
        #expect(error?.context.underlying is DecodingError && error?.context.reason.contains("User") == true)
    }

    private final class Animal: Decodable, Sendable {
        let name: String
    }

    private struct Word: ResponseDecoder {
        func decode(from data: Data) throws -> String { String(decoding: data, as: UTF8.self).uppercased() }
    }

    @Test(
        "a response is decoded as a value, a class, a list, null, any JSON or a custom decoder's text; one wrong element fails a list")
    func decoders() async throws {
        let rig = Rig()
        func answer(_ path: String, _ text: String) { rig.mock.on(.get, path) { _ in .data(Data(text.utf8), contentType: "text/json") } }
        answer("/one", #"{"id":1,"name":"a"}"#)
        answer("/list", #"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#)
        answer("/null", "null")
        answer("/mixed", #"[{"id":1,"name":"a"},7]"#)
        func get(_ path: String) -> RequestBuilder { rig.ness.httpRequest(withUrl: path) }
        #expect(try await get("one").dataRequest(decoding: User.self).value == User(id: 1, name: "a"))
        #expect(try await get("one").dataRequest(decoding: Animal.self).value.name == "a")
        #expect(try await get("one").dataRequest(decoding: JSONValue.self).value["name"]?.stringValue == "a")
        #expect(try await get("list").dataRequest(decoding: [User].self).value.map(\.id) == [1, 2])
        #expect(try await get("mixed").dataRequest(decoding: JSONValue.self).value.arrayValue?.count == 2)
        #expect(try await get("null").dataRequest(decoding: User?.self).value == nil)
        #expect(await get("mixed").dataRequest(decoding: [User].self).nessError()?.kind == .decoding)
        #expect(await get("one").validate(statusCode: 201).dataRequest(decoding: User.self).nessError()?.kind == .validation)
        #expect(try await get("mixed").dataRequest().value.message.parseBody(using: Word()).hasPrefix(#"[{"ID":1"#))
    }

    @Test(
        "a message can be read as text, JSON, a value or a list, of an inferred or a named type; an empty body is a typed error")
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
        "a parser makes any type of a 2xx, even of an empty 204, for any Content-Type; its error is the request's error")
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

    @Test("of two callers who may share an exchange, each decodes the response with the decoder that its request sets")
    func decoderOfEachCaller() async throws {
        struct Name: Decodable, Sendable { let userName: String? }
        struct Oops: Decodable, Error { let errorCode: Int? }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        for status in [200, 400] {
            let (rig, gate) = (Rig(), TestGate())
            rig.mock.on(.get, "/x") { _ in
                await gate.wait()
                return .json(["user_name": "Ada", "error_code": 7] as JSONValue, status: status)
            }
            let request = rig.ness.get("x").decodingErrors(as: Oops.self)
            let plain = (request.dataRequest(decoding: Name.self), request.dataRequest())
            let other = (
                request.set(jsonDecoder: decoder).dataRequest(decoding: Name.self), request.set(jsonDecoder: decoder).dataRequest()
            )
            gate.open()
            if status == 200 {
                #expect(try await plain.0.value.userName == nil)
                #expect(try await other.0.value.userName == "Ada")
                #expect(try await plain.1.value.message.parseJSONBody(Name.self).userName == nil)
                #expect(try await other.1.value.message.parseJSONBody(Name.self).userName == "Ada")
            } else {
                #expect((await plain.0.nessError()?.underlying as? Oops)?.errorCode == nil)
                #expect((await other.0.nessError()?.underlying as? Oops)?.errorCode == 7)
            }
        }
    }

    // MARK: threads and drops

    /// A value that runs a closure while it is decoded. Waiting in the closure would block a thread that other tasks need.
    private struct Meanwhile: Decodable, Sendable {
        static let body = Lock<(@Sendable () -> Void)?>(nil)
        init(from decoder: any Decoder) throws { Self.body.withLock { $0 }?() }
    }

    @Test("a drop during the decoding takes effect") func dropWhileDecoding() async throws {
        let rig = Rig(), go = TestGate(), text = reply("{}"), decoded = TestGate()
        rig.mock.on(.get, "/x") { _ in
            await go.wait()
            return text
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: Meanwhile.self)
        let witness = Witness(promise)
        Meanwhile.body.withLock { body in
            body = {
                promise.drop()
                decoded.open()
            }
        }
        go.open()
        #expect(await witness.outcome() == ["dropped"])
        await decoded.wait()
        await rig.ness.reset()
        #expect(witness.ends == ["dropped"])
        Meanwhile.body.withLock { $0 = nil }
    }
}
