import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests patterns without a leading slash, which are relative to the manager's base URL.
@Suite(.inTurn) struct MockTransportBaseURLTests {
    /// Makes a manager with a base URL whose requests get "relative" from a pattern, or fail.
    private func answer(_ pattern: String, _ url: String, base: String? = "https://api.example.com/v1/") async throws -> String {
        let mock = MockTransport()
        mock.on(.get, pattern) { request in .text(request.pathParameters["id"] ?? "matched") }
        let ness = Ness {
            $0.transport = mock; $0.baseURL = base.flatMap { URL(string: $0) }
        }
        do {
            return try await ness.get(url).response().text
        } catch is UnmatchedRequest {
            return "unmatched"
        }
    }

    @Test(
        "a pattern without a leading slash matches the request that the same string makes under the base URL",
        arguments: [
            "https://api.example.com/v1/", "https://api.example.com/v1", "https://api.example.com", "https://api.example.com/a/b%20c/v1/",
            "https://api.example.com:8443/v1", "http://127.0.0.1/v1?unused=1#part", "https://api.example.com/a/../v1", "https://[::1]/v1/",
        ])
    func sameText(base: String) async throws {
        for text in ["users/1", "users//1/", "users/J%C3%BCrgen", "?q=1"] {
            #expect(try await answer(text, text, base: base) == "matched", "\(text)")
        }
        #expect(try await answer("users/:id", "users/7", base: base) == "7")
        #expect(try await answer("*", "users/7", base: base) == "matched")
    }

    @Test("it matches neither another origin nor a path outside the base URL")
    func outside() async throws {
        #expect(try await answer("users/1", "https://api.example.com/v1/users/1") == "matched")
        #expect(try await answer("users/1", "HTTPS://API.example.com:443/v1/users/1") == "matched")
        for url in [
            "/users/1", "users/1/2", "users", "https://api.example.com/users/1", "https://api.example.com/v1/v1/users/1",
            "https://api.example.com/v2/users/1", "https://api.example.com/V1/users/1", "http://api.example.com/v1/users/1",
            "https://api.example.com:8443/v1/users/1", "https://other.test/v1/users/1",
        ] {
            #expect(try await answer("users/1", url) == "unmatched", "\(url)")
        }
        #expect(try await answer("*", "/users") == "unmatched")
        #expect(try await answer("*", "/v1") == "matched")
        #expect(try await answer("", "/v1") == "matched")
        #expect(try await answer("", "users") == "unmatched")
        #expect(try await answer("v1/users/1", "users/1") == "unmatched")
    }

    @Test("a pattern with a leading slash starts at the root of any host, regardless of the base URL")
    func leadingSlash() async throws {
        #expect(try await answer("/v1/users/1", "users/1") == "matched")
        #expect(try await answer("/users/1", "users/1") == "unmatched")
        #expect(try await answer("/users/1", "/users/1") == "matched")
        #expect(try await answer("/v1/users/1", "https://other.test/v1/users/1") == "matched")
    }

    @Test("without a base URL the pattern starts at the root of any host")
    func noBaseURL() async throws {
        #expect(try await answer("users/1", "https://any.test/users/1", base: nil) == "matched")
        #expect(try await answer("users/1", "https://any.test/v1/users/1", base: nil) == "unmatched")
        let mock = MockTransport()
        mock.on(.get, "users/1") { _ in .text("direct") }
        #expect(try await mock.answer("https://any.test/users/1") == "direct")
    }

    @Test("the base URL is that of the request's environment, even after a redirect")
    func environments() async throws {
        let mock = MockTransport()
        mock.on(.get, "users/1") { _ in .text("user") }
        mock.on(.get, "old/1", replies: [.status(302, headers: ["Location": "/v1/users/1"])])
        mock.on(.get, "away", replies: [.status(302, headers: ["Location": "https://other.test/v1/users/1"])])
        let ness = mocked(mock) { $0.baseURL = URL(string: "https://one.test/v1") }
        #expect(try await ness.get("old/1").response().text == "user")
        await #expect(throws: UnmatchedRequest.self) { _ = try await ness.get("away").dataRequest().value }
        let one = ness.get("users/1")
        ness.environment = ServerEnvironment(baseURL: URL(string: "https://two.test/v2"))
        #expect(try await one.response().text == "user")
        #expect(mock.requests.last?.url.absoluteString == "https://two.test/v2/users/1")
        await #expect(throws: UnmatchedRequest.self) { _ = try await ness.get("https://one.test/v1/users/1").dataRequest().value }
    }
}
