import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Every way to ask for a response, and its outcome: one value or one error. The file `ResultTests+Decoding` tests the conversion to a value.
@Suite(.inTurn) struct ResultTests {
    // MARK: typed forms

    struct GetUser: ConnectionSpec {
        typealias ResponseModel = User
        let url = "x"
    }

    private typealias Ask = @Sendable (Ness) async throws -> User?

    private static let ways: [(name: String, ask: Ask)] = [
        ("decoding", { try await $0.httpRequest(withUrl: "x").dataRequest(decoding: User.self).value }),
        ("typed request", { try await $0.request(TypedRequest<User>.get("x")).value }),
        ("spec", { try await $0.request(GetUser()).value }),
        (
            "polling",
            { ness in
                for try await user in ness.poll(GetUser(), every: .seconds(1)) { return user }; return nil
            }
        ),
        (
            "lines",
            { ness in
                for try await user in ness.httpRequest(withUrl: "x").lines(decoding: User.self) { return user }; return nil
            }
        ),
    ]

    private func error(_ ask: Ask, _ ness: Ness) async -> NessError? {
        await #expect(throws: NessError.self) { _ = try await ask(ness) }
    }

    @Test("each typed form rejects a Content-Type that is not JSON, unless the check is off, and keeps the body", arguments: 0..<5)
    func contentType(way: Int) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .text("<html>") }
        let error = await error(Self.ways[way].ask, rig.ness)
        #expect(error?.kind == .validation)
        #expect(error?.response?.text == "<html>")
        let lax = Rig { $0.checksContentType = false }
        lax.mock.on(.get, "/x") { _ in .text(#"{"id":1,"name":"a"}"#) }
        #expect(try await Self.ways[way].ask(lax.ness)?.id == 1)
    }

    @Test("each typed form requires a 2xx, and decodes the API's error with the manager's type", arguments: 0..<5)
    func structuredErrors(way: Int) async throws {
        let rig = Rig { $0.decodingErrors = APIProblem.self }
        rig.mock.on(.get, "/x") { _ in .json(["title": "no such cat"], status: 404) }
        let error = await error(Self.ways[way].ask, rig.ness)
        #expect(error?.kind == .validation && error?.response?.statusCode == 404)
        #expect((error?.underlying as? APIProblem)?.title == "no such cat")
        #expect(rig.mock.requests.first?.headers["Accept"]?.contains("application/problem+json") == true)
    }

    @Test("each typed form uses the manager's decoder", arguments: 0..<5)
    func managersDecoder(way: Int) async throws {
        let rig = Rig { $0.jsonDecoder.allowsJSON5 = true }
        rig.mock.on(.get, "/x") { _ in .data(Data("{id: 1, name: 'a'}".utf8), contentType: "application/json") }
        #expect(try await Self.ways[way].ask(rig.ness) == User(id: 1, name: "a"))
    }

    @Test("each typed form returns a promise with status, progress and response")
    func promises() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .json(User(id: 1, name: "a")) }
        let promises = [
            rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self), rig.ness.request(TypedRequest<User>.get("x")),
            rig.ness.request(GetUser()),
        ]
        for promise in promises {
            let heard = Log<Int64>()
            promise.onProgress { heard.add($0.completedBytes) }
            let user = try await promise.value
            #expect(user.id == 1)
            #expect(promise.status.text == "completed 200")
            #expect(promise.response?.statusCode == 200)
            #expect(promise.progress.completedBytes == 19)
            await heard.wait(for: 1)
        }
        let refused = rig.ness.request(TypedRequest<[User]>.get("x"))
        #expect(await refused.nessError()?.kind == .decoding)
        #expect(refused.status.text == "error" && refused.response == nil)
    }

    @Test("a typed request supports every method, JSON and ready-made bodies, and Void responses")
    func methodsAndBodies() async throws {
        let rig = Rig()
        rig.mock.on(nil, "/x") { _ in .json(User(id: 1, name: "a")) }
        let requests: [TypedRequest<User>] = [
            .get("x"), .init(.post, "x").body(json: 1), .init(.delete, "x"), .init(.post, "x").body(.form(["a": "1"])),
            .init(.put, "x").body(try .text("a")), .init(.options, "x"),
        ]
        for request in requests { #expect(try await rig.ness.request(request).value.id == 1) }
        let nothing: [TypedRequest<Void>] = [
            .init(.head, "x"), .init(.post, "x"), .init(.patch, "x").body(json: 1), .init(.post, "x").body(nil),
        ]
        for request in nothing { try await rig.ness.request(request).value }
        let sent = rig.mock.received.map { "\($0.method) \($0.headers["Content-Type"]?.prefix { $0 != ";" } ?? "-")" }
        let json = "application/json", urlEncoded = "application/x-www-form-urlencoded"
        #expect(
            sent == [
                "GET -", "POST \(json)", "DELETE -", "POST \(urlEncoded)", "PUT text/plain", "OPTIONS -", "HEAD -", "POST -",
                "PATCH \(json)", "POST -",
            ])
    }

    // MARK: streams

    @Test("the error of a refused stream contains the start of the body, even of an endless one")
    func refusedStream() async throws {
        let clock = ContinuousClock()
        try await withServer(
            { _ in .chunked((0..<1_000).map { _ in Data(count: 10_000) }, headers: ["X-State": "bad"]) },
            configure: { $0.clock = clock }
        ) { server, ness in
            let stream = ness.httpRequest(withUrl: "x").validate(shouldHaveHeaders: ["X-State": "good"]).streamRequest()
            let error = await stream.nessError()
            #expect(error?.kind == .validation)
            #expect(error?.response?.body.count == 64 << 10)
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    // MARK: awaited forms

    private static let user = #"{"id":1,"name":"a"}"#

    private func rig(_ reply: Reply, _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Rig {
        let rig = Rig(configure)
        rig.mock.on(nil, "/x") { _ in reply }
        return rig
    }

    @Test("an awaited value is decoded like a promised one, with its type given or inferred")
    func decoded() async throws {
        let rig = rig(.data(Data(Self.user.utf8), contentType: "application/json"))
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.decoded(as: User.self) == User(id: 1, name: "a"))
        let inferred: User = try await request.decoded()
        #expect(inferred.id == 1)
        #expect(rig.mock.requests.allSatisfy { $0.headers["Accept"] == "application/json" })
        let page = try await request.decodedResponse(as: User.self)
        #expect(page.value.id == 1 && page.response.headers["Content-Type"] == "application/json")
    }

    private struct GetText: ConnectionSpec {
        typealias ResponseModel = String
        let url = "x"
    }

    @Test(
        "String and Data are the body itself in every typed form, regardless of the Content-Type",
        arguments: ["text/html", "application/json"])
    func stringsAndData(type: String) async throws {
        let rig = rig(.data(Data("\"a\"".utf8), contentType: type)) { $0.decodingErrors = APIProblem.self }
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.dataRequest(decoding: String.self).value == "\"a\"")
        #expect(try await request.dataRequest(decoding: Data.self).value == Data("\"a\"".utf8))
        #expect(try await rig.ness.request(TypedRequest<String>.get("x")).value == "\"a\"")
        #expect(try await rig.ness.request(TypedRequest<Data>.get("x")).value == Data("\"a\"".utf8))
        #expect(try await rig.ness.request(GetText()).value == "\"a\"")
        #expect(rig.mock.requests.prefix(4).allSatisfy { !$0.headers.contains("Accept") })
        // The method that says JSON in its name decodes JSON.
        #expect(try await request.response().parseJSONBody(String.self) == "a")
    }

    @Test("text and data are the body of a 2xx; an empty body is an empty String, and nil for an Optional")
    func empty() async throws {
        let request = rig(.status(204)).ness.httpRequest(withUrl: "x")
        #expect(try await request.decoded(as: String.self) == "")
        #expect(try await request.decoded(as: String?.self) == nil)
        #expect(try await request.decoded(as: Data?.self) == nil)
        #expect(try await request.data().isEmpty)
        let full = rig(.text("a")).ness.httpRequest(withUrl: "x")
        #expect(try await full.decoded(as: String?.self) == "a")
        #expect(try await full.text() == "a")
        #expect(try await full.data() == Data("a".utf8))
        let refused = rig(.text("no", status: 500)).ness.httpRequest(withUrl: "x")
        #expect(await #expect(throws: NessError.self) { _ = try await refused.text() }?.kind == .validation)
    }

    // MARK: decoders

    private struct CSVDecoder: ResponseDecoder {
        struct Bad: Error {}
        func decode(from data: Data) throws -> [String] {
            guard !data.isEmpty else { throw Bad() }
            return String(decoding: data, as: UTF8.self).split(separator: ",").map(String.init)
        }
    }

    @Test("a decoder of the caller takes the place of JSON, and its error is the cause")
    func decoder() async throws {
        let rig = rig(.text("a,b")) { $0.decodingErrors = APIProblem.self }
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.decoded(by: CSVDecoder()) == ["a", "b"])
        let promise = request.dataRequest(decodedBy: CSVDecoder())
        #expect(try await promise.value == ["a", "b"])
        #expect(promise.response?.statusCode == 200)
        #expect(rig.mock.requests.allSatisfy { !$0.headers.contains("Accept") })
        let empty = self.rig(.status(200)).ness.httpRequest(withUrl: "x").dataRequest(decodedBy: CSVDecoder())
        let error = await empty.nessError()
        #expect(error?.kind == .decoding && error?.underlying is CSVDecoder.Bad)
        let refused = self.rig(.text("a,b", status: 500)).ness.httpRequest(withUrl: "x").dataRequest(decodedBy: CSVDecoder())
        #expect(await refused.nessError()?.kind == .validation)
    }

    // MARK: values with their responses

    @Test("a value can be had with its response from every typed promise, and a drop still travels up")
    func withResponse() async throws {
        let rig = rig(.data(Data(Self.user.utf8), contentType: "application/json"))
        let pair = try await rig.ness.request(TypedRequest<User>.get("x")).withResponse().value
        #expect(pair.value.id == 1 && pair.response.statusCode == 200)
        let refused = self.rig(.status(404)).ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).withResponse()
        #expect(await refused.nessError()?.kind == .validation)
        let never = Ness { $0.transport = FakeTransport { _, _ in await TestGate().wait() } }
        let promise = never.httpRequest(withUrl: "http://x").dataRequest(decoding: User.self)
        let both = promise.withResponse()
        both.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        #expect(await both.nessError()?.kind == .dropped)
    }

    // MARK: cancellation

    @Test("canceling the task of each awaited form drops the request on the wire", arguments: 0..<6)
    func cancellation(form: Int) async throws {
        try await withServer({ _ in .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na"), .stall]) }) { server, ness in
            let request = ness.httpRequest(withUrl: "x")
            let task = Task {
                switch form {
                case 0: _ = try await request.response()
                case 1: _ = try await request.decoded(as: User.self)
                case 2: _ = try await request.decodedResponse(as: User.self)
                case 3: _ = try await request.text()
                case 4: _ = try await request.data()
                default: _ = try await request.decoded(by: CSVDecoder())
                }
            }
            #expect(await server.waitUntil { $0.busyConnections == 1 })
            task.cancel()
            let error = await #expect(throws: NessError.self) { try await task.value }
            #expect(error?.kind == .dropped)
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
    }
}
