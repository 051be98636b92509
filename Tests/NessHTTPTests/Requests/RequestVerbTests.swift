import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The short forms: a method for each verb, one header field, a credential and a retry control of one request.
@Suite(.inTurn) struct RequestVerbTests {
    @Test("a manager has a method for each common verb, which takes a string, a URL or URL components")
    func verbs() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), address = try url("https://mock.test/b?q=1")
        let components = try #require(URLComponents(string: "c?d=e%20f"))
        let builders = [
            rig.ness.get("a"), rig.ness.get(address), rig.ness.post(components), rig.ness.put("a"), rig.ness.patch("a"),
            rig.ness.delete("a"),
        ]
        for builder in builders { _ = try await builder.dataRequest().value }
        let seen = rig.mock.requests.map { "\($0.method) \($0.url.absoluteString)" }
        let base = "https://mock.test"
        #expect(
            seen == [
                "GET \(base)/a", "GET \(base)/b?q=1", "POST \(base)/c?d=e%20f", "PUT \(base)/a", "PATCH \(base)/a", "DELETE \(base)/a",
            ])
        var relativeWithHost = URLComponents()
        (relativeWithHost.host, relativeWithHost.path) = ("mock.test", "a")
        #expect(await rig.ness.get(relativeWithHost).dataRequest().nessError()?.kind == .invalidRequest)
        #expect(await rig.ness.get("").dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test(
        "any value in a path stays one segment",
        arguments: [
            ("7", "7"), ("../admin", "..%2Fadmin"), ("%2e%2e/", "%252e%252e%2F"), ("//evil.test/x", "%2F%2Fevil.test%2Fx"),
            ("a?b#c", "a%3Fb%23c"),
            ("a b\u{E9}", "a%20b%C3%A9"), ("x:y@z", "x%3Ay%40z"), ("...", "..."), ("a\r\nX: 1", "a%0D%0AX%3A%201"), ("a\\b;c", "a%5Cb%3Bc"),
        ])
    func segments(value: String, sent: String) async throws {
        try await serving({ .text($0.target) }) { server in
            let ness = Ness {
                $0.baseURL = server.url.appending(path: "api/")
                $0.defaultHeaders = ["Authorization": "Bearer x"]
            }
            let verbs = [
                ness.get("users", value, "orders"), ness.post("users/", value, "orders"), ness.put("users", value, "orders"),
                ness.patch("users", value, "orders"), ness.delete("users", value, "orders"), ness.head("users", value, "orders"),
                ness.httpRequest(.get, withUrl: server.at("/api/users"), value, "orders"),
            ]
            for verb in verbs { _ = try await verb.text() }
            _ = try await ness.get("users?page=2", value).text()
            _ = try await ness.get("?a=1", value, 7).text()
            let targets = Array(repeating: "/api/users/\(sent)/orders", count: verbs.count)
            #expect(
                server.requests.map(\.target)
                    == targets + ["/api/users/\(sent)?page=2", "/api/\(sent)/7?a=1"])
            // Some servers decode the slash first. A path that leaves the base URL for them gets no credential.
            let inside = server.requests.filter { !$0.target.contains("..%2F") && $0.target.hasPrefix("/api/users/") }
            #expect(inside.allSatisfy { $0.headers["Authorization"] == "Bearer x" })
        }
    }

    @Test("a segment that would lead to another path is rejected before anything is sent", arguments: ["", ".", ".."])
    func refusedSegments(value: String) async {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        for builder in [rig.ness.get("users", value), rig.ness.delete("users", 1, value, "x")] {
            #expect(await builder.dataRequest().nessError()?.kind == .invalidRequest)
        }
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("QUERY is safe and idempotent, sends a body, again after a failure and a redirect, and neither changes nor uses the cache")
    func query() async throws {
        #expect(HTTPMethod.query.isSafe && HTTPMethod.query.isIdempotent && HTTPMethod.query.rawValue == "QUERY")
        let isFirst = Lock(true)
        let handler: TestServer.Handler = { request in
            if request.path == "/old" { return .status(301, headers: ["Location": "/new"]) }
            let fails = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return fails ? .status(503) : .text("found")
        }
        try await withServer(handler, configure: { $0.retryControl = CounterRetryControl(maxRetryCount: 1) }) { server, ness in
            let found = try await ness.httpRequest(.query, withUrl: "old").set(form: ["q": "cats"]).dataRequest().value
            #expect(found.message.text == "found")
            #expect(server.requests.map { "\($0.method) \($0.path) \($0.bodyText)" }.suffix(1) == ["QUERY /new q=cats"])
            #expect(server.requests.map(\.path) == ["/old", "/new", "/old", "/new"])
        }
        let rig = Rig { $0.cache = HTTPCache(memoryLimit: 1 << 20) }
        for method in [HTTPMethod.get, .query] {
            rig.mock.on(method, "/x") { _ in .text(method.rawValue, headers: ["Cache-Control": "max-age=60"]) }
        }
        _ = try await rig.ness.get("x").response()
        for _ in 0..<2 {
            let response = try await rig.ness.httpRequest(.query, withUrl: "x").set(stringBody: "q").response()
            #expect(response.text == "QUERY" && response.source != .cache)
        }
        #expect(try await rig.ness.get("x").response().source == .cache)
    }

    @Test(
        "set(headers:) adds fields and replaces those of the same name; .overwriteAll removes the others, .appendAndKeepPreviousValue keeps them"
    )
    func headers() throws {
        let builder = Ness().get("https://mock.test/x").set(headers: ["A": "1", "B": "2"]).add(headerValue: "3", forKey: "b")
        func fields(_ builder: RequestBuilder) throws -> [String] { try builder.build().headers.map { "\($0.name): \($0.value)" } }
        #expect(try fields(builder.set(headers: ["b": "new", "C": "4"])) == ["A: 1", "b: new", "C: 4"])
        #expect(try fields(builder.set(headers: [:])) == ["A: 1", "B: 2", "b: 3"])
        #expect(try fields(builder.set(.overwriteAll, headers: ["C": "4"])) == ["C: 4"])
        #expect(try fields(builder.set(.appendAndKeepPreviousValue, headers: ["a": "5", "C": "4"])) == ["C: 4", "A: 1", "B: 2", "b: 3"])
    }

    @Test("set(header:to:) replaces every value of a field, and nil gives the field back to the manager")
    func header() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.defaultHeaders = ["X-Id": "default"] }
        let builder = rig.ness.get("x").add(headerValue: "1", forKey: "X-Id").add(headerValue: "2", forKey: "x-id")
        _ = try await builder.set(header: "X-ID", to: "3").dataRequest().value
        _ = try await builder.set(header: "X-ID", to: nil).dataRequest().value
        #expect(rig.mock.requests.map { $0.headers.values(for: "X-Id") } == [["3"], ["default"]])
        #expect(await builder.set(header: "X-Id", to: "a\r\nb").dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test("one request's credential is written as .bearer or .basic, and is not shown")
    func credentials() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let builder = rig.ness.get("https://other.test/x")
        _ = try await builder.authenticate(with: .bearer("s3cret")).dataRequest().value
        _ = try await builder.authenticate(with: .basic(user: "a", password: "b")).dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer s3cret", "Basic YTpi"])
        #expect(rig.mock.requests.allSatisfy { !$0.headers.description.contains("s3cret") })
    }

    @Test("a request's own retry policy is used in place of the manager's, even for a POST, and the last one that was set counts")
    func retry() async throws {
        let rig = Rig(onUnmatched: .reply(.status(503))) { $0.retryControl = CounterRetryControl(maxRetryCount: 5) }
        func attempts(_ builder: RequestBuilder) async throws -> Int { try await attempts { builder.dataRequest() } }
        func attempts(_ send: () -> DataPromise) async throws -> Int {
            let before = rig.mock.requests.count
            _ = try await send().value
            return rig.mock.requests.count - before
        }
        let builder = rig.ness.post("x").set(retry: CounterRetryControl(maxRetryCount: 2))
        #expect(try await attempts(builder) == 3)
        #expect(try await attempts { builder.dataRequest(with: .never) } == 1)
        #expect(try await attempts(rig.ness.get("x").set(retry: .never)) == 1)
        #expect(try await attempts(rig.ness.get("x").set(retry: .never).set(retry: nil)) == 6)
        let before = rig.mock.requests.count
        _ = await rig.ness.post("x").set(retry: CounterRetryControl(maxRetryCount: 1)).dataRequest(decoding: Int.self).nessError()
        let lines = rig.ness.post("x").set(retry: CounterRetryControl(maxRetryCount: 1)).lines(decoding: Int.self)
        await #expect(throws: NessError.self) { for try await _ in lines {} }
        #expect(rig.mock.requests.count == before + 4)
    }
}
