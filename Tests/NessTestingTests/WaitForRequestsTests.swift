import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Tests the waits for requests in the manager's queues.
@Suite(.inTurn) struct WaitForRequestsTests {
    private func mock() -> MockTransport {
        let mock = MockTransport()
        mock.on(nil, "*") { _ in .text("fine") }
        return mock
    }

    /// Waits until so many requests wait. A drop ends their count, but may come before a request's task has suspended.
    private func count(of ness: Ness, at place: WaitingPlace, is count: Int) async {
        let changed = ChangeSignal()
        let listener = ness.waiting.listen { changed.notify() }
        defer { ness.waiting.remove(listener) }
        await changed.wait { ness.waitingRequestCount(at: place) == count }
    }

    @Test("requests in the host's queue can be awaited; a drop and an admission reduce their number")
    func hostQueue() async throws {
        let ness = mocked(mock())
        ness.maximumConnectionsPerHost = 0
        let promises = (1...3).map { ness.get("users/\($0)").dataRequest() }
        try await ness.waitForRequests(3, at: .hostQueue)
        #expect(ness.waitingRequestCount(at: .hostQueue) == 3)
        #expect(ness.waitingRequestCount(at: .throttle) == 0 && ness.waitingRequestCount(at: .refresh) == 0)
        promises[1].drop()
        await count(of: ness, at: .hostQueue, is: 2)
        ness.maximumConnectionsPerHost = 6
        for index in [0, 2] { #expect(try await promises[index].value.message.text == "fine") }
        await ness.reset()
        #expect(ness.waitingRequestCount(at: .hostQueue) == 0)
    }

    @Test("requests that wait for a place with all hosts count as queued")
    func requestLimit() async throws {
        let mock = MockTransport()
        let go = TestGate()
        mock.on(nil, "*") { _ in
            await go.wait()
            return .text("fine")
        }
        let ness = mocked(mock) { $0.maximumConcurrentRequests = 1 }
        let promises = (1...3).map { ness.get("users/\($0)").dataRequest() }
        try await ness.waitForRequests(2, at: .hostQueue)
        go.open()
        for promise in promises { #expect(try await promise.value.message.text == "fine") }
        #expect(ness.waitingRequestCount(at: .hostQueue) == 0)
    }

    @Test("requests that wait for the throttle can be awaited")
    func throttle() async throws {
        let clock = ManualClock()
        let ness = mocked(mock()) { configuration in
            configuration.clock = clock
            configuration.throttle = ThrottleLimit(rate: 1)
        }
        let promises = (1...3).map { ness.get("users/\($0)").dataRequest() }
        try await ness.waitForRequests(2, at: .throttle)
        #expect(ness.waitingRequestCount(at: .throttle) == 2)
        for promise in promises { promise.drop() }
        await count(of: ness, at: .throttle, is: 0)
    }

    @Test("requests that wait for the refresh of a credential can be awaited, and share it")
    func refresh() async throws {
        let go = TestGate()
        let refreshes = Lock(0)
        let token = RefreshableAuthentication(credential: "old", apply: { ["Authorization": "Bearer \($0)"] }) { _, _ in
            refreshes.withLock { $0 += 1 }
            await go.wait()
            return "new"
        }
        let mock = MockTransport()
        mock.on(nil, "*") { $0.headers["Authorization"] == "Bearer new" ? .text("fine") : .status(401) }
        let ness = mocked(mock) { $0.authentication = token }
        let promises = (1...3).map { ness.get("users/\($0)").dataRequest() }
        try await ness.waitForRequests(3, at: .refresh)
        // A form of the manager shares its queues.
        try await ness.withoutAuthentication().waitForRequests(3, at: .refresh)
        go.open()
        for promise in promises { #expect(try await promise.value.message.text == "fine") }
        #expect(refreshes.withLock { $0 } == 1 && ness.waitingRequestCount(at: .refresh) == 0)
    }

    @Test("a wait that has to end reports how many requests there were")
    func timeout() async throws {
        let ness = mocked(mock())
        ness.maximumConnectionsPerHost = 0
        let promise = ness.get("x").dataRequest()
        try await ness.waitForRequests(1, at: .hostQueue)
        let clock = ManualClock()
        let wait = Task { try await ness.waitForRequests(2, at: .hostQueue, within: .seconds(5), clock: clock) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: WaitTimeout.self) { try await wait.value }
        #expect(error?.description == "after 5.0 seconds, 1 of 2 requests wait at hostQueue")
        promise.drop()
    }

    @Test("a canceled wait ends")
    func cancellation() async throws {
        let ness = mocked(mock())
        let clock = ManualClock()
        let task = Task { try await ness.waitForRequests(1, at: .refresh, clock: clock) }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // Its timer is gone.
        await clock.waitUntil { $0.sleeperCount == 0 }
    }
}
