import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// Tests that all forms of typed results behave alike.
@Suite(.inTurn) struct TypedPathTests {
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
                for try await user in ness.httpRequest(withUrl: "x").streamRequest(decoding: User.self) { return user }; return nil
            }
        ),
    ]

    private func error(_ ask: Ask, _ ness: Ness) async -> NessError? {
        await #expect(throws: NessError.self) { _ = try await ask(ness) }
    }

    @Test("each typed form sends Accept: application/json and decodes JSON", arguments: 0..<5)
    func accept(way: Int) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .json(User(id: 1, name: "a")) }
        #expect(try await Self.ways[way].ask(rig.ness) == User(id: 1, name: "a"))
        #expect(rig.mock.requests.first?.headers["Accept"]?.contains("application/json") == true)
    }

    @Test("each typed form refuses a Content-Type that is not JSON, unless the check is off, and keeps the body", arguments: 0..<5)
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

    @Test("each typed form accepts a type for the API's errors")
    func ownErrors() async throws {
        struct Oops: Decodable, Error { let oops: String }
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .json(["oops": "no"], status: 400) }
        let ness = rig.ness
        let asked: [Ask] = [
            { try await $0.httpRequest(withUrl: "x").dataRequest(decoding: User.self, decodingErrors: Oops.self).value },
            { try await $0.request(TypedRequest<User>.get("x"), decodingErrors: Oops.self).value },
            {
                var request = TypedRequest<User>.get("x")
                request.decodingErrors = Oops.self
                return try await $0.request(request).value
            },
            { try await $0.request(GetUser(), decodingErrors: Oops.self).value },
            {
                for try await user in $0.poll(GetUser(), every: .seconds(1), decodingErrors: Oops.self) { return user }; return nil
            },
            {
                for try await user in $0.httpRequest(withUrl: "x").streamRequest(decoding: User.self, decodingErrors: Oops.self) {
                    return user
                }
                return nil
            },
        ]
        for ask in asked { #expect((await error(ask, ness)?.underlying as? Oops)?.oops == "no") }
    }

    @Test("each typed form uses the manager's decoder", arguments: 0..<5)
    func decoder(way: Int) async throws {
        let rig = Rig {
            $0.jsonDecoder = JSONDecoder()
            $0.jsonDecoder.userInfo = [:]
            $0.jsonDecoder.keyDecodingStrategy = .custom { path in
                Key(stringValue: path.last?.stringValue == "nick" ? "name" : path.last?.stringValue ?? "")
            }
        }
        rig.mock.on(.get, "/x") { _ in .json(["id": JSONValue(1), "nick": "a"]) }
        #expect(try await Self.ways[way].ask(rig.ness) == User(id: 1, name: "a"))
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
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

    @Test("a typed request supports every method, JSON, form and multipart bodies, and Void responses")
    func methodsAndBodies() async throws {
        let rig = Rig()
        rig.mock.on(nil, "/x") { _ in .json(User(id: 1, name: "a")) }
        var form = MultipartForm()
        form.append("1", named: "a")
        let requests: [TypedRequest<User>] = [
            .get("x"), .init(.post, "x").body(json: 1), .init(.delete, "x"), .init(.post, "x").body(form: ["a": "1"]),
            .init(.put, "x").body(multipart: form), .init(.options, "x"),
        ]
        for request in requests { #expect(try await rig.ness.request(request).value.id == 1) }
        let nothing: [TypedRequest<Void>] = [
            .init(.head, "x"), .init(.post, "x"), .init(.patch, "x").body(json: 1), .init(.post, "x").body(form: ["a": "1"]),
        ]
        for request in nothing { try await rig.ness.request(request).value }
        let sent = rig.mock.received.map { "\($0.method) \($0.headers["Content-Type"]?.prefix { $0 != ";" } ?? "-")" }
        let json = "application/json", urlEncoded = "application/x-www-form-urlencoded"
        #expect(
            sent == [
                "GET -", "POST \(json)", "DELETE -", "POST \(urlEncoded)", "PUT multipart/form-data", "OPTIONS -", "HEAD -", "POST -",
                "PATCH \(json)", "POST \(urlEncoded)",
            ])
    }

    // MARK: streams

    @Test("the error of a refused event stream contains the response's body", arguments: [200, 500])
    func refusedEvents(status: Int) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .text("<html>down</html>", status: status) }
        let request = rig.ness.httpRequest(withUrl: "x")
        let byProperty = await #expect(throws: NessError.self) {
            for try await _ in request.streamRequest().serverSentEvents { Issue.record("there is no event") }
        }
        let reconnecting = await #expect(throws: NessError.self) {
            for try await _ in request.serverSentEvents() { Issue.record("there is no event") }
        }
        for error in [byProperty, reconnecting] {
            #expect(error?.kind == .validation)
            #expect(error?.response?.statusCode == status)
            #expect(error?.response?.text == "<html>down</html>")
        }
    }

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
}
