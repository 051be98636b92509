import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests requests that no route of a mock matches.
@Suite(.inTurn) struct MockTransportUnmatchedTests {
    @Test("an unmatched request fails with an error that reaches the caller unchanged, and is recorded")
    func fails() async throws {
        let mock = MockTransport()
        mock.on(.get, "/users/:id") { _ in .text("user") }
        mock.on(.post, "https://other.test/x?token=hidden") { _ in .text("other") }
        let ness = mocked(mock)
        let error = await #expect(throws: UnmatchedRequest.self) {
            _ = try await ness.httpRequest(.delete, withUrl: "https://me:hidden@mock.test/users?q=1&token=hidden").dataRequest().value
        }
        let description = try #require(error?.description)
        #expect(description.contains("DELETE https://<redacted>@mock.test/users?q=1&token=<redacted>"))
        #expect(description.contains("nearest: GET /users/:id (the method is DELETE, not GET; the path has 1 segment, not 2)"))
        #expect(description.contains("others: POST https://other.test/x?token=<redacted>"))
        #expect(error?.routes == ["POST https://other.test/x?token=<redacted>", "GET /users/:id"])
        for text in [description, "\(error as Any)", error.debugDescription, error?.localizedDescription ?? "hidden"] {
            #expect(!text.contains("hidden"))
        }
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("hidden"))
        #expect(mock.unmatchedRequests.map(\.request.method) == [.delete])
        #expect(mock.requests.map(\.method) == [.delete])
        _ = try await ness.httpRequest(withUrl: "users/1").dataRequest().value
        #expect(mock.unmatchedRequests.count == 1 && mock.requests.count == 2)
    }

    @Test("the error of a mock without routes states that it has none")
    func noRoutes() async throws {
        let error = await #expect(throws: UnmatchedRequest.self) {
            _ = try await mocked(MockTransport()).httpRequest(withUrl: "x").dataRequest().value
        }
        #expect(error?.description == "GET https://mock.test/x: no route of the mock matches; it has no routes")
    }

    @Test("the error hides the values of the manager's secret names")
    func ownSecrets() async throws {
        let mock = MockTransport()
        mock.on(.get, "/y?pin=9876") { _ in .text("") }
        let ness = mocked(mock) { $0.secretNames = ["pin"] }
        let error = await #expect(throws: UnmatchedRequest.self) {
            _ = try await ness.httpRequest(withUrl: "x?pin=9876").dataRequest().value
        }
        #expect(error?.description.contains("9876") == false)
    }

    @Test("an unmatched request can get a reply instead")
    func replies() async throws {
        let mock = MockTransport(onUnmatched: .reply(.status(404)))
        mock.on(.get, "/x") { _ in .text("x") }
        let ness = mocked(mock)
        #expect(try await ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "x")
        #expect(try await ness.httpRequest(withUrl: "y").dataRequest().value.message.statusCode == 404)
        #expect(mock.unmatchedRequests.map(\.request.url.path) == ["/y"])
    }

    @Test("an unmatched request can be forwarded to another transport, with its body")
    func forwards() async throws {
        let other = MockTransport()
        other.on(.post, "/y") { request in .text("other \(request.bodyText)") }
        let mock = MockTransport(onUnmatched: .forward(to: other))
        mock.on(.post, "/x") { _ in .text("x") }
        let body = HTTPBody(Data("hello".utf8))
        #expect(try await mock.events(.post, "https://a/x", body: body).pieces == ["x"])
        let events = try await mock.events(.post, "https://a/y", body: body)
        #expect(events.pieces == ["other hello"] && events.sent == [5])
        await #expect(throws: UnmatchedRequest.self) { _ = try await mock.events(.get, "https://a/z") }
        #expect(mock.unmatchedRequests.count == 2 && other.unmatchedRequests.count == 1)
        #expect(mock.requests.count == 3 && other.requests.count == 2)
    }
}
