import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Parameters in the query and in forms.
@Suite(.inTurn) struct ParameterTests {
    @Test(
        "header fields and parameters replace all earlier ones, or merge with them, by choice; without one fields merge, parameters replace"
    )
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
        #expect(try result(nil) == ["old", "new", "new", "b=new&c=new"])
        #expect(try result(.overwriteAll) == ["-", "new", "new", "b=new&c=new"])
        #expect(try result(.appendAndOverwriteSameKey) == ["old", "new", "new", "a=old&b=new&c=new"])
        #expect(try result(.appendAndKeepPreviousValue) == ["old", "old", "new", "a=old&b=old&c=new"])
    }

    @Test(
        "dictionaries serve as header fields and parameters; field names ignore case, and keep order and several values")
    func maps() throws {
        let fields = ["X-B": "2", "X-A": "1"], parameters = ["b": "2", "a": "1"]
        let request = try Ness().httpRequest(withUrl: "https://mock.test/x")
            .set(headers: HTTPHeaders(fields)).add(headerValue: "3", forKey: "x-a").set(urlParameters: URLQuery(parameters)).build()
        #expect(request.headers.map(\.value) == ["1", "2", "3"])
        #expect(request.headers.values(for: "X-a") == ["1", "3"])
        #expect(request.url.query == "a=1&b=2")
    }

    @Test("parameters are sent in the query or in a form, by choice; bytes and JSON go with a query")
    func parameters() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let parameters: URLQuery = ["a": 1, "b": "x y"]
        let post = rig.ness.httpRequest(.post, withUrl: "x")
        let builders = [
            rig.ness.httpRequest(.delete, withUrl: "x").set(urlParameters: parameters), post.set(form: parameters),
            post.set(urlParameters: parameters).set(body: Data("raw".utf8)), post.set(urlParameters: parameters).set(jsonBody: ["c": 2]),
            post.set(body: HTTPBody(Data("<a/>".utf8), headers: ["Content-Type": "text/xml"])),
        ]
        for builder in builders { _ = try await builder.dataRequest().value }
        let seen = rig.mock.received.map { "\($0.target) \($0.headers["content-type"] ?? "-") \($0.bodyText)" }
        #expect(
            seen == [
                "/x?a=1&b=x%20y - ", "/x application/x-www-form-urlencoded a=1&b=x%20y", "/x?a=1&b=x%20y - raw",
                "/x?a=1&b=x%20y application/json {\"c\":2}", "/x text/xml <a/>",
            ])
    }

    @Test(
        "query and form are encoded alike: only unreserved characters stay; a parameter without a value is sent as its name only")
    func encoding() async throws {
        let parameters = URLQuery([.init(name: "a b+;!@&=?%/~*", value: "ü -._~"), .init(name: "flag", value: nil)])
        let text = "a%20b%2B%3B%21%40%26%3D%3F%25%2F~%2A=%C3%BC%20-._~&flag"
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let post = rig.ness.httpRequest(.post, withUrl: "x")
        _ = try await post.set(urlParameters: parameters).dataRequest().value
        _ = try await post.set(form: parameters).dataRequest().value
        _ = try await post.set(form: [:]).dataRequest().value
        #expect(rig.mock.received.map(\.target) == ["/x?\(text)", "/x", "/x"])
        #expect(rig.mock.received.map(\.bodyText) == ["", text, ""])
        let type = "application/x-www-form-urlencoded"
        #expect(rig.mock.received.map { $0.headers["content-type"] } == [nil, type, type])
    }

    @Test("the same fields are the query of a GET and the form of other methods; an explicit header field wins")
    func queryOrForm() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), fields: URLQuery = ["a": "1 2", "b": true]
        let post = rig.ness.httpRequest(.post, withUrl: "x").set(form: fields)
        _ = try await rig.ness.httpRequest(.get, withUrl: "x").set(urlParameters: fields).dataRequest().value
        _ = try await post.dataRequest().value
        _ = try await post.set(headers: ["content-type": "application/x-own"]).dataRequest().value
        let received = rig.mock.received, text = "a=1%202&b=true"
        #expect(received.map(\.target) == ["/x?\(text)", "/x", "/x"])
        #expect(received.map(\.bodyText) == ["", text, text])
        #expect(received.map { $0.headers["Content-Type"] } == [nil, "application/x-www-form-urlencoded", "application/x-own"])
    }

    @Test("parameters may be nil, booleans and numbers, and keep their order")
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

    static let targets: [(url: String, target: String)] = [
        ("echo", "/echo?a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?", "/echo?a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?x=1", "/echo?x=1&a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?x=1&", "/echo?x=1&a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo#part", "/echo?a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
        ("echo?x=%2B+#part?y", "/echo?x=%2B+&a=b%26%3D%2B%23&c=d%20%C3%A9&a=2"),
    ]

    @Test(
        "parameters arrive in order after an existing query, escaped, and before a fragment",
        arguments: targets)
    func parametersAfterAQuery(url: String, target: String) async throws {
        try await withServer { server, ness in
            let parameters: URLQuery = ["a": "b&=+#", "c": "d é", "a": 2]
            _ = try await ness.httpRequest(withUrl: url).set(urlParameters: parameters).dataRequest().value
            #expect(server.requests.map(\.target) == [target])
            #expect(server.requests.first?.queryItems.suffix(3).map(\.value) == ["b&=+#", "d é", "2"])
        }
    }
}
