#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The limit for connecting: DNS, TCP and TLS together.
@Suite(.inTurn, .keepingConnections) struct ConnectTimeoutTests {
    /// Starts a request and waits until its connection is being made, with its limits running.
    private func started(
        _ request: RequestBuilder, _ clock: ManualClock, isConnecting: () async -> Void
    ) async -> DataPromise {
        let promise = request.dataRequest()
        await clock.waitForSleepers(1)
        await isConnecting()
        return promise
    }

    @Test(
        "a host that swallows packets costs 10 seconds, and the error says that the server certainly did not act",
        arguments: [HTTPMethod.get, .post])
    func swallowed(method: HTTPMethod) async throws {
        let deaf = try DeafListener(), clock = ManualClock(), ness = try curlNess(configure: { $0.clock = clock })
        let promise = await started(ness.httpRequest(method, withUrl: deaf.url), clock) { await deaf.waitUntil { $0 == 1 } }
        clock.advance(by: .seconds(9))
        #expect(!promise.isCompleted)
        clock.advance(by: .seconds(1))
        let error = try #require(await promise.nessError())
        #expect(error.kind == .cannotConnect && error.isTransient && !error.mayHaveReachedServer)
        #expect("\(error)".contains("no connection was ready after 10.0 seconds"))
        await deaf.waitUntil { $0 == 0 }
    }

    @Test("a server that accepts and never speaks TLS is a failed connection as well")
    func silentHandshake() async throws {
        let server = try await TestServer.start(script: { _ in [.stall] }), clock = ManualClock()
        try await stopping(server) { server in
            let ness = try curlNess(configure: { $0.clock = clock })
            let url = "https://127.0.0.1:\(server.port)/"
            let promise = await started(ness.post(url), clock) { await server.waitUntil { $0.connectionCount == 1 } }
            clock.advance(by: .seconds(10))
            let error = try #require(await promise.nessError())
            #expect(error.kind == .cannotConnect && !error.mayHaveReachedServer)
        }
    }

    @Test("a request and a manager can set another limit; without one the timeout counts")
    func settings() async throws {
        let deaf = try DeafListener(), clock = ManualClock()
        let ness = try curlNess(configure: {
            $0.clock = clock
            $0.connectTimeout = nil
        })
        var promise = await started(ness.get(deaf.url).set(connectTimeout: .seconds(2)), clock) {
            await deaf.waitUntil { $0 == 1 }
        }
        clock.advance(by: .seconds(2))
        #expect(await promise.nessError()?.kind == .cannotConnect)
        await deaf.waitUntil { $0 == 0 }
        promise = await started(ness.get(deaf.url), clock) { await deaf.waitUntil { $0 == 1 } }
        clock.advance(by: .seconds(59))
        #expect(!promise.isCompleted)
        clock.advance(by: .seconds(1))
        #expect(await promise.nessError()?.kind == .timedOut)
        #expect(await ness.get(deaf.url).set(connectTimeout: .zero).dataRequest().nessError()?.kind == .invalidRequest)
        let wrong = try curlNess(configure: { $0.connectTimeout = .seconds(-1) })
        #expect(await wrong.get(deaf.url).dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test("after a connection was refused, a loader may take longer than the limit")
    func slowFallback() async throws {
        let refusing = try await refusingURL(), clock = ManualClock(), isInside = TestGate(), passes = TestGate()
        try await serving({ _ in .text("second") }) { server in
            let ness = try curlNess(configure: {
                $0.clock = clock
                $0.insert(
                    ClosureLoader { request, next in
                        do { return try await next(request) } catch {}
                        isInside.open()
                        await passes.wait()
                        var request = request
                        request.url = server.url
                        return try await next(request)
                    }, at: .exchange)
            })
            let promise = ness.get(refusing).dataRequest()
            await isInside.wait()
            clock.advance(by: .seconds(15))
            passes.open()
            #expect(try await promise.value.message.text == "second")
        }
    }

    @Test("the time in which a part of the body is made does not count")
    func slowBody() async throws {
        let clock = ManualClock(), isInside = TestGate(), passes = TestGate()
        try await serving({ .text("\($0.body.count > 0)") }) { server in
            let ness = try curlNess(configure: { $0.clock = clock })
            var form = MultipartForm()
            form.append(deferred: { form in
                isInside.open()
                await passes.wait()
                form.append("x", named: "a")
            })
            let promise = ness.post(server.url).set(multipart: form).dataRequest()
            await isInside.wait()
            clock.advance(by: .seconds(15))
            passes.open()
            #expect(try await promise.value.message.text == "true")
        }
    }

    @Test("the limit ends with the connection, and does not count the time in queues")
    func others() async throws {
        let opens = TestGate(), clock = ManualClock()
        try await serving({ request in
            if request.path == "/slow" { await opens.wait() }
            return .text("ok")
        }) { server in
            let ness = try curlNess(configure: {
                $0.clock = clock
                $0.maximumConnectionsPerHost = 1
            })
            let slow = ness.get(server.at("/slow")).dataRequest()
            await server.waitUntil { $0.requestCount == 1 }
            let queued = ness.get(server.at("/queued")).dataRequest()
            clock.advance(by: .seconds(50))
            opens.open()
            #expect(try await slow.value.message.text == "ok")
            #expect(try await queued.value.message.text == "ok")
        }
    }

    @Test("a loader's time does not count, and a loader at `.exchange` has the same limit")
    func loader() async throws {
        let deaf = try DeafListener(), clock = ManualClock(), isInside = TestGate(), passes = TestGate()
        let ness = try curlNess(configure: {
            $0.clock = clock
            $0.insert(
                .modifyRequest { _ in
                    isInside.open()
                    await passes.wait()
                }, at: .exchange)
        })
        let promise = ness.get(deaf.url).dataRequest()
        await isInside.wait()
        clock.advance(by: .seconds(15))
        passes.open()
        await deaf.waitUntil { $0 == 1 }
        clock.advance(by: .seconds(9))
        #expect(!promise.isCompleted)
        clock.advance(by: .seconds(1))
        let error = try #require(await promise.nessError())
        // libcurl enforces the same limit in real time, with another message.
        #expect(error.kind == .cannotConnect && "\(error)".contains("no connection was ready after 10.0 seconds"))
    }

    private struct Starts: RequestObserver {
        let tally = Tally()
        func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) { tally.enter() }
    }

    @Test("a retry follows a connection that was not ready, even for a POST")
    func retried() async throws {
        let deaf = try DeafListener(), clock = ManualClock(), starts = Starts()
        let ness = try curlNess({ _ in }, observers: [starts]) {
            $0.clock = clock
            $0.retryControl = CounterRetryControl(maxRetryCount: 1)
        }
        let promise = ness.post(deaf.url).dataRequest()
        for number in 1...2 {
            await starts.tally.wait(for: number)
            clock.advance(by: .seconds(10))
        }
        let error = try #require(await promise.nessError())
        #expect(error.kind == .cannotConnect && error.context.attempts == 2)
    }
}
#endif
