import Foundation
import NessHTTP
import NessTesting
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
        ("/v1?key=k", "users", "/v1/users"),
        ("/v1?key=k#top", "users?x=1#part", "/v1/users?x=1"),
        ("/v%2F1/", "a%20b", "/v%2F1/a%20b"),
        ("/v1/", "a b/ü", "/v1/a%20b/%C3%BC"),
        ("/v1/", "users?redirect=http://other/", "/v1/users?redirect=http://other/"),
    ]

    @Test("a relative URL is resolved against the base, taken as a folder", .covers("PMH-10", "PMH-11"), arguments: cases)
    func resolves(base: String, relative: String, target: String) async throws {
        let server = try await TestServer.start { _ in .text("ok") }
        let ness = Ness { $0.baseURL = URL(string: "\(server.url)\(base)") }
        let result = try await ness.httpRequest(withUrl: relative).dataRequest().value
        #expect(server.requests.map(\.target) == [target])
        #expect(result.message.url.absoluteString == "\(server.url)\(target)")
        await server.stop()
    }

    @Test("parameters follow the query that the relative URL has")
    func parameters() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "users?a=1#part").set(urlParameters: ["b": 2]).dataRequest().value
            #expect(server.requests.map(\.target) == ["/users?a=1&b=2"])
        }
    }

    @Test("an absolute URL does not need the base", .covers("PMH-11"))
    func absolute() async throws {
        try await withServer(configure: { $0.baseURL = URL(string: "http://base.invalid/v1/") }) { server, ness in
            let url = server.url.appending(path: "direct")
            _ = try await ness.httpRequest(withUrl: url).dataRequest().value
            _ = try await ness.httpRequest(withUrl: url.absoluteString).dataRequest().value
            #expect(server.requests.map(\.target) == ["/direct", "/direct"])
        }
    }

    @Test("a URL with its own base keeps that base")
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

    @Test("a relative URL without a base is refused", arguments: ["users", "/users", "../users", "?x=1", "//host/x"])
    func noBase(text: String) async {
        let error = await Ness().httpRequest(withUrl: text).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error?.context.reason.contains("base URL") == true)
    }

    @Test("the base itself is the path \".\"; an empty text is no URL", .covers("PMH-11"))
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
