import Foundation
import NessHTTP
import TestSupport
import Testing

/// The results that comments in examples state. `.ci/examples` compiles the examples and does not run them.
@Suite(.inTurn(.withoutSockets)) struct StatedResultTests {
    @Test("a header field, a query and a JSON value read as their examples say") func values() throws {
        var headers: HTTPHeaders = ["Accept": "application/json"]
        headers.add("a=1", for: "Cookie")
        #expect(headers["accept"] == "application/json")

        let cursor: String? = nil
        let query: URLQuery = ["page": 1, "q": "cute cats", "tags": ["x", "y"], "filter": ["a": "b"], "after": cursor]
        #expect(query.encoded == "page=1&q=cute%20cats&tags=x&tags=y&filter%5Ba%5D=b")

        let body: JSONValue = ["name": "Fluffles", "age": 3, "tags": ["a", 1, true, nil]]
        #expect(body["tags"]?[0]?.stringValue == "a")
        #expect(try body.encoded() == Data(#"{"age":3,"name":"Fluffles","tags":["a",1,true,null]}"#.utf8))
    }

    @Test("a value with an array, a date and an empty optional is the query that the example shows") func encodedValue() throws {
        struct Filter: Encodable {
            var tags: [String]
            var since: Date
            var cursor: String?
        }

        let filter = Filter(tags: ["a", "b"], since: Date(timeIntervalSince1970: 1_769_860_800))
        #expect(try URLQuery(encoding: filter).encoded == "since=2026-01-31T12%3A00%3A00Z&tags=a&tags=b")
    }

    @Test("a loader, a retry control and a handler of duplicates can be tested without a manager") func parts() async throws {
        struct Stamp: HTTPLoader {
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
                var request = request
                request.headers["X-Stamp"] = "1"
                return try await next(request)
            }
        }

        let request = HTTPRequest(.post, url: try url("https://mock.test/orders"))
        let next = HTTPNext { HTTPResponse(statusCode: 200, headers: $0.headers, request: $0) }
        #expect(try await Stamp().load(request, next: next).headers["X-Stamp"] == "1")

        let attempt = FailedAttempt(request: request, response: HTTPResponse(statusCode: 503, request: request))
        #expect(await CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: 5).shouldRetry(attempt) == .retryAfter(5))

        let duplicate = DuplicatedRequest(kind: .data, request: request)
        guard case .useBothCompletion = DefaultDuplicatedHandler.keepAllCompletion.decide(on: duplicate) else {
            Issue.record("a handler of duplicates decides otherwise without a manager")
            return
        }
    }
}
