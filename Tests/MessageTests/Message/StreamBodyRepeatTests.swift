import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Bodies from sequences in the steps that send a request again.
@Suite(.inTurn) struct StreamBodyRepeatTests {
    private let content = patternedData(200_000)

    /// A body that can be sent once, or any number of times.
    private func body(isRepeatable: Bool) -> HTTPBody {
        let pieces = content.pieces(of: 30_000)
        return isRepeatable ? .stream { Pieces(pieces) } : .stream(Pieces(pieces))
    }

    @Test("a retry sends the sequence of a closure again; without one, the response at hand is the result", arguments: [true, false])
    func retry(isRepeatable: Bool) async throws {
        let control = AskedControl()
        try await withDownloads { number, _ in
            number == 1 ? .text("busy", status: 503) : .text("ok")
        } _: { rig in
            let builder = rig.ness.httpRequest(.put, withUrl: "a").set(body: body(isRepeatable: isRepeatable))
            let result = try await builder.dataRequest(with: control).value
            #expect(result.message.statusCode == (isRepeatable ? 200 : 503))
            #expect(control.asked.entries.count == (isRepeatable ? 1 : 0))
            #expect(rig.server.requests.map(\.body) == Array(repeating: content, count: isRepeatable ? 2 : 1))
        }
    }

    @Test("after a lost connection, a sequence that can be sent once is not sent again", arguments: [true, false])
    func lost(isRepeatable: Bool) async throws {
        try await withDownloads { number, _ in
            number == 1 ? .script([.reset]) : .text("ok")
        } _: { rig in
            let promise = rig.ness.httpRequest(.put, withUrl: "a").set(body: body(isRepeatable: isRepeatable)).dataRequest(with: Eager())
            if isRepeatable {
                let result = try await promise.value
                #expect(result.message.text == "ok")
            } else {
                #expect(await promise.nessError()?.kind == .connectionLost)
            }
            #expect(rig.server.requestCount == (isRepeatable ? 2 : 1))
        }
    }

    @Test("a request that found no connection is retried: nothing was read", .enabled(if: !Engine.isURLSessionOnLinux))
    func notConnected() async throws {
        let refusing = try await refusingURL()
        try await withServer { server, _ in
            // The first attempt goes to a port where nothing listens.
            let attempts = Tally()
            let ness = Ness {
                $0.loaders = [.modifyRequest { request in if attempts.enter() == 0 { request.url = refusing } }]
            }
            let builder = ness.httpRequest(.post, withUrl: server.at("/")).set(body: body(isRepeatable: false))
            let result = try await builder.dataRequest(with: Eager()).value
            #expect(result.message.text == "ok" && attempts.total == 2)
            #expect(server.requests.map(\.body) == [content])
        }
    }

    @Test("a 401 renews the credential; only the sequence of a closure is sent again", arguments: [true, false])
    func unauthorized(isRepeatable: Bool) async throws {
        let refreshes = Tally()
        let authentication = RefreshableAuthentication(credential: "old") {
            ["Authorization": $0]
        } refresh: { _, _ in
            refreshes.enter()
            return "new"
        }
        try await withServer({ $0.headers["authorization"] == "old" ? .status(401) : .text("ok") }) {
            $0.authentication = authentication
        } _: { server, ness in
            let builder = ness.httpRequest(.post, withUrl: "a")
            let result = try await builder.set(body: body(isRepeatable: isRepeatable)).dataRequest(with: Eager()).value
            #expect(result.message.statusCode == (isRepeatable ? 200 : 401) && refreshes.total == 1)
            // The next request has the new credential.
            let next = try await builder.set(body: body(isRepeatable: false)).dataRequest().value
            #expect(next.message.text == "ok" && refreshes.total == 1)
            #expect(server.requests.allSatisfy { $0.body == content } && server.requestCount == (isRepeatable ? 3 : 2))
        }
    }

    @Test(
        "a redirect that asks for the body again is an error for a sequence that can be sent once", arguments: [307, 308], [true, false])
    func redirect(status: Int, isRepeatable: Bool) async throws {
        try await withServer({ $0.path == "/a" ? .status(status, headers: ["Location": "/b"]) : .text("ok") }) { server, ness in
            let promise = ness.httpRequest(.post, withUrl: "a").set(body: body(isRepeatable: isRepeatable)).dataRequest(with: Eager())
            if isRepeatable {
                let result = try await promise.value
                #expect(result.message.text == "ok")
                #expect(server.requests.map(\.body) == [content, content])
            } else {
                let error = await promise.nessError()
                #expect(error?.kind == .redirect && error?.response?.statusCode == status)
                #expect(error?.context.reason.contains("only once") == true)
                #expect(server.requestCount == 1)
            }
        }
    }

