import Foundation
import NessHTTP
import NessTesting
import Testing

/// Defects of the five older systems, by their numbers in the inventory, that no other suite shows.
@Suite(.inTurn) struct InventoryBugTests {
    // MARK: truth

    @Test("BF-03: a truncated body is a failure, even though a response arrived") func aCutBody() async throws {
        let half = Data(count: 500)
        try await withServer({ _ in .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), .sendData(half), .close]) }) {
            _, ness in
            #expect(await ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .truncated)
        }
    }

    @Test("BF-21, BH-07, BA-05: a request that is dropped several times, at once, ends once") func severalDrops() async throws {
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

    @Test("BA-06: a request right after a drop delivers, a thousand times") func dropThenStart() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x")))
        for _ in 0..<1_000 {
            rig.ness.httpRequest(withUrl: "x").dataRequest().drop()
            #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "x")
        }
    }

    @Test("BI-21: a foreign error with the code -999 is no drop") func aForeignError() async throws {
        let foreign = NSError(domain: "foreign", code: -999)
        let control = AskedControl(CounterRetryControl(maxRetryCount: 1))
        let rig = Rig { $0.loaders = [.loader { _, _ in throw foreign }] }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await #expect(throws: NSError.self) { _ = try await promise.value }
        #expect(promise.status.text == "error")
        #expect(control.asked.entries.count == 2)
    }

    @Test(
        "BF-13, BP-19: a URL that is not http or https, or no URL at all, is a typed error",
        arguments: ["data:,x", "file:///etc/hosts", "http://", "ht tp://x", ""])
    func whatIsNoURL(text: String) async throws {
        let ness = Ness { $0.transport = MockTransport(onUnmatched: .reply(.status(200))) }
        #expect(await ness.httpRequest(withUrl: text).dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test("BF-15: a GET with a body is a typed error") func aBodyOnGet() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let promise = rig.ness.httpRequest(.get, withUrl: "x").set(arrayJsonBody: [1]).dataRequest()
        #expect(await promise.nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("BI-30: a value that JSON cannot represent is a typed error") func notANumber() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let promise = rig.ness.httpRequest(.post, withUrl: "x").set(jsonBody: ["a": .number(.nan)]).dataRequest()
        #expect(await promise.nessError()?.kind == .invalidRequest)
    }

    @Test("BA-13: undecodable text is not an empty string") func undecodableText() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.data(Data([0x61, 0xFF]), contentType: "text/plain")])
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "a\u{FFFD}")
    }

    @Test("BF-11, BF-12: an error that was erased to `any Error` still describes everything") func erasedErrors() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("gone", status: 410)])
        let error: any Error = try #require(await rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest().nessError())
        let text = error.localizedDescription
        #expect(text.contains("GET https://mock.test/x") && text.contains("410") && text.contains("gone"))
        #expect((error as NSError).domain == "Ness.NessError")
    }

    // MARK: requests

    @Test(
        "BA-10, BF-04, BF-05, BF-19, BP-15: parameters",
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

    @Test("BF-05, BP-15: nil, booleans and numbers in parameters; the order is stable") func parameterValues() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let none: String? = nil
        let builder = rig.ness.httpRequest(withUrl: "x").add(urlParameterValue: none, forKey: "n").add(urlParameterValue: true, forKey: "b")
            .add(urlParameterValue: 1.5, forKey: "d")
        _ = try await builder.dataRequest().value
        let query = try #require(rig.mock.requests.first?.url.query(percentEncoded: true))
        #expect(!query.contains("nil") && !query.contains("Optional") && !query.contains("null"))
        #expect(query.hasSuffix("b=true&d=1.5"))
    }

    @Test("BA-11, BP-20: any method") func anyMethod() async throws {
        try await withServer({ .text("\($0.method)") }) { _, ness in
            for method in ["PATCH", "PURGE", "M-SEARCH"] {
                let text = try await ness.httpRequest(.custom(method), withUrl: "x").dataRequest().value.message.text
                #expect(text == method)
            }
        }
    }

    @Test("BF-07: the declared content type is the one that is sent") func contentType() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let body = HTTPBody(Data("a".utf8), headers: ["Content-Type": "text/x-own"])
        _ = try await rig.ness.httpRequest(.post, withUrl: "x").set(body: body).dataRequest().value
        #expect(rig.mock.received.first?.headers["content-type"] == "text/x-own")
    }

    @Test("BP-16: names of header fields ignore case everywhere; an empty name is a typed error") func fieldNames() async throws {
        var headers: HTTPHeaders = ["Content-Type": "a"]
        #expect(headers["content-TYPE"] == "a" && headers.contains("CONTENT-type") && headers.values(for: "content-type") == ["a"])
        headers.remove("cOntent-type")
        #expect(headers.isEmpty)
        let rig = Rig(onUnmatched: .reply(.status(200)))
        #expect(await rig.ness.httpRequest(withUrl: "x").set(headers: ["": "a"]).dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test("BA-19: two Set-Cookie lines are two cookies, even with a comma in a date") func twoCookies() async throws {
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

    @Test("BP-17: a relative Location is resolved in the error, too") func relativeLocation() async throws {
        let rig = Rig { $0.redirects = .follow(limit: 0) }
        rig.mock.on(.get, "/a/b", replies: [.status(302, headers: ["Location": "../c"])])
        let error = await rig.ness.httpRequest(withUrl: "a/b").dataRequest().nessError()
        #expect(error?.kind == .redirect)
        #expect(error?.response?.redirectRequest()?.url.absoluteString == "https://mock.test/c")
    }

    // MARK: lifetime

    @Test("ABS-27, BA-08: ten requests are one connection") func oneConnection() async throws {
        try await withServer { server, ness in
            for _ in 0..<10 { _ = try await ness.httpRequest(withUrl: "x").dataRequest().value }
            #expect(server.connectionCount == 1)
        }
    }

    @Test("BF-09, BH-13, BP-03: a manager is freed after its last use") func managersAreFreed() async throws {
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

    @Test("BF-16: a body that is streamed or saved is not kept in memory as well") func nothingIsKept() async throws {
        let rig = Rig(onUnmatched: .reply(.text("content")))
        #expect(try await rig.ness.httpRequest(withUrl: "x").streamRequest().value.message.body.isEmpty)
        try await withFolder { folder in
            let result = try await rig.ness.httpRequest(withUrl: "x").downloadRequest(forSavedLocation: folder.appendingPathComponent("x"))
                .value
            #expect(result.message.body.isEmpty)
        }
    }

    @Test("BP-22: activity is counted for each manager") func activityOfEach() async throws {
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
