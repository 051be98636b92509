import Foundation
import TestSupport
import Testing

@testable import NessHTTP

@Suite(.inTurn(.withoutSockets)) struct LinkFieldTests {
    private func next(_ values: [String], url text: String = "https://a.test/v1/list?page=1") throws -> String? {
        let request = HTTPRequest(url: try url(text))
        var headers = HTTPHeaders()
        for value in values { headers.add(value, for: "link") }
        return HTTPResponse(statusCode: 200, headers: headers, request: request).linkURL(relation: "next")?.absoluteString
    }

    @Test(
        "the target of a link is found in every form that RFC 8288 allows, and resolved against the URL of the response",
        arguments: [
            (["<https://a.test/2>; rel=\"next\""], "https://a.test/2"), (["<https://a.test/2>;rel=next"], "https://a.test/2"),
            (["<?page=2>; rel=next"], "https://a.test/v1/list?page=2"), (["<../2>; rel=next"], "https://a.test/2"),
            (["<//b.test/2>; rel=next"], "https://b.test/2"), (["< /2 > ; REL = \"Next\""], "https://a.test/2"),
            (["</1>; rel=prev, </2>; rel=next, </9>; rel=last"], "https://a.test/2"),
            (["</1>; rel=prev", "</2>; rel=next"], "https://a.test/2"),
            (["</2>; rel=\"last NEXT\""], "https://a.test/2"), (["</2>; title=\"a, b; rel=prev\"; rel=next"], "https://a.test/2"),
            (["</2>; title=\"a \\\" , <x>; rel=next\"; rel=next"], "https://a.test/2"),
            (["</a,b;c\"d>; rel=next"], "https://a.test/a,b;c%22d"), (["</2>; rel=next; rel=prev"], "https://a.test/2"),
            (["</2>; crossorigin; rel=next"], "https://a.test/2"), (["broken; rel=next, </2>; rel=next"], "https://a.test/2"),
            ([",, , </2>; rel=next,"], "https://a.test/2"), (["</2>; rel=next; anchor=\"\""], "https://a.test/2"),
            (["</2>; rel=next; anchor=\"?page=1\""], "https://a.test/2"),
            (["</1>; rel=next; anchor=\"/other\", </2>; rel=next"], "https://a.test/2"),
        ])
    func found(values: [String], target: String) throws {
        #expect(try next(values) == target)
    }

    @Test(
        "a field without a next link, or with a malformed one, gives no link",
        arguments: [
            "", "<", "<>", "</2>", "</2; rel=next", "</2>; rel=prev", "</2>; rel=prev; rel=next", "</2>; rev=next",
            "</2>; rel=\"nextpage\"",
            "</2> rel=next", "</2>, rel=next", "rel=next", "</2>; rel=\"", ";;;,,,<<>>", "</2>; rel=next; anchor=\"https://b.test/\"",
        ])
    func missing(value: String) throws {
        #expect(try next([value]) == nil)
    }

    @Test("a long field with many quotes is read in one pass") func long() throws {
        let many = Array(repeating: "</x>; rel=\"a b c\"; title=\"<, ; \\\" \"", count: 2_000).joined(separator: ",")
        #expect(try next([many + ", </2>; rel=next"]) == "https://a.test/2")
    }
}
