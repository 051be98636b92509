import Foundation
import NessHTTP
import NessTesting
import Testing

/// iONess's manager and builder, by their numbers in the inventory.
@Suite("iONess: manager and builder", .inTurn)
struct IONessRequestTests {
    @Test("the manager has its iONess name; the default one can be replaced; each manager has its own transport", .covers("ION-01"))
    func managers() async throws {
        let mocks = (0..<2).map { _ in MockTransport(onUnmatched: .reply(.status(200))) }
        let managers: [NetworkSessionManager] = mocks.map { mock in NetworkSessionManager { $0.transport = mock } }
        let before = Ness.default
        defer { Ness.default = before }
        Ness.default = managers[0]
        #expect(Ness.default === managers[0])
        _ = try await Ness.default.httpRequest(withUrl: "https://mock.test/default").dataRequest().value
        _ = try await managers[1].httpRequest(withUrl: "https://mock.test/own").dataRequest().value
        #expect(mocks.map { $0.requests.map(\.url.path) } == [["/default"], ["/own"]])
        #expect(managers[1].configuration.transport as? MockTransport === mocks[1])
    }

    @Test(
        "a manager takes a usual policy or a handler, which can be replaced; it sees only its own requests", .covers("ION-02"))
    func duplicatePolicies() async throws {
        let received = Tally(), go = TestGate()
        try await serving { request in
            received.enter()
            await go.wait()
            return .text(request.path)
        } _: { server in
            let ness = Ness(onDuplicated: .keepFirstCompletion), other = Ness(onDuplicated: .keepFirstCompletion)
            func call(_ ness: Ness, _ path: String) -> DataPromise { ness.httpRequest(.post, withUrl: server.at(path)).dataRequest() }
            let first = call(ness, "/a")
            await received.wait(for: 1)
            #expect(await call(ness, "/a").nessError()?.kind == .duplicate)
            // Another manager does not see this manager's requests.
            let elsewhere = call(other, "/a")
            await received.wait(for: 2)
            let handler = CountingHandler(.requestSeparately)
            ness.duplicatedHandler = handler
            try #require(ness.duplicatedHandler is CountingHandler)
            let separate = call(ness, "/a")
            await received.wait(for: 3)
            #expect(handler.tally.total == 1)
            go.open()
            for promise in [first, elsewhere, separate] {
                let text = try await promise.value.message.text
                #expect(text == "/a")
            }
        }
        let given = Ness { $0.duplicatedHandler = CountingHandler() }
        #expect(given.duplicatedHandler is CountingHandler)
    }

    @Test("a manager's timeout and deadline end its requests", .covers("ION-03"), arguments: [true, false])
    func timeouts(isDeadline: Bool) async throws {
        let rig = Rig(advances: false) {
            $0.timeout = .seconds(isDeadline ? 1_000 : 30)
            $0.deadline = .seconds(isDeadline ? 100 : 1_000)
        }
        let arrived = TestGate()
        rig.mock.on(.get, "/x") { _ in
            arrived.open()
            await TestGate().wait()
            return .status(200)
        }
        let builder = rig.ness.httpRequest(withUrl: "x")
        try #require(try builder.build().deadline != nil)
        let promise = builder.dataRequest()
        await arrived.wait()
        await rig.clock.waitForSleepers(2)
        rig.clock.advance(by: .seconds(isDeadline ? 99 : 29))
        #expect(!promise.isCompleted)
        rig.clock.advance(by: .seconds(1))
        let error = await promise.nessError()
        #expect(error?.kind == .timedOut)
        #expect(error?.context.reason.contains(isDeadline ? "deadline of 100.0" : "30.0 seconds") == true)
    }

    private struct Page: URLConvertible {
        var number: Int
        func asURL() throws -> URL {
            if number < 0 { throw Rejected(name: "no such page") }
            return try #require(URL(string: "pages/\(number)"))
        }
    }

