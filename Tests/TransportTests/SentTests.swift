import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The request on the wire is the one that a loader before the timers has seen, and a loader that signs has seen its path.
@Suite(.inTurn) struct SentTests {
    private static let paths = [
        ("/x/../y", "/y"), ("/x/./y/.", "/x/y/"), ("/a/b/..", "/a/"), ("/../../a", "/a"), ("/..", "/"), ("/a//../b", "/a/b"),
        ("/x/%2e%2E/y", "/y"), ("/a/.%2e/c", "/c"), ("/a/%2e", "/a/"), ("/x/../y?p=/a/../b", "/y?p=/a/../b"),
        ("/a/../%2F%2e%2e", "/%2F%2e%2e"),
        ("/..a/.../b..", "/..a/.../b.."), ("/a/..;x/b", "/a/..;x/b"), ("//a//b/", "//a//b/"), ("/%7Euser/%c3%a4", "/%7Euser/%c3%a4"),
        ("/p?", "/p?"),
    ]

    @Test("dot segments are removed before loaders see a path, which is sent as they saw it", arguments: paths)
    func path(_ given: String, _ expected: String) async throws {
        let seen = Log<String>()
        try await serving({ _ in .text("") }) { server in
            let ness = Ness { configuration in
                let base = server.url.absoluteString
                for place in [LoaderPlace.attempt, .authenticated, .exchange] {
                    configuration.insert(.modifyRequest { seen.add(String($0.url.absoluteString.dropFirst(base.count))) }, at: place)
                }
            }
            _ = try await ness.httpRequest(withUrl: server.at(given)).dataRequest().value
            #expect(server.requests.map(\.target) == [expected])
            #expect(seen.entries == [expected, expected, expected])
        }
    }

    @Test("dot segments are also resolved with a base URL, after a delegate's or a loader's change, and in a redirect")
    func pathFromElsewhere() async throws {
        let seen = Log<String>()
        try await serving({ request in
            request.path == "/v1/start" ? .status(302, headers: ["Location": "\(request.url)/../../v2/./end"]) : .text("")
        }) { server in
            let ness = Ness { configuration in
                configuration.baseURL = server.url.appending(path: "v1")
                configuration.insert(.modifyRequest { seen.add($0.url.path) }, at: .attempt)
                configuration.insert(.modifyRequest { seen.add($0.url.path) }, at: .exchange)
                configuration.insert(
                    .modifyRequest { request in
                        if request.url.path == "/v1/c", let changed = URL(string: "../d", relativeTo: request.url) {
                            request.url = URL(string: "\(changed.absoluteURL)/x/..") ?? request.url
                        }
                    }, at: .authenticated)
            }
            for path in ["a/../b", "c", "start"] { _ = try await ness.httpRequest(withUrl: path).dataRequest().value }
            #expect(server.requests.map(\.target) == ["/v1/b", "/d/", "/v1/start", "/v2/end"])
            #expect(seen.entries == ["/v1/b", "/v1/b", "/v1/c", "/d", "/v1/start", "/v1/start", "/v2/end"])
        }
    }

    // MARK: header fields

    @Test("a request without User-Agent is sent with the program's name, and no more of the system than its name")
    func userAgent() async throws {
        try await serving({ _ in .text("") }) { server in
            _ = try await Ness().get(server.url).response()
            let sent = try #require(server.requests.first?.headers["User-Agent"])
            #expect(sent == HTTPHeaders.defaultUserAgent)
            #expect(sent.wholeMatch(of: /[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)? \([A-Za-z]+\)/) != nil, "\(sent)")
        }
    }

    @Test("a user and a password in a URL are not sent, except by URLSession on Linux") func userInURL() async throws {
        try await serving({ _ in .text("") }) { server in
            let url = server.url.absoluteString.replacing("http://", with: "http://user:password@")
            _ = try await Ness().httpRequest(withUrl: url).dataRequest().value
            let isSent = server.requests.first?.headers["Authorization"] != nil
            #expect(server.requests.count == 1 && isSent == Engine.isURLSessionOnLinux)
        }
    }

    #if canImport(FoundationNetworking)
    @Test("a request on a separate connection announces the close", .enabled(if: Engine.isURLSessionOnLinux))
    func ownConnection() async throws {
        try await serving({ _ in .text("") }) { server in
            let ness = Ness()
            for method in [HTTPMethod.get, .post, .get, .post] {
                _ = try await ness.httpRequest(method, withUrl: server.url).dataRequest().value
            }
            #expect(server.requests.map { $0.headers["Connection"] == "close" } == [false, true, false, true])
            #expect(server.connectionCount == 3)
        }
    }
    #endif

    // MARK: what comes

    @Test("a redirect without a Location and without a body is the result")
    func emptyRedirect() async throws {
        try await serving({ _ in .status(301, headers: ["X-Region": "eu"]) }) { server in
            for method in [HTTPMethod.get, .head] {
                let response = try await Ness().httpRequest(method, withUrl: server.url).dataRequest().value.message
                #expect(response.statusCode == 301)
                #expect(response.headers["X-Region"] == "eu")
            }
        }
    }
}
