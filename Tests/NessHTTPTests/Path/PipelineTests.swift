import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct PipelineTests {
    private static func response(_ text: String, status: Int = 200, to request: HTTPRequest) -> HTTPResponse {
        HTTPResponse(statusCode: status, body: Data(text.utf8), request: request)
    }

    @Test("requests pass the loaders in order, and responses in reverse order")
    func order() async throws {
        let log = Log<String>()
        let loaders = ["a", "b", "c"].map { name in
            ClosureLoader { request, next in
                log.add("\(name)>")
                let response = try await next(request)
                log.add("<\(name)")
                return response
            }
        }
        try await withServer(configure: { $0.loaders = loaders }) { _, ness in
            _ = try await ness.httpRequest(withUrl: "x").dataRequest().value
            #expect(log.entries == ["a>", "b>", "c>", "<c", "<b", "<a"])
        }
    }

    @Test("a loader sees the resolved URL, default headers and the delegate's changes")
    func sees() async throws {
        let seen = Log<HTTPRequest>()
        let loader = ClosureLoader { request, next in
            seen.add(request)
            return try await next(request)
        }
        try await withServer(configure: {
            $0.loaders = [loader]
            $0.defaultHeaders = ["X-Default": "d"]
        }) { server, ness in
            _ = try await ness.httpRequest(withUrl: "x").set(timeout: .seconds(500)).dataRequest().value
            #expect(seen.entries.map(\.url.absoluteString) == ["\(server.url)/x"])
            #expect(seen.entries.first?.headers["X-Default"] == "d")
            #expect(seen.entries.first?.timeout == .seconds(500))
        }
    }

    @Test("a loader may change request and response")
    func changes() async throws {
        let loader = ClosureLoader { request, next in
            var request = request
            request.method = .post
            request.url = request.url.appending(path: "more")
            request.headers["X"] = "1"
            request.body = HTTPBody(Data("body".utf8), headers: ["Content-Type": "text/x"])
            var response = try await next(request)
            response.statusCode = 299
            response.body += Data("!".utf8)
            response.headers["X-Loader"] = "was here"
            return response
        }
        try await withServer(configure: { $0.loaders = [loader] }) { server, ness in
            let message = try await ness.httpRequest(withUrl: "x").validate(statusCode: 299).dataRequest().value.message
            #expect(message.text == "ok!")
            #expect(message.headers["X-Loader"] == "was here")
            let request = try #require(server.requests.first)
            #expect("\(request.method) \(request.target) \(request.bodyText)" == "POST /x/more body")
            #expect(request.headers["X"] == "1" && request.headers["Content-Type"] == "text/x")
        }
    }

    @Test("a loader may return its own response, which is validated")
    func answers() async throws {
        let loader = ClosureLoader { request, _ in Self.response("from the loader", status: 404, to: request) }
        try await withServer(configure: { $0.loaders = [loader] }) { server, ness in
            let promise = ness.httpRequest(withUrl: "x").dataRequest()
            let message = try await promise.value.message
            #expect(message.text == "from the loader")
            #expect(promise.status.text == "completed 404")
            #expect(await ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest().nessError()?.kind == .validation)
            #expect(server.connectionCount == 0)
        }
    }

    @Test("a loader may call next several times, and return the last response")
    func asksAgain() async throws {
        let loader = ClosureLoader { request, next in
            var response = try await next(request)
            while response.statusCode == 503 { response = try await next(request) }
            return response
        }
        let served = Log<Int>()
        try await withServer(
            { _ in
                served.add(1)
                return served.entries.count < 3 ? .status(503) : .text("third")
            }, configure: { $0.loaders = [loader] }
        ) { server, ness in
            let promise = ness.httpRequest(.put, withUrl: "x").set(stringBody: "abc").dataRequest()
            let text = try await promise.value.message.text
            #expect(text == "third")
            #expect(server.requests.map(\.bodyText) == ["abc", "abc", "abc"])
            #expect(promise.progress == TransferProgress(completedBytes: 8, totalBytes: 8))
        }
    }

    @Test("a loader may call next twice at the same time")
    func asksTwice() async throws {
        let loader = ClosureLoader { request, next in
            async let one = next(request)
            async let two = next(request)
            let (first, second) = try await (one, two)
            return Self.response(first.text + second.text, to: request)
        }
        try await withServer(
            { _ in .text("x") },
            configure: {
                $0.loaders = [loader]
                $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
            }
        ) { server, ness in
            let text = try await ness.httpRequest(withUrl: "x").dataRequest().value.message.text
            #expect(text == "xx")
            #expect(server.requestCount == 2)
        }
    }

    /// A manager with two loaders. Each records the end of the loaders below it.
    private func noting(_ log: Log<String>, _ configure: (inout Ness.Configuration) -> Void) -> Rig {
        Rig { configuration in
            configuration.loaders = ["outer", "inner"].map { name in
                ClosureLoader { request, next in
                    do {
                        let response = try await next(request)
                        log.add(name)
                        return response
                    } catch {
                        log.add("\(name): \((error as? NessError)?.kind.rawValue ?? "cancelled")")
                        throw error
                    }
                }
            }
            configure(&configuration)
        }
    }

    @Test("a drop reaches the loader next to the network first")
    func cancelOrder() async throws {
        let log = Log<String>(), reached = TestGate()
        let rig = noting(log) { _ in }
        rig.mock.on(.get, "/x") { _ in
            reached.open()
            await TestGate().wait()
            return .status(200)
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        promise.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        await log.wait(for: 2)
        #expect(log.entries == ["inner: dropped", "outer: dropped"])
    }

    @Test("loaders end before the caller is notified, the innermost first; a loader may choose the request's error")
    func endOrder() async throws {
        let log = Log<String>(), fails = Lock(false)
        let rig = noting(log) { configuration in
            configuration.insert(
                .modifyRequest { request in
                    guard fails.withLock({ $0 }) else { return }
                    throw NessError(.timedOut, NessError.Context(request: request, reason: "the loader has no time"))
                }, at: .attempt)
        }
        rig.mock.on(.get, "/x", replies: [.status(200)])
        try await rig.ness.httpRequest(withUrl: "x").dataRequest().then { _ in log.add("caller") }.value
        #expect(log.entries == ["inner", "outer", "caller"])
        fails.withLock { $0 = true }
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().handle { _ in log.add("caller") }.nessError()
        #expect(error?.context.reason == "the loader has no time" && error?.request?.url.path == "/x")
        #expect(log.entries.suffix(3) == ["inner: timedOut", "outer: timedOut", "caller"])
    }
}