    @Test("a request begins with a text, a URL or a custom type, and with GET by default; parameters are added to each", .covers("ION-05"))
    func beginnings() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), address = try url("https://mock.test/b")
        let builders = [
            rig.ness.httpRequest(withUrl: "a"), rig.ness.httpRequest(withUrl: address), rig.ness.httpRequest(withUrl: Page(number: 3)),
            rig.ness.httpRequest(.put, withUrl: "a"),
        ]
        for builder in builders { _ = try await builder.set(urlParameters: ["q": 1]).dataRequest().value }
        let seen = rig.mock.requests.map { "\($0.method) \($0.url.absoluteString)" }
        let base = "https://mock.test"
        #expect(seen == ["GET \(base)/a?q=1", "GET \(base)/b?q=1", "GET \(base)/pages/3?q=1", "PUT \(base)/a?q=1"])
        let error = await rig.ness.httpRequest(withUrl: Page(number: -1)).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest && error?.underlying as? Rejected == Rejected(name: "no such page"))
    }

    @Test("requests are compared after the delegate has changed them", .covers("ION-06"))
    func duplicatesAfterTheDelegate() async throws {
        final class Delegate: NetworkSessionManagerDelegate {
            func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
                var request = request
                request.url = URL(string: "https://mock.test/same") ?? request.url
                return request
            }
        }
        let handler = CountingHandler(), gate = TestGate(), delegate = Delegate()
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.ness.delegate = delegate
        rig.mock.on(.get, "/same") { _ in
            await gate.wait()
            return .text("shared")
        }
        let first = rig.ness.httpRequest(withUrl: "a").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.httpRequest(withUrl: "b").dataRequest()
        await handler.tally.wait(for: 1)
        gate.open()
        #expect(try await Promise.all([first, second]).value.map(\.message.text) == ["shared", "shared"])
        #expect(rig.mock.requests.count == 1)
    }

    @Test("all methods of HTTP and custom names are supported; CONNECT has a name, but is not sent", .covers("ION-07"))
    func methods() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let methods: [HTTPMethod] = [.post, .get, .put, .patch, .delete, .head, .options, .trace, .custom("PURGE")]
        for method in methods { _ = try await rig.ness.httpRequest(method, withUrl: "x").dataRequest().value }
        #expect(
            rig.mock.requests.map(\.method.rawValue) == ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PURGE"])
        #expect(await rig.ness.httpRequest(.connect, withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
    }

    private struct Lines: HTTPBodyEncoder {
        func encode(_ lines: [String]) throws -> Data { Data(lines.joined(separator: "\n").utf8) }
    }

    @Test("every setter of the builder returns a builder with the new value", .covers("ION-08"))
    func setters() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let post = rig.ness.httpRequest(.post, withUrl: "x")
            .set(headers: ["A": "1"]).add(headerValue: "2", forKey: "B")
            .set(urlParameters: ["p": 1]).add(urlParameterValue: 2, forKey: "q")
            .validate(statusCode: 200)
        let builders = [
            post.set(body: Data("raw".utf8)), post.set(stringBody: "text"), post.set(stringBody: "ü", encoding: .isoLatin1),
            post.set(jsonBody: ["a": 1]), post.set(arrayJsonBody: [1, "b"]), post.set(jsonEncodable: User(id: 1, name: "a")),
            post.set(arrayJsonEncodable: [User(id: 1, name: "a")]), post.set(body: ["c", "d"], with: Lines()),
        ]
        for builder in builders { _ = try await builder.dataRequest().value }
        let bodies = rig.mock.received.map { String(decoding: $0.body, as: UTF8.self) }
        let user = #"{"id":1,"name":"a"}"#
        #expect(bodies == ["raw", "text", "\u{FFFD}", #"{"a":1}"#, #"[1,"b"]"#, user, "[\(user)]", "c\nd"])
        for request in rig.mock.received {
            #expect(request.target == "/x?p=1&q=2" && request.headers["A"] == "1" && request.headers["B"] == "2")
        }
        #expect(try post.build().body == nil)
        let refused = await post.validate(statusCode: 201).dataRequest().nessError()
        #expect(refused?.kind == .validation)
    }

    @Test(
        "header fields and parameters replace all earlier ones, or merge with them, where the newer or the older value wins",
        .covers("ION-09"))
    func setOptions() throws {
        let builder = Ness().httpRequest(withUrl: "https://mock.test/x")
            .set(headers: ["A": "old", "B": "old"]).set(urlParameters: ["a": "old", "b": "old"])
        func result(_ option: RequestBuilder.SetOption?) throws -> [String] {
            let headers: HTTPHeaders = ["b": "new", "C": "new"], parameters: URLQuery = ["b": "new", "c": "new"]
            let changed =
                option.map { builder.set($0, headers: headers).set($0, urlParameters: parameters) }
                ?? builder.set(headers: headers).set(urlParameters: parameters)
            let request = try changed.build()
            return ["A", "B", "C"].map { request.headers[$0] ?? "-" } + [request.url.query ?? ""]
        }
        let overwritten = ["-", "new", "new", "b=new&c=new"]
        #expect(try result(nil) == overwritten && result(.overwriteAll) == overwritten)
        #expect(try result(.appendAndOverwriteSameKey) == ["old", "new", "new", "a=old&b=new&c=new"])
        #expect(try result(.appendAndKeepPreviousValue) == ["old", "old", "new", "a=old&b=old&c=new"])
    }

    @Test(
        "dictionaries serve as header fields and parameters; field names ignore case, and keep order and several values", .covers("ION-10"))
    func maps() throws {
        let fields = ["X-B": "2", "X-A": "1"], parameters = ["b": "2", "a": "1"]
        let request = try Ness().httpRequest(withUrl: "https://mock.test/x")
            .set(headers: HTTPHeaders(fields)).add(headerValue: "3", forKey: "x-a").set(urlParameters: URLQuery(parameters)).build()
        #expect(request.headers.map(\.value) == ["1", "2", "3"])
        #expect(request.headers.values(for: "X-a") == ["1", "3"])
        #expect(request.url.query == "a=1&b=2")
    }
}
