import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests the choice of a mock's route, and its path parameters.
@Suite(.inTurn) struct MockTransportRouteTests {
    /// Returns the text that a pattern's placeholders match in a URL, as sorted `name=value`; `nil` if the pattern does not match.
    private func match(_ pattern: String, _ url: String) async throws -> String? {
        let mock = MockTransport()
        mock.on(.get, pattern) { request in
            .text(request.pathParameters.map { "\($0)=\($1)" }.sorted().joined(separator: " ") + ".")
        }
        let answer = try await mock.answer(url)
        return answer == "unmatched" ? nil : String(answer.dropLast())
    }

    @Test("a placeholder matches one whole segment, decoded")
    func parameter() async throws {
        #expect(try await match("/users/:id", "https://a/users/7") == "id=7")
        #expect(try await match("/users/:id", "https://a/users/J%C3%BCrgen%20%2B%25?id=8#id") == "id=Jürgen +%")
        #expect(try await match("/users/:id/x/:other", "https://a/users/1/x/2") == "id=1 other=2")
        #expect(try await match("/users/:id", "https://a/users") == nil)
        #expect(try await match("/users/:id", "https://a/users/") == nil)
        #expect(try await match("/users/:id", "https://a/users/1/2") == nil)
        #expect(try await match("/users/:id", "https://a/other/1") == nil)
    }

    @Test("an encoded slash separates no segments", arguments: ["%2F", "%2f"])
    func encodedSlash(slash: String) async throws {
        #expect(try await match("/users/:id", "https://a/users/a\(slash)b") == "id=a/b")
        #expect(try await match("/users/:id/:other", "https://a/users/a\(slash)b") == nil)
        #expect(try await match("/users/a/b", "https://a/users/a\(slash)b") == nil)
        #expect(try await match("/users/a%2Fb", "https://a/users/a\(slash)b") == "")
        #expect(try await match("/users/a%2Fb", "https://a/users/a%252Fb") == nil)
        #expect(try await match("/files/*path", "https://a/files/a\(slash)b/c") == "path=a/b/c")
    }

