import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Redirects in a row: limits, policies, and what holds for the whole chain.
@Suite(.inTurn) struct RedirectChainTests {
    /// Redirects `/0` to `/1` and so on; `/length` is the end.
    private static func chain(_ length: Int) -> TestServer.Handler {
        { request in
            let number = Int(request.path.dropFirst()) ?? -1
            return number == length ? .text("arrived") : .text("moved", status: 302, headers: ["Location": "/\(number + 1)"])
        }
    }

    @Test("redirects are followed up to the limit", arguments: [(20, nil), (1, 1), (0, 0), (3, 5), (25, 25)] as [(Int, Int?)])
    func withinLimit(_ length: Int, _ limit: Int?) async throws {
        try await serving(Self.chain(length)) { server in
            var builder = Ness().httpRequest(withUrl: server.at("/0"))
            if let limit { builder = builder.set(redirects: .follow(limit: limit)) }
            let response = try await builder.dataRequest().value.message
            #expect(response.text == "arrived")
            #expect(response.url.absoluteString == server.at("/\(length)"))
            #expect(server.requests.map(\.target) == (0...length).map { "/\($0)" })
        }
    }

    @Test(
        "one redirect beyond the limit is an error, and is not sent",
        arguments: [(21, nil), (1, 0), (2, 1), (1, -1), (26, 25)] as [(Int, Int?)], [true, false])
    func beyondLimit(_ given: (length: Int, limit: Int?), _ decides: Bool) async throws {
        let (length, limit) = given
        try await serving(Self.chain(length)) { server in
            var builder = Ness().httpRequest(withUrl: server.at("/0"))
            switch (limit, decides) {
            case (let limit?, false): builder = builder.set(redirects: .follow(limit: limit))
            case (let limit?, true): builder = builder.set(redirects: .decide(limit: limit) { _ in .follow })
            case (nil, true): builder = builder.set(redirects: .decide { _ in .follow })
            case (nil, false): break
            }
            let error = await builder.dataRequest().nessError()
            #expect(error?.kind == .redirect)
            #expect(error?.response?.statusCode == 302)
            #expect(error?.response?.text == "moved")
            #expect(error?.response?.url.path == "/\(length - 1)")
            #expect(server.requestCount == length)
        }
    }

    @Test("the manager's policy applies if the request has none")
    func managersPolicy() async throws {
        try await serving(Self.chain(2)) { server in
            let ness = Ness { $0.redirects = .follow(limit: 1) }
            #expect(await ness.httpRequest(withUrl: server.at("/0")).dataRequest().nessError()?.kind == .redirect)
            let patient = ness.httpRequest(withUrl: server.at("/0")).set(redirects: .follow(limit: 2))
            let response = try await patient.dataRequest().value.message
            #expect(response.text == "arrived")
        }
    }

    // MARK: policies

    @Test("with redirects off, the redirect itself is the result", arguments: RedirectTests.codes)
    func stop(_ status: Int) async throws {
        try await serving({ _ in .text("moved", status: status, headers: ["Location": "/to"]) }) { server in
            let response = try await Ness().httpRequest(withUrl: server.at("/from")).set(redirects: .stop).dataRequest().value.message
            #expect(response.statusCode == status)
            #expect(response.text == "moved")
            #expect(response.headers["Location"] == "/to")
            #expect(response.url.absoluteString == server.at("/from"))
            #expect(server.requestCount == 1)
        }
    }

    @Test("a closure decides on each redirect, with the response and the proposed request")
    func decide() async throws {
        try await serving(Self.chain(5)) { server in
            let asked = Lock<[String]>([])
            let response = try await Ness().httpRequest(.post, withUrl: server.at("/0")).set(stringBody: "content")
                .set(
                    redirects: .decide { redirection in
                        let (response, request) = (redirection.response, redirection.request)
                        let body = request.body == nil ? "" : " with body"
                        asked.withLock {
                            $0.append(
                                "\(redirection.count) \(response.statusCode) \(response.url.path) \(request.method) \(request.url.path)\(body)"
                            )
                        }
                        return redirection.count == 2 ? .stop : .follow
                    }
                ).dataRequest().value.message
            #expect(asked.withLock { $0 } == ["0 302 /0 GET /1", "1 302 /1 GET /2", "2 302 /2 GET /3"])
            #expect(response.statusCode == 302)
            #expect(response.url.path == "/2")
            #expect(server.requestCount == 3)
        }
    }

