import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Every way to ask for a response, and its outcome: one value or one error.
@Suite(.inTurn) struct ResultTests {
    @Test(
        "data and upload requests end in response and bytes; a failure is an error, with the response if there was one")
    func results() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file")
            try Data("file".utf8).write(to: file)
            let rig = Rig()
            rig.mock.on(nil, "/x") { .text("got \($0.bodyText)", status: 201) }
            rig.mock.on(nil, "/lost") { _ in .failure(.connectionLost) }
            let data = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
            #expect(data.message.statusCode == 201 && data.responseData == Data("got ".utf8))
            let upload: DataResult = try await rig.ness.httpRequest(.post, withUrl: "x").uploadRequest(forFileLocation: file).value
            #expect(upload.message.statusCode == 201 && upload.responseData == Data("got file".utf8))
            let lost = await rig.ness.httpRequest(withUrl: "lost").dataRequest().nessError()
            #expect(lost?.kind == .connectionLost && lost?.response == nil)
            let refused = rig.ness.httpRequest(.post, withUrl: "x").validate(statusCode: 200).uploadRequest(forFileLocation: file)
            #expect(await refused.nessError()?.response?.text == "got file")
        }
    }

    @Test("several requests of different kinds are awaited together, and their results form one tuple")
    func tuple() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        rig.mock.on(.get, "/user") { _ in .json(User(id: 1, name: "a")) }
        let user = rig.ness.httpRequest(withUrl: "user").dataRequest(decoding: User.self)
        let plain = rig.ness.httpRequest(withUrl: "x").dataRequest(), other = rig.ness.httpRequest(.put, withUrl: "x").dataRequest()
        let pair = try await Promise.all(user, plain).value
        #expect(pair.0.id == 1 && pair.1.message.statusCode == 200)
        let triple = try await Promise.all(other, user, plain).then { "\($0.0.message.request.method) \($0.1.name)" }.value
        #expect(triple == "PUT a")
    }

    @Test("a response has a status, its bytes, its header fields as received, its text and its request")
    func response() async throws {
        let rig = Rig()
        rig.mock.on(.put, "/x", replies: [.text("grün", status: 203, headers: ["X-MiXed": "V"]), .status(204)])
        let builder = rig.ness.httpRequest(.put, withUrl: "x").set(headers: ["X-Asked": "1"])
        let message = try await builder.dataRequest().value.message
        #expect(message.statusCode == 203 && message.body == Data("grün".utf8) && message.text == "grün")
        #expect(message.headers["x-mixed"] == "V" && message.headers.contains { $0.name == "X-MiXed" })
        #expect(message.request.method == .put && message.request.headers["X-Asked"] == "1")
        #expect(message.request.url.absoluteString == "https://mock.test/x")
        let empty = try await builder.dataRequest().value.message
        #expect(empty.statusCode == 204 && empty.body.isEmpty && empty.text == "")
    }

    @Test("a success or a failure arrives once, and on the main thread if asked for")
    func onMain() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("a"), .failure(.offline)])
        for expected in ["a", "offline"] {
            let heard = Log<String>()
            let promise = rig.ness.httpRequest(withUrl: "x").dataRequest().finally(onMain: { result, error in
                heard.add(result?.message.text ?? (error as? NessError)?.kind.rawValue ?? "nothing")
                #expect(isOnMainQueue())
            })
            _ = try? await promise.value
            #expect(heard.entries == [expected])
        }
    }

    @Test("a request ends in a value, in an error with the response if there is one, or in a drop")
    func ends() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .text("x") }
        rig.mock.on(.get, "/bad") { _ in .status(500) }
        rig.mock.on(.get, "/lost") { _ in .failure(.connectionLost) }
        rig.mock.on(.get, "/slow") { _ in
            await TestGate().wait()
            return .status(200)
        }
        func start(_ path: String) -> (DataPromise, Witness) {
            let promise = rig.ness.httpRequest(withUrl: path).validate(statusCode: 200).dataRequest()
            return (promise, Witness(promise))
        }
        for (path, end, status) in [("good", "value", nil), ("bad", "validation", 500), ("lost", "connectionLost", nil)]
            as [(String, String, Int?)]
        {
            let (promise, witness) = start(path)
            #expect(await witness.outcome() == [end])
            #expect((promise.error as? NessError)?.response?.statusCode == status)
        }
        let (promise, witness) = start("slow")
        await rig.mock.waitUntil { $0.requests.count == 4 }
        promise.drop()
        #expect(await witness.outcome() == ["dropped"])
    }

    @Test(
        "an outcome is a Result, which can be mapped, chained and recovered like a promise; a value can replace an error")
    func outcome() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .text("4") }
        rig.mock.on(.get, "/lost") { _ in .failure(.offline) }
        let good = rig.ness.httpRequest(withUrl: "good").dataRequest(), lost = rig.ness.httpRequest(withUrl: "lost").dataRequest()
        #expect(try await good.then { Int($0.message.text) ?? 0 }.then { $0 * 2 }.value == 8)
        #expect(try await lost.then { $0.message.text }.recover { _ in "none" }.value == "none")
        let text = try #require(good.outcome).map(\.message.text)
        #expect(try text.get() == "4")
        #expect("\(try #require(good.outcome))".contains("GET https://mock.test/good \u{2192} 200 \"4\""))
        #expect("\(try #require(lost.outcome))".contains("GET https://mock.test/lost: offline: no network is available"))
        #expect((try? lost.outcome?.map(\.message.text).get()) ?? "none" == "none")
        #expect(throws: Rejected()) { try text.flatMap { _ in Result<Int, any Error>.failure(Rejected()) }.get() }
    }

    @Test("one closure gets the error, with kind and response, and another the end")
    func closures() async throws {
        let rig = Rig(), heard = Log<String>()
        rig.mock.on(.get, "/x", replies: [.status(200), .text("gone", status: 410), .failure(.offline)])
        for _ in 0..<3 {
            let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: Void.self)
                .handle { error in
                    let error = error as? NessError
                    heard.add("\(error?.kind.rawValue ?? "") \(error?.response?.text ?? "-")")
                }
                .finally { _, error in heard.add(error == nil ? "end" : "end by error") }
            _ = try? await promise.value
        }
        #expect(heard.entries == ["end", "validation gone", "end by error", "offline -", "end by error"])
    }

    @Test(
        "a rejected response is a failure with status and reason, and success handlers never run",
        arguments: [HTTPMethod.get, .post])
    func refusedResponse(method: HTTPMethod) async throws {
        try await withServer({ _ in .text("broken", status: 500) }) { _, ness in
            let log = Log<String>()
            let builder = ness.httpRequest(method, withUrl: "x").validate(statusCodes: 200..<300)
            let promise = builder.dataRequest()
            let error = await promise.then { _ in log.add("then") }.handle { _ in log.add("handle") }.nessError()
            #expect(log.entries == ["handle"])
            #expect(error?.kind == .validation)
            #expect(error?.response?.statusCode == 500)
            #expect(error?.context.reason == "status 500, expected 200..<300")
            #expect(promise.result == nil)
        }
    }

    @Test("after a refused connection only failure handlers run")
    func refusedConnection() async throws {
        let log = Log<String>()
        let promise = Ness().httpRequest(withUrl: try await refusingURL()).dataRequest()
        let end = promise.then { _ in log.add("then") }.handle { _ in log.add("handle") }
            .finally { value, error in log.add("finally \(value == nil) \(error != nil)") }
        #expect(await end.nessError()?.kind == .cannotConnect)
        #expect(log.entries == ["handle", "finally true true"])
        #expect(promise.result == nil)
    }

    // MARK: styles

    enum Style: CaseIterable { case then, await, wait, decoding, status }

    /// Sends a request in one of the styles, and returns when its response is there.
    private func send(_ builder: RequestBuilder, _ style: Style) async throws {
        switch style {
        case .then:
            let text = Log<String>()
            _ = try await builder.dataRequest().then { text.add($0.message.text) }.value
            #expect(text.entries == ["[1]"])
        case .await:
            let text = try await builder.dataRequest().value.message.text
            #expect(text == "[1]")
        case .wait:
            let text = try await onThread { Result { try builder.dataRequest().wait(timeout: .seconds(500)).message.text } }.get()
            #expect(text == "[1]")
        case .decoding:
            let numbers = try await builder.dataRequest(decoding: [Int].self).value
            #expect(numbers == [1])
        case .status:
            let promise = builder.dataRequest()
            _ = try? await promise.value
            #expect(promise.status.text == "completed 200")
        }
    }

    @Test("the changes of two loaders arrive, in every style", arguments: Style.allCases)
    func loaders(style: Style) async throws {
        let loaders = ["X-First", "X-Second"].map { name in
            ClosureLoader { request, next in
                var request = request
                request.headers.add("\(request.headers.count)", for: name)
                return try await next(request)
            }
        }
        try await withServer({ _ in .json([1]) }, configure: { $0.loaders = loaders }) { server, ness in
            try await send(ness.httpRequest(withUrl: "x").set(headers: ["X-Own": "own", "Accept": "*/*"]), style)
            let headers = try #require(server.requests.first?.headers)
            #expect(headers["X-Own"] == "own")
            #expect(headers["X-First"] == "2")
            #expect(headers["X-Second"] == "3")
        }
    }

    @Test("the same request sends the same bytes, in every style", arguments: [HTTPMethod.get, .post, .patch, .delete])
    func bytes(method: HTTPMethod) async throws {
        try await withServer({ _ in .json([1]) }, configure: { $0.defaultHeaders = ["X-Default": "d"] }) { server, ness in
            var builder = ness.httpRequest(method, withUrl: "path?a=1").set(urlParameters: ["b": "ü &"])
                .set(headers: ["X-Own": "own", "Authorization": "Bearer t", "Accept": "application/json"])
            if method != .get { builder = builder.set(jsonBody: ["name": "Fluffles", "n": [1, 2.5]]) }
            for style in Style.allCases { try await send(builder, style) }

            let requests = server.requests
            #expect(requests.count == Style.allCases.count)
            let first = try #require(requests.first)
            #expect(first.method == method)
            #expect(first.target == "/path?a=1&b=%C3%BC%20%26")
            #expect(first.headers["X-Own"] == "own" && first.headers["X-Default"] == "d" && first.headers["Authorization"] == "Bearer t")
            if method != .get { #expect(try JSONValue(parsing: first.body) == ["name": "Fluffles", "n": [1, 2.5]]) }
            for other in requests.dropFirst() {
                #expect(other.method == first.method)
                #expect(other.target == first.target)
                #expect(other.headers == first.headers)
                #expect(other.body == first.body)
            }
        }
    }

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

    @Test("each typed form sends Accept: application/json and decodes JSON", arguments: 0..<5)
    func accept(way: Int) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .json(User(id: 1, name: "a")) }
        #expect(try await Self.ways[way].ask(rig.ness) == User(id: 1, name: "a"))
        #expect(rig.mock.requests.first?.headers["Accept"]?.contains("application/json") == true)
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

    @Test("each typed form accepts a type for the API's errors")
    func ownErrors() async throws {
        struct Oops: Decodable, Error { let oops: String }
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .json(["oops": "no"], status: 400) }
        let ness = rig.ness
        let asked: [Ask] = [
            { try await $0.httpRequest(withUrl: "x").decodingErrors(as: Oops.self).dataRequest(decoding: User.self).value },
            { try await $0.request(TypedRequest<User>.get("x")) { $0.decodingErrors(as: Oops.self) }.value },
            {
                var request = TypedRequest<User>.get("x")
                request.decodingErrors = Oops.self
                return try await $0.request(request).value
            },
            { try await $0.request(GetUser()) { $0.decodingErrors(as: Oops.self) }.value },
            {
                var request = TypedRequest<User>.get("x")
                request.decodingErrors = Oops.self
                for try await user in $0.poll(request, every: .seconds(1)) { return user }
                return nil
            },
            {
                for try await user in $0.httpRequest(withUrl: "x").decodingErrors(as: Oops.self).lines(decoding: User.self) {
                    return user
                }
                return nil
            },
        ]
        for ask in asked { #expect((await error(ask, ness)?.underlying as? Oops)?.oops == "no") }
    }

    @Test("each typed form uses the manager's decoder", arguments: 0..<5)
    func managersDecoder(way: Int) async throws {
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

    @Test("the error of a rejected event stream contains the response's body", arguments: [200, 500])
    func refusedEvents(status: Int) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .text("<html>down</html>", status: status) }
        let request = rig.ness.httpRequest(withUrl: "x")
        let byProperty = await #expect(throws: NessError.self) {
            for try await _ in request.streamRequest().serverSentEvents { Issue.record("there is no event") }
        }
        let reconnecting = await #expect(throws: NessError.self) {
            for try await _ in request.reconnectingEvents() { Issue.record("there is no event") }
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

    // MARK: awaited forms

    private static let user = #"{"id":1,"name":"a"}"#

    private func rig(_ reply: Reply, _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Rig {
        let rig = Rig(configure)
        rig.mock.on(nil, "/x") { _ in reply }
        return rig
    }

    @Test("an awaited response of any status is a result, unless a validator rejects it")
    func awaitedResponse() async throws {
        let request = rig(.text("no", status: 404)).ness.httpRequest(withUrl: "x")
        #expect(try await request.response().statusCode == 404)
        let error = await #expect(throws: NessError.self) { try await request.validate().response() }
        #expect(error?.kind == .validation && error?.response?.text == "no")
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

    @Test("text and data are the body itself, and need a 2xx")
    func raw() async throws {
        let latin = Reply.data(Data([0xE9]), contentType: "text/plain; charset=iso-8859-1")
        let request = rig(latin).ness.httpRequest(withUrl: "x")
        #expect(try await request.text() == "é")
        #expect(try await request.data() == Data([0xE9]))
        let refused = rig(.text("no", status: 500)).ness.httpRequest(withUrl: "x")
        #expect(await #expect(throws: NessError.self) { _ = try await refused.text() }?.kind == .validation)
        #expect(await #expect(throws: NessError.self) { _ = try await refused.data() }?.response?.statusCode == 500)
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

    @Test("an empty body is an empty String, and nil for an Optional")
    func empty() async throws {
        let request = rig(.status(204)).ness.httpRequest(withUrl: "x")
        #expect(try await request.decoded(as: String.self) == "")
        #expect(try await request.decoded(as: String?.self) == nil)
        #expect(try await request.decoded(as: Data?.self) == nil)
        #expect(try await request.data().isEmpty)
        let full = rig(.text("a")).ness.httpRequest(withUrl: "x")
        #expect(try await full.decoded(as: String?.self) == "a")
    }

    @Test("the API's own error is decoded even if the result is a string")
    func apiError() async throws {
        let problem = rig(.json(["title": "no cat"], status: 404)) { $0.decodingErrors = APIProblem.self }
        let error = await #expect(throws: NessError.self) { _ = try await problem.ness.httpRequest(withUrl: "x").text() }
        #expect((error?.underlying as? APIProblem)?.title == "no cat")
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
