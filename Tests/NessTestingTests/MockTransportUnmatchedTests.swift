import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests requests that no route of a mock matches: the routes that their error names, the reasons that it gives, and the other policies.
@Suite(.inTurn) struct MockTransportUnmatchedTests {
    /// Returns the error of a request that no route matches.
    private func unmatched(
        _ mock: MockTransport, _ url: String, by method: HTTPMethod = .get, secretNames: [String] = []
    ) async throws -> UnmatchedRequest {
        let ness = mocked(mock) { configuration in
            configuration.baseURL = URL(string: "https://mock.test/v1/")
            configuration.secretNames += secretNames
        }
        let error = await #expect(throws: UnmatchedRequest.self) { try await ness.httpRequest(method, withUrl: url).dataRequest().value }
        return try #require(error)
    }

    /// Returns the nearest routes to a GET of a URL, in a mock with GET routes.
    private func nearest(_ patterns: String..., to url: String) async throws -> [String] {
        let mock = MockTransport()
        for pattern in patterns { mock.on(.get, pattern) { _ in .status(200) } }
        return try await unmatched(mock, url).nearest
    }

    @Test("the description names the request, the nearest route with the reason, and the others")
    func description() async throws {
        let mock = MockTransport()
        mock.on(.post, "login") { _ in .status(200) }
        mock.on(.get, "users/:id") { _ in .status(200) }
        let error = try await unmatched(mock, "user/7?token=hidden")
        #expect(
            error.description == "GET https://mock.test/v1/user/7?token=<redacted>: no route of the mock matches; "
                + "nearest: GET users/:id (\"user\" is not \"users\"); others: POST login")
        #expect(error.routes == ["GET users/:id", "POST login"])
    }

    @Test("each kind of difference has its own reason")
    func reasons() async throws {
        #expect(try await nearest("users/1", to: "users/2") == [#"GET users/1 ("2" is not "1")"#])
        #expect(try await nearest("users/:id", to: "users") == ["GET users/:id (the path below the base URL has 1 segment, not 2)"])
        #expect(try await nearest("/v1/users/:id", to: "users") == ["GET /v1/users/:id (the path has 2 segments, not 3)"])
        #expect(try await nearest("a/b/*", to: "a") == ["GET a/b/* (the path below the base URL has 1 segment, not at least 2)"])
        #expect(
            try await nearest("/users/1", to: "users/1") == [
                "GET /users/1 (a leading slash means the root of the host; without it the route is below the base URL)"
            ])
        #expect(
            try await nearest("users/1", to: "/users/1") == ["GET users/1 (the URL is outside the base URL https://mock.test/v1/)"])
        #expect(try await nearest("//other.test/v1/users", to: "users") == ["GET //other.test/v1/users (the origin differs)"])
        #expect(try await nearest("users?page=1&size=2", to: "users?page=1") == ["GET users?page=1&size=2 (the query has no size=2)"])
    }

    @Test("a route of another method, and one whose replies are used up, are listed as near")
    func methodsAndReplies() async throws {
        let mock = MockTransport()
        mock.on(.put, "users/1") { _ in .status(200) }
        #expect(try await unmatched(mock, "users/1", by: .post).nearest == ["PUT users/1 (the method is POST, not PUT)"])
        mock.on(nil, "users/2", replies: [.status(200)], repeatsLast: false)
        _ = try await mocked(mock) { $0.baseURL = URL(string: "https://mock.test/v1/") }.get("users/2").response()
        let error = try await unmatched(mock, "users/2")
        #expect(error.nearest.first == "ANY users/2 (its replies are used up)")
        #expect(error.routes == ["ANY users/2 (used up)", "PUT users/1"])
    }

    @Test("the nearest route comes first; at most three are near, and none whose path has nothing in common")
    func order() async throws {
        let near = try await nearest("users/2/photo", "users/1", "orders/9", "userz/2/photos", to: "users/2/photos")
        #expect(near.map { $0.prefix { $0 != "(" } } == ["GET userz/2/photos ", "GET users/2/photo "])
        #expect(try await nearest("a/:id", "b/:id", "c/:id", "d/:id", to: "e/1").count == 3)
        let mock = MockTransport()
        mock.on(.get, "orders") { _ in .status(200) }
        let error = try await unmatched(mock, "users")
        #expect(error.nearest == [])
        #expect(error.description == "GET https://mock.test/v1/users: no route of the mock matches; its routes are: GET orders")
    }

    @Test("no reason shows a secret")
    func secrets() async throws {
        let mock = MockTransport()
        mock.on(.get, "users?pin=hidden&token=hidden") { _ in .status(200) }
        mock.on(.get, "users;token=hidden/x") { _ in .status(200) }
        let error = try await unmatched(mock, "users?pin=other&token=other", secretNames: ["pin"])
        let reason = "the query has no pin=<redacted>; the query has no token=<redacted>"
        #expect(error.nearest.contains { $0.contains(reason) }, "\(error.nearest)")
        for text in [error.description, "\(error.nearest)", "\(error.routes)"] {
            #expect(!text.contains("hidden") && !text.contains("=other"))
        }
        let other = try await unmatched(mock, "user;token=hidden/x")
        #expect(!other.nearest.isEmpty && !"\(other) \(other.nearest)".contains("hidden"))
    }

    @Test("an unmatched request fails with an error that reaches the caller unchanged, and is recorded")
    func fails() async throws {
        let mock = MockTransport()
        mock.on(.get, "/users/:id") { _ in .text("user") }
        mock.on(.post, "https://other.test/x?token=hidden") { _ in .text("other") }
        let ness = mocked(mock)
        let error = await #expect(throws: UnmatchedRequest.self) {
            _ = try await ness.delete("https://me:hidden@mock.test/users?q=1&token=hidden").dataRequest().value
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
        _ = try await ness.get("users/1").dataRequest().value
        #expect(mock.unmatchedRequests.count == 1 && mock.requests.count == 2)
    }

    @Test("the error of a mock without routes states that it has none")
    func noRoutes() async throws {
        let error = try await unmatched(MockTransport(), "x")
        #expect(error.description == "GET https://mock.test/v1/x: no route of the mock matches; it has no routes")
    }

    @Test("an unmatched request can get a reply instead")
    func replies() async throws {
        let mock = MockTransport(onUnmatched: .reply(.status(404)))
        mock.on(.get, "/x") { _ in .text("x") }
        let ness = mocked(mock)
        #expect(try await ness.get("x").response().text == "x")
        #expect(try await ness.get("y").response().statusCode == 404)
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
