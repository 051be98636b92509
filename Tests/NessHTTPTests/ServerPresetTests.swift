import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The settings for servers, and the limit for all hosts together.
@Suite(.inTurn) struct ServerPresetTests {
    @Test("the preset for servers differs from the default in connections, sharing and retries, and can be changed")
    func settings() throws {
        let server = Ness(.server) { $0.maximumConnectionsPerHost = 10 }
        #expect(server.maximumConnectionsPerHost == 10)
        #expect(Ness(.server).maximumConnectionsPerHost == 256)
        #expect(server.configuration.retryControl is BackoffRetryControl)
        #expect(server.configuration.retryBudget == RetryBudget(ratio: 0.1, minimum: 10))
        #expect(server.configuration.cache == nil && server.configuration.cookies == nil)
        #expect(server.configuration.duplicatedHandler as? DefaultDuplicatedHandler == .requestAllSeparately)
    }

    @Test("a server's equal requests share no exchange")
    func sharing() async throws {
        let arrived = Tally(), go = TestGate()
        let mock = MockTransport()
        mock.on(.get, "/x") { _ in
            arrived.enter()
            await go.wait()
            return .status(200)
        }
        let ness = Ness(.server) {
            $0.transport = mock
            $0.baseURL = URL(string: "https://mock.test")
        }
        let promises = (0..<20).map { _ in ness.httpRequest(withUrl: "x").dataRequest() }
        await arrived.wait(for: 20)
        go.open()
        for promise in promises { #expect(try await promise.value.message.statusCode == 200) }
        #expect(arrived.total == 20)
    }

    private enum Trace {
        @TaskLocal static var current: String?
    }

    @Test("loaders see the task-local values of the code that starts the request, promised or awaited, in every attempt")
    func traces() async throws {
        let mock = MockTransport()
        mock.on(.get, "/x", replies: [.status(503), .status(200), .status(503), .status(200)])
        let ness = Ness(.server) {
            $0.transport = mock
            $0.baseURL = URL(string: "https://mock.test")
            $0.clock = ManualClock(advancesAutomatically: true)
            $0.loaders = [.modifyRequest { $0.headers["traceparent"] = Trace.current }]
        }
        try await Trace.$current.withValue("one") { _ = try await ness.get("x").response() }
        let promise = Trace.$current.withValue("two") { ness.get("x").dataRequest() }
        _ = try await promise.value
        #expect(mock.requests.map { $0.headers["traceparent"] } == ["one", "one", "two", "two"])
    }

    @Test("canceling the task of a gateway's handler ends all that it awaits from other servers")
    func leavingClient() async throws {
        let arrived = Tally()
        try await serving({ _ in
            arrived.enter()
            return .script([.stall])
        }) { server in
            let ness = Ness(.server) { $0.baseURL = server.url }
            let handler = Task {
                async let one = ness.get("one").text()
                async let two = ness.get("two").text()
                return (try await one, try await two)
            }
            await arrived.wait(for: 2)
            handler.cancel()
            let outcome = await handler.result
            #expect(throws: NessError.self) { try outcome.get() }
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
    }

    @Test("a server retries a failed read, within the budget of a tenth of the requests, or ten in ten seconds")
    func budget() async throws {
        let clock = ManualClock(advancesAutomatically: true)
        let mock = MockTransport(clock: clock)
        mock.on(.get, "/x", replies: [.status(503)])
        let ness = Ness(.server) {
            $0.transport = mock
            $0.clock = clock
            $0.baseURL = URL(string: "https://mock.test")
            $0.retryControl = CounterRetryControl(maxRetryCount: 2)
        }
        for _ in 0..<20 { #expect(try await ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 503) }
        #expect(mock.requests.count == 30)
    }

    @Test("no more than maximumConcurrentRequests run concurrently, regardless of their hosts; the others wait in order")
    func limit() async throws {
        let tally = Tally(), go = TestGate()
        let rig = Rig(advances: false) { $0.maximumConcurrentRequests = 3 }
        rig.mock.on(.get, "/:x") { _ in
            tally.enter()
            defer { tally.leave() }
            await go.wait()
            return .status(200)
        }
        let promises = (0..<12).map { rig.ness.httpRequest(withUrl: "https://host\($0 % 4).test/\($0)").dataRequest() }
        await tally.wait(for: 3)
        go.open()
        for promise in promises { #expect(try await promise.value.message.statusCode == 200) }
        #expect(tally.most == 3 && tally.total == 12)
    }

    @Test("a request that is dropped while it waits for its turn leaves no place occupied")
    func dropped() async throws {
        let arrived = TestGate(), go = TestGate()
        let rig = Rig(advances: false) { $0.maximumConcurrentRequests = 1 }
        rig.mock.on(.get, "/first") { _ in
            arrived.open()
            await go.wait()
            return .status(200)
        }
        rig.mock.on(.get, "/other", replies: [.status(200)])
        let first = rig.ness.httpRequest(withUrl: "first").dataRequest()
        await arrived.wait()
        let waiting = (0..<50).map { rig.ness.httpRequest(withUrl: "other").set(duplicateIdentifier: "\($0)").dataRequest() }
        for promise in waiting { promise.drop() }
        #expect(try await rig.ness.httpRequest(withUrl: "other?free").withoutQueueing().dataRequest().value.message.statusCode == 200)
        first.drop()
        go.open()
        #expect(try await rig.ness.httpRequest(withUrl: "other?last").dataRequest().value.message.statusCode == 200)
        for promise in waiting { #expect(await promise.nessError()?.kind == .dropped) }
        await rig.ness.reset()
    }

    @Test("requests to real hosts hold a place until their connection is free, and race with drops without losing one")
    func onTheWire() async throws {
        try await withServer({ _ in .text("ok") }, configure: { $0.maximumConcurrentRequests = 2 }) { _, ness in
            let promises = (0..<40).map { ness.httpRequest(withUrl: "x\($0)").dataRequest() }
            for (number, promise) in promises.enumerated() where number % 3 == 0 { promise.drop() }
            for (number, promise) in promises.enumerated() where number % 3 != 0 {
                let result = try await promise.value
                #expect(result.message.text == "ok")
            }
            let last = try await ness.httpRequest(withUrl: "last").dataRequest().value
            #expect(last.message.text == "ok")
        }
    }
}