    @Test("bytes that are not UTF-8 stay percent-encoded")
    func badEncoding() async throws { #expect(try await match("/:id", "https://a/%FF%41") == "id=%FF%41") }

    @Test("a star matches all remaining segments")
    func rest() async throws {
        #expect(try await match("/x/*rest", "https://a/x/a%20b/c") == "rest=a b/c")
        #expect(try await match("/x/*rest", "https://a/x") == "rest=")
        #expect(try await match("/:id/*rest", "https://a/x/y/z") == "id=x rest=y/z")
        #expect(try await match("*", "https://a/x/y") == "")
        #expect(try await match("/x/*rest", "https://a/y/x") == nil)
    }

    @Test("segments are compared decoded, and empty ones do not count")
    func literals() async throws {
        #expect(try await match("/a b/ü", "https://a/%61%20b/%C3%BC") == "")
        #expect(try await match("/", "https://a") == "")
        #expect(try await match("", "https://a/") == "")
        #expect(try await match("x/y", "https://a//x/y/") == "")
        #expect(try await match("/x", "https://a/X") == nil)
        #expect(try await match("/:", "https://a/:") == "")
        #expect(try await match("/:", "https://a/x") == nil)
        #expect(try await match("/%3Aid/%2A", "https://a/:id/*") == "")
        #expect(try await match("/%3Aid", "https://a/x") == nil)
    }

    @Test("a pattern with a host matches only requests to that origin")
    func host() async throws {
        #expect(try await match("https://other.test/x/*rest", "https://Other.Test:443/x/1/2") == "rest=1/2")
        #expect(try await match("HTTPS://OTHER.test:443/x", "https://other.test/x") == "")
        #expect(try await match("https://other.test", "https://other.test/") == "")
        #expect(try await match("https://other.test/x", "https://mock.test/x") == nil)
        #expect(try await match("https://other.test/x", "http://other.test/x") == nil)
        #expect(try await match("https://other.test/x", "https://other.test:8443/x") == nil)
        #expect(try await match("http://other.test:80/x", "http://other.test/x") == "")
        #expect(try await match("//other.test/x", "http://other.test/x") == "")
        #expect(try await match("//other.test/x", "https://other.test:443/x") == "")
        #expect(try await match("//other.test/x", "https://a.test/x") == nil)
        #expect(try await match("http://[::1]:8080/:id", "http://[::1]:8080/x") == "id=x")
        #expect(try await match("http://[::1]/:id", "http://[::1]:8080/x") == nil)
    }

    @Test("a pattern with a query matches only requests that contain its pairs")
    func query() async throws {
        #expect(try await match("/s?a=1&b=x%20y#part", "https://a/s?b=x%20y&c&a=1") == "")
        #expect(try await match("/s?a=1", "https://a/s?a=2") == nil)
        #expect(try await match("/s?a=1", "https://a/s") == nil)
        #expect(try await match("/s", "https://a/s?a=1") == "")
        #expect(try await match("/:id?u=http://x", "https://a/s?u=http://x") == "id=s")
    }

    @Test("a route with a method matches only requests with that method")
    func method() async throws {
        let mock = MockTransport()
        mock.on(.post, "/x") { _ in .text("post") }
        mock.on(.custom("PURGE"), "/x") { _ in .text("purge") }
        #expect(try await mock.answer("https://a/x", .post) == "post")
        #expect(try await mock.answer("https://a/x", .custom("PURGE")) == "purge")
        #expect(try await mock.answer("https://a/x", .custom("purge")) == "unmatched")
        #expect(try await mock.answer("https://a/x") == "unmatched")
    }

    @Test("of several matching routes the newest is used, until it is removed")
    func precedence() async throws {
        let mock = MockTransport()
        mock.on(.get, "/x") { _ in .text("first") }
        let second = mock.on(.get, "/:any") { _ in .text("second") }
        let third = mock.on(.get, "/x", replies: [.text("third")])
        #expect(try await mock.answer("https://a/x") == "third")
        #expect(try await mock.answer("https://a/y") == "second")
        third.remove()
        third.remove()
        #expect(try await mock.answer("https://a/x") == "second")
        second.remove()
        #expect(try await mock.answer("https://a/x") == "first")
        mock.removeAll()
        #expect(try await mock.answer("https://a/x") == "unmatched")
        mock.on(.get, "/x") { _ in .text("again") }
        third.remove()
        #expect(try await mock.answer("https://a/x") == "again")
    }

    @Test(
        "an invalid pattern fails every request, and the error says why",
        arguments: [
            ("/a/*rest/b", "nothing can follow"), ("/:id/:id", "twice"), ("/:id/*id", "twice"), ("ftp://a/x", "http"),
            ("https:///x", "no host"), ("//", "no host"), ("https://u:secret@a/x", "password"), ("https://a:http/x", "port"),
            ("https://a:99999/x", "port"), ("../users", "never matches"), ("users/./1", "never matches"), ("/a/../b", "never matches"),
        ])
    func invalid(pattern: String, reason: String) async throws {
        let mock = MockTransport()
        mock.on(.get, "/fine") { _ in .text("fine") }
        let route = mock.on(.get, pattern) { _ in .text("never") }
        let error = await #expect(throws: MockTransportError.self) { _ = try await mock.events(.get, "https://a/fine") }
        #expect(error?.description.contains(reason) == true)
        #expect(error?.description.contains("secret") == false)
        #expect(mock.requests.count == 1)
        route.remove()
        #expect(try await mock.answer("https://a/fine") == "fine")
        mock.on(.get, "/empty", replies: [])
        await #expect(throws: MockTransportError.self) { _ = try await mock.events(.get, "https://a/fine") }
    }
}
