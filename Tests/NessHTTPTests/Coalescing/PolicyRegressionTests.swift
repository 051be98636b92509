import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Cases in which older libraries failed: duplicates, drops and retries.
@Suite("Policies: regressions", .inTurn(.withoutSockets))
struct PolicyRegressionTests {
    /// Answers with the name in the query when a gate is open.
    private static func rig(_ gate: TestGate, _ handler: CountingHandler) -> Rig {
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.mock.on(.get, "/file") { _ in
            await gate.wait()
            return .text("content")
        }
        rig.mock.on(.put, "/file") { request in
            await gate.wait()
            return .text(String(decoding: request.body, as: UTF8.self))
        }
        return rig
    }

    @Test("two files uploaded to one URL are two requests, and both arrive") func uploads() async throws {
        try await withFolder { folder in
            let handler = CountingHandler(), gate = TestGate(), rig = Self.rig(gate, handler)
            let files = ["a", "b"].map { folder.appendingPathComponent($0) }
            for file in files { try Data(file.lastPathComponent.utf8).write(to: file) }
            let uploads = files.map { rig.ness.httpRequest(.put, withUrl: "file").uploadRequest(forFileLocation: $0) }
            await rig.mock.waitUntil { $0.requests.count == 2 }
            gate.open()
            for (upload, name) in zip(uploads, ["a", "b"]) { #expect(try await upload.value.message.text == name) }
            #expect(handler.tally.total == 0)
        }
    }

    @Test("two downloads of one URL to two places are two requests, and both files are whole")
    func downloads() async throws {
        try await withFolder { folder in
            let handler = CountingHandler(), gate = TestGate(), rig = Self.rig(gate, handler)
            let files = ["a", "b"].map { folder.appendingPathComponent($0) }
            let downloads = files.map { rig.ness.httpRequest(withUrl: "file").downloadRequest(forSavedLocation: $0) }
            await rig.mock.waitUntil { $0.requests.count == 2 }
            gate.open()
            for download in downloads { _ = try await download.value }
            for file in files { #expect(try Data(contentsOf: file) == Data("content".utf8)) }
            #expect(handler.tally.total == 0)
        }
    }

    @Test("a concurrent data request and download of one URL both complete, and neither joins the other")
    func kinds() async throws {
        try await withFolder { folder in
            let handler = CountingHandler(), gate = TestGate(), rig = Self.rig(gate, handler)
            let file = folder.appendingPathComponent("a")
            let data = rig.ness.httpRequest(withUrl: "file").dataRequest()
            let download = rig.ness.httpRequest(withUrl: "file").downloadRequest(forSavedLocation: file)
            await rig.mock.waitUntil { $0.requests.count == 2 }
            gate.open()
            #expect(try await data.value.message.text == "content")
            _ = try await download.value
            #expect(try Data(contentsOf: file) == Data("content".utf8))
            #expect(handler.tally.total == 0)
        }
    }

    @Test("canceling the task that awaits cancels the exchange") func cancelReachesTheTransport() async throws {
        let arrived = TestGate(), never = TestGate(), cancelled = TestGate()
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in
            arrived.open()
            await never.wait()
            if Task.isCancelled { cancelled.open() }
            return .status(200)
        }
        let task = Task { try await rig.ness.httpRequest(withUrl: "x").dataRequest().value }
        await arrived.wait()
        task.cancel()
        await cancelled.wait()
        await #expect(throws: NessError.self) { _ = try await task.value }
    }

    @Test("after a drop the second request of a chain is never sent") func theSecondRequest() async throws {
        let arrived = TestGate(), gate = TestGate(), rig = Rig()
        rig.mock.on(.get, "/first") { _ in
            arrived.open()
            await gate.wait()
            return .status(200)
        }
        let ness = rig.ness
        let first = ness.httpRequest(withUrl: "first").dataRequest()
        let witness = first.then { $0 }
        let chain = first.thenContinue { _ in ness.httpRequest(withUrl: "second").dataRequest() }
        await arrived.wait()
        chain.drop()
        gate.open()
        _ = try await witness.value
        #expect(await chain.nessError()?.kind == .dropped)
        await rig.sentinel()
        #expect(rig.mock.requests.map(\.url.path) == ["/first", "/sentinel"])
    }

    /// Fails every request, and notes what would go out after a drop.
    private final class Watched: Transport {
        let isDropped = Lock(false)
        let late = Tally()
        let sent = Tally()
        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            // In this order: what is not canceled when the drop has returned went out too late.
            if isDropped.withLock({ $0 }) && !Task.isCancelled { late.enter() }
            sent.enter()
            try await receive(.head(statusCode: 503, headers: [:]))
        }
    }

    @Test("after a drop around a retry has returned, no attempt is sent", arguments: seeds(50))
    func aDropAroundARetry(seed: UInt64) async throws {
        let random = Lock(SeededGenerator(seed: seed)), transport = Watched()
        let ness = Ness {
            $0.transport = transport
            $0.clock = ManualClock(advancesAutomatically: true)
            $0.retryBudget = RetryBudget(minimum: .max)
        }
        let delay = seed % 2 == 0 ? 0 : 1.0
        let control = CounterRetryControl(maxRetryCount: .max, timeIntervalBeforeTryToRetry: delay)
        let promise = ness.httpRequest(.post, withUrl: "https://mock.test/x").dataRequest(with: control)
        await transport.sent.wait(for: random.withLock { Int.random(in: 0..<20, using: &$0) })
        await yields(random)
        promise.drop()
        transport.isDropped.withLock { $0 = true }
        #expect(await promise.nessError()?.kind == .dropped)
        await ness.reset()
        #expect(transport.late.total == 0)
    }

    @Test("a drop during a delay of hours, or during a refresh that never ends, settles immediately")
    func aDropWhileWaiting() async throws {
        let rig = Rig(advances: false), refreshing = TestGate(), never = TestGate()
        rig.mock.on(.get, "/busy", replies: [.status(503)])
        rig.mock.on(.get, "/closed", replies: [.status(401)])
        let token = RefreshableAuthentication(credential: "old") {
            ["Authorization": $0]
        } refresh: { _, _ in
            refreshing.open()
            // Takes no notice of its cancellation.
            await Task.detached { await never.wait() }.value
            return "new"
        }
        let control = CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: 36_000)
        let delayed = rig.ness.httpRequest(withUrl: "busy").dataRequest(with: control)
        let refreshed = rig.ness.httpRequest(withUrl: "closed").authenticate(with: token).dataRequest(with: control)
        await refreshing.wait()
        // For the delay, and for the timeout of the refresh.
        await rig.clock.waitUntil { $0.sleeps.count == 1 && $0.sleeperCount == 2 }
        for promise in [delayed, refreshed] {
            promise.drop()
            #expect(promise.isCompleted)
            #expect(await promise.nessError()?.kind == .dropped)
        }
        #expect(rig.clock.now.offset == .zero)
        #expect(rig.mock.requests.count == 2)
        never.open()
    }
}
