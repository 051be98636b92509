import Foundation
import NessHTTP
import NessTesting
import Testing

/// Cases in which older libraries failed: verdicts, bodies, parameters, header fields and errors.
@Suite(.inTurn) struct HTTPRegressionTests {
    @Test(
        "a refused response is a failure with status and reason, and success handlers never run", .covers("BI-01"),
        arguments: [HTTPMethod.get, .post])
    func bi01(method: HTTPMethod) async throws {
        try await withServer({ _ in .text("broken", status: 500) }) { _, ness in
            let log = Log<String>()
            let builder = ness.httpRequest(method, withUrl: "x").validate(statusCodes: 200..<300)
            let promise = builder.dataRequest()
            let error = await promise.then { _ in log.add("then") }.handle { _ in log.add("handle") }.nessError()
            #expect(log.entries == ["handle"])
            #expect(error?.kind == .validation)
            #expect(error?.response?.statusCode == 500)
            #expect(error?.context.reason == "the status is 500, not 200..<300")
            #expect(promise.result == nil)
        }
    }

    @Test("after a refused connection only failure handlers run", .covers("BI-02"))
    func bi02() async throws {
        let log = Log<String>()
        let promise = Ness().httpRequest(withUrl: try await refusingURL()).dataRequest()
        let end = promise.then { _ in log.add("then") }.handle { _ in log.add("handle") }
            .finally { value, error in log.add("finally \(value == nil) \(error != nil)") }
        #expect(await end.nessError()?.kind == .cannotConnect)
        #expect(log.entries == ["handle", "finally true true"])
        #expect(promise.result == nil)
    }

    @Test("raw bytes arrive byte for byte, and the last body that was set is sent", .covers("BI-03"))
    func bi03() async throws {
        let bytes = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0) })
        try await withServer { server, ness in
            let builder = ness.httpRequest(.post, withUrl: "x")
            _ = try await builder.set(body: bytes).dataRequest().value
            _ = try await builder.set(jsonBody: ["a": 1]).set(body: bytes).dataRequest().value
            _ = try await builder.set(body: bytes).set(jsonBody: ["a": 1]).dataRequest().value
            #expect(server.requests.map(\.body) == [bytes, bytes, Data(#"{"a":1}"#.utf8)])
            let types = server.requests.map { $0.headers["Content-Type"] }
            #expect(types == ["application/octet-stream", "application/octet-stream", "application/json"])
        }
    }

    @Test("a body that cannot be encoded fails before any connection is opened", .covers("HIS-06", "BI-04"))
    func bi04() async throws {
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
                #expect(error?.context.underlying is EncodingError || error?.context.underlying is HTTPBodyError)
            }
            #expect(server.connectionCount == 0)
        }
    }

    static let parameters: [(url: String, target: String)] = [
        ("echo", "/echo?a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?", "/echo?a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?x=1", "/echo?x=1&a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?x=1&", "/echo?x=1&a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo#part", "/echo?a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?x=%2B+#part?y", "/echo?x=%2B+&a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
    ]

    @Test(
        "parameters arrive in order after an existing query, escaped, and before a fragment", .covers("PMH-35", "BI-05"),
        arguments: parameters)
    func bi05(url: String, target: String) async throws {
        try await withServer { server, ness in
            let parameters: URLQuery = ["a": "b&=+#", "c": "d é", "a": 2]
            _ = try await ness.httpRequest(withUrl: url).set(urlParameters: parameters).dataRequest().value
            #expect(server.requests.map(\.target) == [target])
            #expect(server.requests.first?.queryItems.suffix(3).map(\.value) == ["b&=+#", "d é", "2"])
        }
    }

    static let truthTable: [(header: HTTPHeaders, matches: Bool, contains: Bool)] = [
        ([:], false, false),
        (["X-Other": "v"], false, false),
        (["X-Test": "v"], true, true),
        (["x-test": "v"], true, true),
        (["X-TEST": "v", "X-Other": "1"], true, true),
        (["X-Test": "V"], false, false),
        (["X-Test": "w"], false, false),
        (["X-Test": ""], false, false),
        (["X-Test": "w, v"], false, true),
        (["X-Test": "w", "x-test": "v"], false, true),
        (["X-Test": "v;q=1"], false, true),
        (["X-Test": "vv"], false, false),
    ]

    @Test("three kinds of header validation, by present, absent, different and case", .covers("ION-22", "BI-24"), arguments: truthTable)
    func bi24(header: HTTPHeaders, matches: Bool, contains: Bool) throws {
        let response = HTTPResponse(statusCode: 200, headers: header, request: HTTPRequest(url: try url("http://x")))
        for name in ["X-Test", "x-tEST"] {
            func accepts(_ validation: HeaderValidator.Validation) -> Bool {
                HeaderValidator(validation, [name: "v"]).validate(for: response) == .valid
            }
            #expect(accepts(.shouldMatch) == matches)
            #expect(accepts(.shouldContains) == contains)
            #expect(accepts(.shouldNotContains) == !contains)
        }
    }

    @Test("a server's header fields that no validator names do not matter", .covers("BI-24"))
    func bi24Wire() async throws {
        try await withServer({ _ in .text("x", headers: ["X-Test": "v", "X-More": "1", "Server": "s"]) }) { server, ness in
            let builder = ness.httpRequest(withUrl: "x")
            _ = try await builder.validate(.shouldMatch, ["x-test": "v"]).validate(.shouldContains, ["X-TEST": "v"])
                .validate(.shouldNotContains, ["X-Absent": "v", "X-Test": "other"]).dataRequest().value
            #expect(await builder.validate(.shouldNotContains, ["x-test": "v"]).dataRequest().nessError()?.kind == .validation)
            #expect(server.requestCount == 2)
        }
    }

    @Test("body and headers can be set in any order, and the caller's header wins", .covers("HIS-06", "BI-25"))
    func bi25() async throws {
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

    @Test("a bad URL, an encoder's error and a hook's error each keep their cause", .covers("BI-26"))
    func bi26() async throws {
        struct Encoder: HTTPBodyEncoder {
            func encode(_ value: Int) throws -> Data { throw Rejected(name: "encoder") }
        }
        let hook = ClosureLoader { _, _ in throw Rejected(name: "hook") }
        try await withServer { server, ness in
            let url = await ness.httpRequest(withUrl: "http://[broken").dataRequest().nessError()
            #expect(url?.kind == .invalidRequest)
            #expect(url?.context.underlying is InvalidURL)
            #expect(url?.description.contains("http://[broken") == true)
            let encoder = await ness.httpRequest(.post, withUrl: "x").set(body: 1, with: Encoder()).dataRequest().nessError()
            #expect(encoder?.context.underlying as? Rejected == Rejected(name: "encoder"))
            #expect(encoder?.context.reason.contains("encoder") == true)
            let hooked = Ness { $0.loaders = [hook] }.httpRequest(withUrl: server.url).dataRequest()
            await #expect(throws: Rejected(name: "hook")) { _ = try await hooked.value }
            #expect(server.connectionCount == 0)
        }
    }
}
