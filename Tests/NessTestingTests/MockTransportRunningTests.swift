import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Tests running exchanges of a mock: delays, cancellation, threads.
@Suite(.inTurn) struct MockTransportRunningTests {
    @Test("a canceled exchange ends immediately, even if its handler ignores the cancellation")
    func cancelled() async throws {
        let mock = MockTransport()
        let started = [TestGate(), TestGate()], noticed = TestGate(), never = TestGate()
        mock.on(.get, "/0") { _ in
            started[0].open()
            await Task { await never.wait() }.value
            return .text("late")
        }
        mock.on(.get, "/1") { _ in
            started[1].open()
            await never.wait()
            if Task.isCancelled { noticed.open() }
            return .text("late")
        }
        for index in 0..<2 {
            let request = HTTPRequest(url: try #require(URL(string: "https://a/\(index)")))
            let task = Task { try await mock.send(request) { _ in Issue.record("an event") } }
            await started[index].wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        await noticed.wait()
        never.open()
    }

    @Test("canceling an exchange ends its delay")
    func cancelledDelay() async throws {
        let clock = ManualClock()
        let mock = MockTransport(clock: clock)
        mock.on(.get, "/x") { _ in .text("late").delayed(by: .seconds(60)) }
        let task = Task { try await mock.answer("https://a/x") }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        let promise = mocked(mock).get("x").dataRequest()
        await clock.waitForSleepers(1)
        promise.drop()
        let error = await #expect(throws: NessError.self) { _ = try await promise.value }
        #expect(error?.kind == .dropped)
    }

    @Test("a canceled request is not recorded, and gets no event after its cancellation")
    func cancelledEarly() async throws {
        let mock = MockTransport()
        mock.on(.get, "/x") { _ in .chunked([Data("a".utf8), Data("b".utf8)]) }
        let url = try #require(URL(string: "https://a/x")), gate = TestGate(), count = Lock(0)
        let early = Task {
            await gate.wait()
            try await mock.send(HTTPRequest(url: url)) { _ in Issue.record("an event") }
        }
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(mock.requests.isEmpty)
        let late = Task {
            try await mock.send(HTTPRequest(url: url)) { event in
                count.withLock { $0 += 1 }
                if case .body = event { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("a list of replies is given in the order of the requests, from any number of threads")
    func threads() async throws {
        let mock = MockTransport()
        mock.on(.get, "/:n", replies: (0..<500).map { .text("\($0)") })
        let answers = try await withThrowingTaskGroup(of: (String, String).self) { group in
            for n in 0..<500 {
                group.addTask {
                    let route = mock.on(.get, "/route/\(n)") { _ in .text("mine") }
                    #expect(try await mock.answer("https://a/route/\(n)") == "mine")
                    route.remove()
                    return ("/\(n)", try await mock.answer("https://a/\(n)"))
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let order = mock.received.filter { !$0.path.hasPrefix("/route") }
        #expect(order.map { answers[$0.path] } == (0..<500).map { "\($0)" })
        #expect(mock.requests.map(\.url) == mock.received.map(\.url))
        #expect(mock.requests.count == 1000)
    }

    @Test("a handler may change its own mock, and the mock is released with its routes")
    func released() async throws {
        let gone = TestGate()
        var mock: MockTransport? = MockTransport()
        let route = mock?.on(.get, "/x") { [weak mock, witness = Witness(gone)] _ in
            mock?.removeAll()
            mock?.on(.get, "/x") { _ in .text("changed") }
            return withExtendedLifetime(witness) { .text("first") }
        }
        #expect(try await mock?.answer("https://a/x") == "first")
        await gone.wait()
        #expect(try await mock?.answer("https://a/x") == "changed")
        mock = nil
        route?.remove()
    }
}