    @Test("the closure may send another request, which can be redirected in turn")
    func sendAnother() async throws {
        try await serving(Self.chain(9)) { server in
            let response = try await Ness().httpRequest(withUrl: server.at("/0"))
                .set(
                    redirects: .decide { redirection in
                        guard redirection.count == 1 else { return .follow }
                        var request = redirection.request
                        request.url = request.url.deletingLastPathComponent().appending(path: "8")
                        request.method = .put
                        request.headers["X-Mine"] = "yes"
                        return .send(request)
                    }
                ).dataRequest().value.message
            #expect(response.text == "arrived")
            #expect(server.requests.map { "\($0.method) \($0.target)" } == ["GET /0", "GET /1", "PUT /8", "PUT /9"])
            #expect(server.requests.last?.headers["X-Mine"] == "yes")
        }
    }

    @Test("the closure's request is checked like any other")
    func sendNonsense() async throws {
        try await serving(Self.chain(3)) { server in
            let builder = Ness().httpRequest(withUrl: server.at("/0")).set(
                redirects: .decide { redirection in
                    var request = redirection.request
                    request.headers["X-Bad"] = "a\r\nInjected: yes"
                    return .send(request)
                })
            #expect(await builder.dataRequest().nessError()?.kind == .invalidRequest)
            #expect(server.requestCount == 1)
        }
    }

    // MARK: the whole chain

    private final class Counting: ResponseValidator {
        let seen = Lock<[Int]>([])

        func validate(for response: HTTPResponse) -> ResponseValidatorResult {
            seen.withLock { $0.append(response.statusCode) }
            return .valid
        }
    }

    @Test("validators see the final response only")
    func validators() async throws {
        try await serving(Self.chain(3)) { server in
            let counting = Counting()
            _ = try await Ness().httpRequest(withUrl: server.at("/0")).validate(using: counting).validate(statusCode: 200)
                .dataRequest().value
            #expect(counting.seen.withLock { $0 } == [200])
            let strict = Ness().httpRequest(withUrl: server.at("/0")).set(redirects: .stop).validate(statusCode: 200)
            let error = await strict.dataRequest().nessError()
            #expect(error?.kind == .validation)
            #expect(error?.response?.statusCode == 302)
        }
    }

    @Test("a drop while a decision is made ends the chain")
    func dropWhileDeciding() async throws {
        try await serving(Self.chain(1)) { server in
            let asked = TestGate(), decided = TestGate()
            let promise = Ness().httpRequest(withUrl: server.at("/0")).set(
                redirects: .decide { _ in
                    asked.open()
                    // Opens also by the cancellation.
                    await decided.wait()
                    return .follow
                }
            ).dataRequest()
            await asked.wait()
            promise.drop()
            #expect(await promise.nessError()?.kind == .dropped)
            #expect(server.requestCount == 1)
        }
    }

    @Test("the deadline covers the chain, the idle timeout each part of it")
    func times() async throws {
        let first = TestGate(), second = TestGate(), goOn = TestGate(), never = TestGate()
        let clock = ManualClock()
        try await serving({ request in
            if request.path == "/0" {
                first.open()
                await goOn.wait()
                return .status(302, headers: ["Location": "/1"])
            }
            second.open()
            await never.wait()
            return .text("late")
        }) { server in
            let promise = Ness { $0.clock = clock }.httpRequest(withUrl: server.at("/0"))
                .set(timeout: .seconds(7), deadline: .seconds(10)).dataRequest()
            await first.wait()
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(6))
            goOn.open()
            await second.wait()
            #expect(!promise.isCompleted)
            // More than the idle timeout since the start, less since the second part's; and past the deadline.
            clock.advance(by: .seconds(5))
            let error = await promise.nessError()
            #expect(error?.kind == .timedOut)
            #expect(error?.description.contains("deadline") == true)
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }
}
