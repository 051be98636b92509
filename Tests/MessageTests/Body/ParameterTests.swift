import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Parameters in the query and in forms.
@Suite(.inTurn) struct ParameterTests {
    @Test(
        "header fields and parameters are added to earlier ones and replace those of the same name, unless the caller chooses otherwise")
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
        #expect(try result(nil) == ["old", "new", "new", "a=old&b=new&c=new"])
        #expect(try result(.overwriteAll) == ["-", "new", "new", "b=new&c=new"])
        #expect(try result(.appendAndOverwriteSameKey) == ["old", "new", "new", "a=old&b=new&c=new"])
        #expect(try result(.appendAndKeepPreviousValue) == ["old", "old", "new", "a=old&b=old&c=new"])
    }

    @Test(
        "dictionaries serve as header fields and parameters; field names ignore case, and keep order and several values")
    func maps() throws {
        let fields = ["X-B": "2", "X-A": "1"], parameters = ["b": "2", "a": "1"]
        let request = try Ness().httpRequest(withUrl: "https://mock.test/x")
            .set(headers: HTTPHeaders(fields)).add(headerValue: "3", forKey: "x-a").set(urlParameters: URLQuery(parameters))
            .add(urlParameterValue: String?.none, forKey: "n").add(urlParameterValue: 1.5, forKey: "d").build()
        #expect(request.headers.map(\.value) == ["1", "2", "3"])
        #expect(request.headers.values(for: "X-a") == ["1", "3"])
        #expect(request.url.query == "a=1&b=2&d=1.5")
    }

    @Test("parameters are sent in the query or in a form, by choice; bytes and JSON go with a query; an explicit header field wins")
    func parameters() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let parameters: URLQuery = ["a": 1, "b": "x y"]
        let post = rig.ness.httpRequest(.post, withUrl: "x")
        let builders = [
            rig.ness.httpRequest(.delete, withUrl: "x").set(urlParameters: parameters), post.set(form: parameters),
            post.set(urlParameters: parameters).set(body: Data("raw".utf8)), post.set(urlParameters: parameters).set(jsonBody: ["c": 2]),
            post.set(body: HTTPBody(Data("<a/>".utf8), headers: ["Content-Type": "text/xml"])),
            post.set(form: parameters).set(headers: ["content-type": "application/x-own"]),
        ]
        for builder in builders { _ = try await builder.dataRequest().value }
        let seen = rig.mock.received.map { "\($0.target) \($0.headers["content-type"] ?? "-") \($0.bodyText)" }
        #expect(
            seen == [
                "/x?a=1&b=x%20y - ", "/x application/x-www-form-urlencoded a=1&b=x%20y", "/x?a=1&b=x%20y - raw",
                "/x?a=1&b=x%20y application/json {\"c\":2}", "/x text/xml <a/>",
                "/x application/x-own a=1&b=x%20y",
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
}