    @Test("a redirect that drops the body, or is not followed, needs no second body", arguments: [301, 302, 303, 308])
    func redirectWithoutBody(status: Int) async throws {
        try await withServer({ $0.path == "/a" ? .status(status, headers: ["Location": "/b"]) : .text("ok") }) { server, ness in
            var builder = ness.httpRequest(.post, withUrl: "a").set(body: body(isRepeatable: false))
            if status == 308 { builder = builder.set(redirects: .stop) }
            let result = try await builder.dataRequest().value
            #expect(result.message.statusCode == (status == 308 ? 308 : 200))
            #expect(server.requests.first?.body == content)
        }
    }

    @Test("a 408 or a 417 of the server is the response", arguments: [408, 417])
    func refused(status: Int) async throws {
        try await withServer({ _ in .text("no", status: status, headers: ["Connection": "close"]) }) { server, ness in
            let result = try await ness.httpRequest(.put, withUrl: "a").set(body: body(isRepeatable: false)).dataRequest().value
            #expect(result.message.statusCode == status && server.requestCount == 1)
        }
    }

    @Test("a builder with a sequence that can be sent once sends one request; the second is an error", arguments: [true, false])
    func twice(isRepeatable: Bool) async throws {
        try await withServer { server, ness in
            let builder = ness.httpRequest(.post, withUrl: "a").set(body: body(isRepeatable: isRepeatable))
            _ = try await builder.dataRequest().value
            if isRepeatable {
                _ = try await builder.dataRequest().value
            } else {
                let error = await builder.dataRequest(with: Eager()).nessError()
                #expect(error?.kind == .invalidRequest && error?.context.reason.contains("only once") == true)
            }
            #expect(server.requests.map(\.body) == Array(repeating: content, count: isRepeatable ? 2 : 1))
        }
    }

    @Test("requests with a sequence are never merged, even by a handler that shares everything", arguments: [true, false])
    func duplicates(isRepeatable: Bool) async throws {
        let gate = TestGate()
        try await withServer({ _ in
            await gate.wait()
            return .text("ok")
        }) {
            $0.duplicatedHandler = DefaultDuplicatedHandler.keepAllCompletion
        } _: { server, ness in
            let repeated = body(isRepeatable: true)
            let bodies = (0..<2).map { _ in isRepeatable ? repeated : body(isRepeatable: false) }
            let promises = bodies.map { ness.httpRequest(.post, withUrl: "a").set(body: $0).dataRequest() }
            #expect(await server.waitUntil { $0.requestCount == 2 })
            gate.open()
            for promise in promises { _ = try await promise.value }
        }
    }

    @Test("a command for curl leaves the sequence to the standard input, and reads none of it")
    func curlCommand() throws {
        let pieces = Pieces([content])
        let request = try Ness().httpRequest(.post, withUrl: "http://x").set(streamBody: pieces, length: 5).build()
        #expect(request.curlCommand.contains("--data-binary @-") && pieces.asked.total == 0)
    }

    @Test("a mock receives the bytes of a sequence; another transport gets them from it", arguments: [true, false])
    func mock(forwards: Bool) async throws {
        try await withServer { server, _ in
            let mock = MockTransport(onUnmatched: .forward(to: DefaultTransport.make()))
            if !forwards { mock.on(.post, "/a") { .data($0.body) } }
            let ness = Ness { $0.transport = mock }
            let promise = ness.httpRequest(.post, withUrl: server.at("/a")).set(body: body(isRepeatable: false)).dataRequest()
            let response = try await promise.value
            #expect(mock.requests.first?.body?.data == content && mock.received.first?.body == content)
            if forwards { #expect(server.requests.map(\.body) == [content]) } else { #expect(response.responseData == content) }
        }
    }

    @Test("a mock fails as a server would when the sequence does")
    func mockFails() async throws {
        let rig = Rig()
        rig.mock.on(.post, "/a") { _ in .text("ok") }
        let pieces = Pieces { number in if number == 1 { throw Rejected() } else { Data(count: 3) } }
        let error = await rig.ness.httpRequest(.post, withUrl: "/a").set(streamBody: pieces).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest && error?.underlying as? Rejected == Rejected() && rig.mock.requests.isEmpty)
    }
}
