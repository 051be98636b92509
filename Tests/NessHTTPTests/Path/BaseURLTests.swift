import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct BaseURLTests {
    static let cases: [(base: String, relative: String, target: String)] = [
        ("", "users", "/users"),
        ("/", "users", "/users"),
        ("/v1", "users", "/v1/users"),
        ("/v1/", "users", "/v1/users"),
        ("/v1", "users/", "/v1/users/"),
        ("/v1/", "/users", "/users"),
        ("/v1/", "../users", "/users"),
        ("/v1/api", "../users", "/v1/users"),
        ("/v1/", "../../../users", "/users"),
        ("/v1/", "./users", "/v1/users"),
        ("/v1/", "a/../b", "/v1/b"),
        ("/v1/", "?x=1", "/v1/?x=1"),
        ("/v1?key=k", "users", "/v1/users?key=k"),
        ("/v1/?key=k#top", "users?x=1#part", "/v1/users?key=k&x=1"),
        ("/v1#top", "users", "/v1/users"),
        ("/v1?a=%26&b", "a/../users?", "/v1/users?a=%26&b"),
        ("/a/../v1?key=k", "./", "/v1/?key=k"),
        ("?key=k", "/users", "/users?key=k"),
        // Outside of the base URL.
        ("/v1?key=k", "/users", "/users"),
        ("/v1?key=k", "../users", "/users"),
        ("/v1/", "documents:analyze", "/v1/documents:analyze"),
        ("/v1", "documents:analyze/a?b=c:d", "/v1/documents:analyze/a?b=c:d"),
        ("/v1", "a.b+c-1:80/x", "/v1/a.b+c-1:80/x"),
        ("/v1", "mailto:a@b.example", "/v1/mailto:a@b.example"),
        ("/v%2F1/", "a%20b", "/v%2F1/a%20b"),
        ("/v1/", "a b/ü", "/v1/a%20b/%C3%BC"),
        ("/v1/", "users?redirect=http://other/", "/v1/users?redirect=http://other/"),
    ]

    @Test("a relative URL is resolved against the base, taken as a folder", arguments: cases)
    func resolves(base: String, relative: String, target: String) async throws {
        let server = try await TestServer.start { _ in .text("ok") }
        let ness = Ness { $0.baseURL = URL(string: "\(server.url)\(base)") }
        let result = try await ness.httpRequest(withUrl: relative).dataRequest().value
        #expect(server.requests.map(\.target) == [target])
        #expect(result.message.request.url.absoluteString == "\(server.url)\(target)")
        // The fragment of the base has no effect.
        #expect(result.message.url.fragment != "top")
        await server.stop()
    }

    @Test("a URL with a scheme and two slashes, or with the scheme http or https, is never resolved against the base")
    func schemes() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        for text in ["ftp://other.test/x", "documents://analyze", "https:users", "HTTP:x", "file:///x"] {
            #expect(await rig.ness.get(text).dataRequest().nessError()?.kind == .invalidRequest, "\(text)")
        }
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a mock's pattern with a colon in its first segment matches the same text")
    func pattern() async throws {
        let rig = Rig()
        rig.mock.on(.post, "documents:analyze") { _ in .text("found") }
        #expect(try await rig.ness.post("documents:analyze").text() == "found")
    }

    @Test("the query of the base URL reaches neither another host nor an absolute URL")
    func queryElsewhere() async throws {
        try await withServer(configure: { $0.baseURL = URL(string: "http://base.invalid/?key=s3cret") }) { server, ness in
            _ = try await ness.get("//127.0.0.1:\(server.port)/x").response()
            _ = try await ness.get("\(server.url)/y").response()
            #expect(server.requests.map(\.target) == ["/x", "/y"])
        }
    }

    @Test("the query of the base URL is that of the environment in which the request starts, and parameters follow it")
    func queryOfEnvironment() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let request = rig.ness.get("users").set(urlParameters: ["page": 2])
        for version in ["1", "2"] {
            rig.ness.environment.baseURL = URL(string: "https://mock.test/?api-version=\(version)")
            _ = try await request.response()
        }
        #expect(rig.mock.requests.map { $0.url.query } == ["api-version=1&page=2", "api-version=2&page=2"])
        #expect(!"\(rig.ness.get("users").set(urlParameters: ["token": "s3cret"]))".contains("s3cret"))
    }

    @Test("an absolute URL does not need the base")
    func absolute() async throws {
        try await withServer(configure: { $0.baseURL = URL(string: "http://base.invalid/v1/") }) { server, ness in
            let url = server.url.appending(path: "direct")
            _ = try await ness.httpRequest(withUrl: url).dataRequest().value
            _ = try await ness.httpRequest(withUrl: url.absoluteString).dataRequest().value
            #expect(server.requests.map(\.target) == ["/direct", "/direct"])
        }
    }

    @Test("a URL that has its own base keeps that base")
    func ownBase() async throws {
        try await withServer(configure: { $0.baseURL = URL(string: "http://base.invalid/v1/") }) { server, ness in
            let relative = try #require(URL(string: "leaf", relativeTo: server.url.appending(path: "folder/")))
            _ = try await ness.httpRequest(withUrl: relative).dataRequest().value
            #expect(server.requests.map(\.target) == ["/folder/leaf"])
        }
    }

    @Test("a network-path reference goes to its own host")
    func networkPath() async throws {
        try await withServer(configure: { $0.baseURL = URL(string: "http://base.invalid/v1/") }) { server, ness in
            _ = try await ness.httpRequest(withUrl: "//127.0.0.1:\(server.port)/x").dataRequest().value
            #expect(server.requests.map(\.target) == ["/x"])
        }
    }

    private func log(base: String, _ paths: [String], _ configure: (inout Ness.Configuration) -> Void = { _ in }) async throws -> [String] {
        let log = Log<String>()
        let base = try url("https://mock.test\(base)")
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = base
            $0.authentication = BearerAuthentication(token: "t")
            $0.observers = [RequestLogger { log.add($0) }]
            configure(&$0)
        }
        for path in paths { _ = try await rig.ness.get(path).dataRequest().value }
        for request in rig.mock.requests {
            #expect((request.headers["Authorization"] != nil) == request.url.path.hasPrefix("/v1"), "\(request)")
        }
        return log.entries.filter { $0.contains("warning") }
    }

    @Test("the log says once for each manager that a leading slash leaves the base URL, and with it the credential")
    func warning() async throws {
        for _ in 0..<2 {
            let warnings = try await log(base: "/v1/?key=s3cret", ["users", "/users?token=s3cret", "/users", "/other"])
            #expect(
                warnings == [
                    "GET https://mock.test/users?token=<redacted>: warning: the path has a leading slash, so the URL is outside the base URL "
                        + "https://mock.test/v1/?key=<redacted>, to which the manager's credential belongs; without the slash it is inside "
                        + "(reported once)"
                ])
        }
        #expect(try await log(base: "/v1", ["/users"]).count == 1)
    }

    @Test(
        "there is no warning for a URL inside the base, another host and a base without a path",
        arguments: [
            ("/v1", "users"), ("/v1", "/v1/users"), ("/v1", "/v1"), ("/v1", "//mock.test/users"), ("/v1", "https://mock.test/users"),
        ])
    func noWarning(base: String, path: String) async throws {
        #expect(try await log(base: base, [path]).isEmpty)
    }

    @Test("a base without a path contains every path, so that a leading slash makes no difference", arguments: ["", "/"])
    func noPath(base: String) async throws {
        let log = Log<String>(), base = try url("https://mock.test\(base)")
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = base
            $0.authentication = BearerAuthentication(token: "t")
            $0.observers = [RequestLogger { log.add($0) }]
        }
        _ = try await rig.ness.get("/users").dataRequest().value
        #expect(rig.mock.requests.first?.headers["Authorization"] == "Bearer t")
        #expect(!log.entries.contains { $0.contains("warning") } && log.entries.count == 1)
    }

    /// Notes the calls that an observer gets.
    private struct Notes: RequestObserver {
        let log: Log<String>
        func requestDidStart(_ request: HTTPRequest) { log.add("start") }
        func requestDidWarn(_ warning: String, about request: HTTPRequest) { log.add("warn \(request.url.path)") }
        func requestWillSend(_ request: HTTPRequest) { log.add("send") }
    }

    @Test("an observer added later receives the events of the next such request, between its start and its first attempt")
    func observed() async throws {
        let notes = Notes(log: Log<String>())
        let rig = Rig(onUnmatched: .reply(.status(503))) { $0.retryControl = CounterRetryControl(maxRetryCount: 1) }
        rig.ness.environment = ServerEnvironment(baseURL: try url("https://mock.test/v1"))
        _ = try await rig.ness.get("/a").dataRequest().value
        rig.ness.observers = [notes]
        for path in ["/b", "/c"] { _ = try await rig.ness.get(path).dataRequest().value }
        #expect(notes.log.entries == ["start", "warn /b", "send", "send", "start", "send", "send"])
    }

    @Test("a relative URL without a base is rejected", arguments: ["users", "/users", "../users", "?x=1", "//host/x"])
    func noBase(text: String) async {
        let error = await Ness().httpRequest(withUrl: text).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error?.context.reason.contains("base URL") == true)
    }

    @Test("the base itself is the path \".\"; an empty string is not a URL")
    func base() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        rig.ness.environment = ServerEnvironment(baseURL: try url("https://mock.test/v1"))
        _ = try await rig.ness.httpRequest(withUrl: ".").dataRequest().value
        #expect(rig.mock.requests.map(\.url.absoluteString) == ["https://mock.test/v1/"])
        #expect(await rig.ness.httpRequest(withUrl: "").dataRequest().nessError()?.kind == .invalidRequest)
        rig.ness.environment = ServerEnvironment(baseURL: try url("no/scheme"))
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
    }
}
