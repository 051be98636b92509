import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct DelegateTests {
    /// Notes every call, and changes requests as it is told.
    private final class Watcher: NetworkSessionManagerDelegate {
        let log = Log<String>()
        let managers = Log<ObjectIdentifier>()
        let change: @Sendable (inout HTTPRequest) -> Void

        init(_ change: @escaping @Sendable (inout HTTPRequest) -> Void = { _ in }) { self.change = change }

        func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
            log.add("will \(request.method) \(request.url.path) \(request.headers["X-Default"] ?? "-")")
            managers.add(ObjectIdentifier(manager))
            var request = request
            change(&request)
            return request
        }

        func ness(_ manager: Ness, didRequest request: HTTPRequest) {
            log.add("did \(request.method) \(request.url.path)")
            managers.add(ObjectIdentifier(manager))
        }
    }

    @Test("the delegate is called once for each request, with default headers and the whole URL")
    func calls() async throws {
        let watcher = Watcher()
        try await withServer(configure: { $0.defaultHeaders = ["X-Default": "d"] }) { server, ness in
            ness.delegate = watcher
            _ = try await ness.httpRequest(withUrl: "a").dataRequest().value
            _ = try await ness.httpRequest(.post, withUrl: "b").set(headers: ["X-Default": "own"]).dataRequest().value
            _ = try? await ness.httpRequest(withUrl: "c").dataRequest(decoding: User.self).value
            #expect(
                watcher.log.entries == ["will GET /a d", "did GET /a", "will POST /b own", "did POST /b", "will GET /c d", "did GET /c"])
            #expect(Set(watcher.managers.entries) == [ObjectIdentifier(ness)])
            #expect(server.requestCount == 3)
        }
    }

    @Test("if the delegate sends a request outside the base URL, it carries no secret default header")
    func failOver() async throws {
        let rig = Rig {
            $0.defaultHeaders = ["X-Api-Key": "hunter2", "X-Default": "d"]
            $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        }
        rig.mock.on(.get, "https://other.test/x") { _ in .status(200) }
        let leading = Watcher { $0.url = URL(string: "https://other.test/x") ?? $0.url }
        rig.ness.delegate = leading
        _ = try await rig.ness.get("x").response()
        // What the delegate sets itself is its own.
        let setting = Watcher { request in
            request.url = URL(string: "https://other.test/x") ?? request.url
            request.headers["X-Api-Key"] = "own"
        }
        rig.ness.delegate = setting
        _ = try await rig.ness.get("x").response()
        #expect(rig.mock.requests.map { $0.headers["X-Api-Key"] } == [nil, "own"])
        #expect(rig.mock.requests.map { $0.headers["X-Default"] } == ["d", "d"])
    }

    @Test("the delegate's request is sent")
    func replaces() async throws {
        let watcher = Watcher { request in
            request.method = .put
            request.url = URL(string: "changed?x=1", relativeTo: request.url) ?? request.url
            request.headers["X-Delegate"] = "yes"
            request.body = HTTPBody(Data("new".utf8))
        }
        try await withServer { server, ness in
            ness.delegate = watcher
            let message = try await ness.httpRequest(withUrl: "original").dataRequest().value.message
            let request = try #require(server.requests.first)
            #expect(request.method == .put)
            #expect(request.target == "/changed?x=1")
            #expect(request.headers["X-Delegate"] == "yes")
            #expect(request.bodyText == "new")
            #expect(message.request.method == .put)
            #expect(watcher.log.entries == ["will GET /original -", "did PUT /changed"])
        }
    }

    @Test("a relative URL from the delegate is resolved against the base")
    func relative() async throws {
        let other = try url("other")
        let watcher = Watcher { $0.url = other }
        try await withServer { server, ness in
            ness.delegate = watcher
            _ = try await ness.httpRequest(withUrl: "a/b").dataRequest().value
            #expect(server.requests.map(\.target) == ["/other"])
        }
    }

    @Test("the delegate's request is checked like any other")
    func checked() async throws {
        let watcher = Watcher { $0.headers["X"] = "a\r\nInjected: 1" }
        try await withServer { server, ness in
            ness.delegate = watcher
            #expect(await ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
            #expect(server.connectionCount == 0)
        }
    }

    @Test("the delegate is held weakly")
    func weakly() async throws {
        try await withServer { server, ness in
            var watcher: Watcher? = Watcher { $0.headers["X-Delegate"] = "yes" }
            ness.delegate = watcher
            #expect(ness.delegate != nil)
            let log = try #require(watcher?.log)
            watcher = nil
            #expect(ness.delegate == nil)
            _ = try await ness.httpRequest(withUrl: "x").dataRequest().value
            #expect(log.entries.isEmpty)
            #expect(server.requests.first?.headers["X-Delegate"] == nil)
        }
    }

    @Test("the delegate is called even if the manager was released meanwhile")
    func releasedManager() async throws {
        let watcher = Watcher { $0.headers["X-Delegate"] = "yes" }
        let server = try await TestServer.start { _ in .text("ok") }
        var ness: Ness? = Ness()
        ness?.delegate = watcher
        let promise = try #require(ness).httpRequest(withUrl: server.url).dataRequest()
        ness = nil
        _ = try await promise.value
        #expect(server.requests.first?.headers["X-Delegate"] == "yes")
        await server.stop()
    }

    @Test("all methods of the delegate are optional")
    func silent() async throws {
        final class Silent: NetworkSessionManagerDelegate {}
        let silent = Silent()
        try await withServer { server, ness in
            ness.delegate = silent
            _ = try await ness.httpRequest(withUrl: "x").dataRequest().value
            #expect(server.requestCount == 1)
        }
    }
}
