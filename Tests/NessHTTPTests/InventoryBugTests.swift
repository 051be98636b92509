import Foundation
import NessHTTP
import NessTesting
import Testing

/// Defects of the five older systems, by their numbers in the inventory, that no other suite shows.
@Suite(.inTurn) struct InventoryBugTests {
    // MARK: truth

    @Test("a truncated body is a failure, even though a response arrived", .covers("BF-03")) func aCutBody() async throws {
        let half = Data(count: 500)
        try await withServer({ _ in .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), .sendData(half), .close]) }) {
            _, ness in
            #expect(await ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .truncated)
        }
    }

    @Test("a request that is dropped several times, at once, ends once", .covers("BF-21", "BH-07", "BA-05"))
    func severalDrops() async throws {
        let rig = Rig(), never = TestGate()
        rig.mock.on(.get, "/x") { _ in
            await never.wait()
            return .status(200)
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        let witness = Witness(promise)
        await onThreads(4) { _ in promise.drop() }
        #expect(await witness.outcome() == ["dropped"])
        promise.drop()
        #expect(witness.ends == ["dropped"])
    }

    @Test("a request right after a drop delivers, a thousand times", .covers("BA-06")) func dropThenStart() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x")))
        for _ in 0..<1_000 {
            rig.ness.httpRequest(withUrl: "x").dataRequest().drop()
            #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "x")
        }
    }

    @Test("a foreign error with the code -999 is no drop", .covers("BI-21")) func aForeignError() async throws {
        let foreign = NSError(domain: "foreign", code: -999)
        let control = AskedControl(CounterRetryControl(maxRetryCount: 1))
        let rig = Rig { $0.loaders = [.loader { _, _ in throw foreign }] }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await #expect(throws: NSError.self) { _ = try await promise.value }
        #expect(promise.status.text == "error")
        #expect(control.asked.entries.count == 2)
    }

    @Test(
        "a URL that is not http or https, or no URL at all, is a typed error", .covers("BF-13", "BP-19"),
        arguments: ["data:,x", "file:///etc/hosts", "http://", "ht tp://x", ""])
    func whatIsNoURL(text: String) async throws {
        let ness = Ness { $0.transport = MockTransport(onUnmatched: .reply(.status(200))) }
        #expect(await ness.httpRequest(withUrl: text).dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test("a GET with a body is a typed error", .covers("BF-15")) func aBodyOnGet() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let promise = rig.ness.httpRequest(.get, withUrl: "x").set(arrayJsonBody: [1]).dataRequest()
        #expect(await promise.nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a value that JSON cannot represent is a typed error", .covers("BI-30")) func notANumber() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let promise = rig.ness.httpRequest(.post, withUrl: "x").set(jsonBody: ["a": .number(.nan)]).dataRequest()
        #expect(await promise.nessError()?.kind == .invalidRequest)
    }

    @Test("undecodable text is not an empty string", .covers("BA-13")) func undecodableText() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.data(Data([0x61, 0xFF]), contentType: "text/plain")])
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "a\u{FFFD}")
    }

    @Test("an error that was erased to `any Error` still describes everything", .covers("BF-11", "BF-12"))
    func erasedErrors() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("gone", status: 410)])
        let error: any Error = try #require(await rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest().nessError())
        let text = error.localizedDescription
        #expect(text.contains("GET https://mock.test/x") && text.contains("410") && text.contains("gone"))
        #expect((error as NSError).domain == "Ness.NessError")
    }

    // MARK: requests

    @Test(
        "parameters are encoded and added to the URL's own, for every method", .covers("BA-10", "BF-04", "BF-05", "BF-19", "BP-15"),
        arguments: [
            ("x", ["a": "1=2"], "a=1%3D2"), ("x?q=1", ["a": "1"], "q=1&a=1"), ("x", [:], nil), ("x?a=b=c", [:], "a=b=c"),
            ("x", ["a": "\"\\\n"], "a=%22%5C%0A"), ("x#f", ["a": "1"], "a=1"),
        ] as [(String, URLQuery, String?)]) func parameters(path: String, query: URLQuery, expected: String?) async throws
    {
        for method in [HTTPMethod.get, .delete, .head] {
            let rig = Rig(onUnmatched: .reply(.status(200)))
            _ = try await rig.ness.httpRequest(method, withUrl: path).set(urlParameters: query).dataRequest().value
            #expect(rig.mock.requests.map { $0.url.query(percentEncoded: true) } == [expected])
        }
    }

    @Test("parameters may be nil, booleans and numbers, and keep their order", .covers("BF-05", "BP-15"))
    func parameterValues() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let none: String? = nil
        let builder = rig.ness.httpRequest(withUrl: "x").add(urlParameterValue: none, forKey: "n").add(urlParameterValue: true, forKey: "b")
            .add(urlParameterValue: 1.5, forKey: "d")
        _ = try await builder.dataRequest().value
        let query = try #require(rig.mock.requests.first?.url.query(percentEncoded: true))
        #expect(!query.contains("nil") && !query.contains("Optional") && !query.contains("null"))
        #expect(query.hasSuffix("b=true&d=1.5"))
    }

    @Test("any method arrives as written", .covers("BA-11", "BP-20")) func anyMethod() async throws {
        try await withServer({ .text("\($0.method)") }) { _, ness in
            for method in ["PATCH", "PURGE", "M-SEARCH"] {
                let text = try await ness.httpRequest(.custom(method), withUrl: "x").dataRequest().value.message.text
                #expect(text == method)
            }
        }
    }

    @Test("the declared content type is the one that is sent", .covers("BF-07")) func contentType() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let body = HTTPBody(Data("a".utf8), headers: ["Content-Type": "text/x-own"])
        _ = try await rig.ness.httpRequest(.post, withUrl: "x").set(body: body).dataRequest().value
        #expect(rig.mock.received.first?.headers["content-type"] == "text/x-own")
    }

    @Test("names of header fields ignore case everywhere; an empty name is a typed error", .covers("BP-16"))
    func fieldNames() async throws {
        var headers: HTTPHeaders = ["Content-Type": "a"]
        #expect(headers["content-TYPE"] == "a" && headers.contains("CONTENT-type") && headers.values(for: "content-type") == ["a"])
        headers.remove("cOntent-type")
        #expect(headers.isEmpty)
        let rig = Rig(onUnmatched: .reply(.status(200)))
        #expect(await rig.ness.httpRequest(withUrl: "x").set(headers: ["": "a"]).dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test("two Set-Cookie lines are two cookies, even with a comma in a date", .covers("BA-19")) func twoCookies() async throws {
        try await withServer({ _ in
            .script([
                .send(
                    "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
                )
            ])
        }) {
            _, ness in
            let headers = try await ness.httpRequest(withUrl: "x").dataRequest().value.message.headers
            #expect(headers.values(for: "set-cookie") == ["a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT", "b=2"])
        }
    }

    @Test("a relative Location is resolved in the error, too", .covers("BP-17")) func relativeLocation() async throws {
        let rig = Rig { $0.redirects = .follow(limit: 0) }
        rig.mock.on(.get, "/a/b", replies: [.status(302, headers: ["Location": "../c"])])
        let error = await rig.ness.httpRequest(withUrl: "a/b").dataRequest().nessError()
        #expect(error?.kind == .redirect)
        #expect(error?.response?.redirectRequest()?.url.absoluteString == "https://mock.test/c")
    }

    // MARK: lifetime

    @Test("ten requests one after another use one connection", .covers("ABS-27", "BA-08")) func oneConnection() async throws {
        try await withServer { server, ness in
            for _ in 0..<10 { _ = try await ness.httpRequest(withUrl: "x").dataRequest().value }
            #expect(server.connectionCount == 1)
        }
    }

    @Test("a manager is freed after its last use", .covers("BF-09", "BH-13", "BP-03")) func managersAreFreed() async throws {
        let freed = TestGate()
        final class Loader: HTTPLoader {
            let freed: TestGate
            init(_ freed: TestGate) { self.freed = freed }
            deinit { freed.open() }
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) }
        }
        do {
            let ness = Ness {
                $0.transport = MockTransport(onUnmatched: .reply(.status(200)))
                $0.loaders = [Loader(freed)]
            }
            _ = try await ness.httpRequest(withUrl: "https://mock.test").dataRequest().value
        }
        await freed.wait()
    }

    @Test("a body that is streamed or saved is not kept in memory as well", .covers("BF-16")) func nothingIsKept() async throws {
        let rig = Rig(onUnmatched: .reply(.text("content")))
        #expect(try await rig.ness.httpRequest(withUrl: "x").streamRequest().value.message.body.isEmpty)
        try await withFolder { folder in
            let result = try await rig.ness.httpRequest(withUrl: "x").downloadRequest(forSavedLocation: folder.appendingPathComponent("x"))
                .value
            #expect(result.message.body.isEmpty)
        }
    }

    @Test("activity is counted for each manager", .covers("BP-22")) func activityOfEach() async throws {
        let counters = [ActivityCounter(), ActivityCounter()], gate = TestGate(), arrived = TestGate()
        let rigs = counters.map { counter in Rig { $0.observers = [counter] } }
        rigs[0].mock.on(.get, "/x") { _ in
            arrived.open()
            await gate.wait()
            return .status(200)
        }
        let promise = rigs[0].ness.httpRequest(withUrl: "x").dataRequest()
        await arrived.wait()
        #expect(counters.map(\.count) == [1, 0])
        gate.open()
        _ = try await promise.value
    }
}
