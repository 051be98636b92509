import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite("Reset", .inTurn(.withoutSockets))
struct ResetTests {
    /// Lets every exchange start, and end only when its gate is open, whether or not it is canceled.
    private struct Stubborn: Transport {
        let arrived = Tally()
        let gate = TestGate()
        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            arrived.enter()
            let gate = gate
            await Task.detached { await gate.wait() }.value
            try await receive(.head(statusCode: 200, headers: [:]))
        }
    }

    private final class Forgetful: HTTPLoader {
        let resets = Tally()
        func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) }
        func reset() async { resets.enter() }
    }

    @Test(
        "a reset drops all requests, waits for the wire, rejects new requests meanwhile, and resets each loader once")
    func aReset() async throws {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let transport = Stubborn(), loaders = [Forgetful(), Forgetful()]
        let ness = Ness {
            $0.transport = transport
            $0.loaders = loaders
        }
        let promises = (0..<5).map { ness.httpRequest(.post, withUrl: "https://mock.test/\($0)").dataRequest() }
        await transport.arrived.wait(for: 5)
        let order = Log<String>()
        let first = Task {
            await ness.reset()
            order.add("first")
        }
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        let executor = StepExecutor()
        let second = Task(executorPreference: executor) {
            await ness.reset()
            order.add("second")
        }
        // As far as it gets while the first runs.
        #expect(executor.run(atMost: .max))
        executor.letGo()
        let refused = await ness.httpRequest(.post, withUrl: "https://mock.test/new").dataRequest().nessError()
        #expect(refused?.kind == .dropped)
        #expect(refused?.context.attempts == 0)
        #expect(order.entries.isEmpty)
        #expect(loaders.map(\.resets.total) == [0, 0])
        #expect(transport.arrived.total == 5)
        transport.gate.open()
        await first.value
        await second.value
        #expect(order.entries.sorted() == ["first", "second"])
        #expect(loaders.map(\.resets.total) == [1, 1])
        // It works afterwards, and can be reset again.
        #expect(try await ness.httpRequest(.post, withUrl: "https://mock.test/new").dataRequest().value.message.statusCode == 200)
        await ness.reset()
        #expect(loaders.map(\.resets.total) == [2, 2])
        #expect(transport.arrived.total == 6)
    }

    @Test("a waiting retry sends nothing after a reset") func aRetryThatWaits() async throws {
        let rig = Rig(advances: false)
        rig.mock.on(.get, "/x", replies: [.status(503), .status(200)])
        let control = CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: 60)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await rig.untilAsleep()
        await rig.ness.reset()
        #expect(await promise.nessError()?.kind == .dropped)
        await rig.clock.waitUntil { $0.sleeperCount == 0 }
        rig.clock.advance(by: .seconds(100))
        await rig.sentinel()
        #expect(rig.mock.requests.map(\.url.path) == ["/x", "/sentinel"])
    }

    @Test("a loader that ignores a drop cannot send a request from before the reset")
    func aLoaderThatGoesOn() async throws {
        let gate = TestGate(), entered = Tally(), ended = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.loaders = [
                ClosureLoader { request, next in
                    guard request.url.path == "/x" else { return try await next(request) }
                    entered.enter()
                    do {
                        let response = try await Task.detached {
                            await gate.wait()
                            return try await next(request)
                        }.value
                        ended.add("sent")
                        return response
                    } catch {
                        ended.add("refused")
                        throw error
                    }
                }
            ]
        }
        let promise = rig.ness.httpRequest(.post, withUrl: "x").dataRequest()
        await entered.wait(for: 1)
        await rig.ness.reset()
        gate.open()
        await ended.wait(for: 1)
        #expect(ended.entries == ["refused"])
        #expect(await promise.nessError()?.kind == .dropped)
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a reset clears the retry budget and the throttle's buckets")
    func aResetForgetsTheBudgetAndTheBuckets() async throws {
        let rig = Rig {
            $0.retryBudget = RetryBudget(ratio: 0, minimum: 1)
            $0.throttle = ThrottleLimit(rate: 0.001, burst: 2)
        }
        rig.mock.on(.get, "/x", replies: [.status(503)])
        for count in 1...3 {
            _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
            #expect(rig.mock.requests.count == 2 * count)
            #expect(rig.clock.sleeps.isEmpty)
            await rig.ness.reset()
        }
    }
}
