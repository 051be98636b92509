import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// A manager whose limit is lowered, to zero or not, while requests wait in other queues.
@Suite(.inTurn(.withoutSockets)) struct PauseTests {
    /// Sends requests, each once the one before waits for the throttle, whose timer then sleeps.
    private func throttled(_ paths: [String], with rig: Rig) async throws -> [DataPromise] {
        let sleepers = rig.clock.sleeperCount
        var promises: [DataPromise] = []
        for path in paths {
            promises.append(rig.ness.get(path).dataRequest())
            try await rig.ness.waitForRequests(promises.count, at: .throttle)
        }
        await rig.clock.waitForSleepers(sleepers + 1)
        return promises
    }

    private func paths(_ rig: Rig) -> [String] { rig.mock.requests.map { String($0.url.path.dropFirst()) } }

    @Test("nothing that waits for the throttle starts during a pause; afterwards it starts in the same order, at the rate")
    func throttle() async throws {
        let rig = Rig(advances: false, onUnmatched: .reply(.status(200))) { $0.throttle = ThrottleLimit(rate: 1) }
        _ = try await rig.ness.get("first").response()
        let waiting = try await throttled(["a", "b", "c"], with: rig)
        rig.ness.maximumConnectionsPerHost = 0
        rig.clock.advance(by: .seconds(1))
        // The token that one request gives back leads the next one out of the throttle.
        try await rig.ness.waitForRequests(3, at: .hostQueue)
        #expect(paths(rig) == ["first"])
        let late = rig.ness.get("d").dataRequest()
        try await rig.ness.waitForRequests(4, at: .hostQueue)
        rig.ness.maximumConnectionsPerHost = 1
        for (index, promise) in (waiting + [late]).enumerated() {
            // The token for the first is there already.
            if index > 0 {
                try await rig.ness.waitForRequests(1, at: .throttle)
                rig.clock.advance(by: .seconds(1))
            }
            _ = try await promise.value
            #expect(paths(rig) == ["first"] + ["a", "b", "c", "d"].prefix(index + 1))
        }
    }

    @Test("nothing that waits for the limit of all hosts starts during a pause, and its place there is free for other hosts")
    func total() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.maximumConcurrentRequests = 1 }
        let gate = TestGate(), counts = Log<Int>()
        rig.mock.on(.get, "/first", after: gate) { _ in .status(200) }
        let first = rig.ness.get("first").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let waiting = rig.ness.get("a").dataRequest()
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        rig.ness.maximumConnectionsPerHost = 0
        let listener = rig.ness.waiting.listen { [waiting = rig.ness.waiting] in counts.add(waiting.count(at: .hostQueue)) }
        gate.open()
        _ = try await first.value
        // It leaves one queue, and joins the other.
        await counts.wait(until: { $0 == [0, 1] })
        rig.ness.waiting.remove(listener)
        #expect(paths(rig) == ["first"] && !waiting.isCompleted)
        rig.ness.maximumConnectionsPerHost = 1
        _ = try await waiting.value
        _ = try await rig.ness.get("https://b.test/x").response()
    }

    @Test("a limit that is lowered while requests wait for the throttle applies to them")
    func lowered() async throws {
        let rig = Rig(advances: false) { $0.throttle = ThrottleLimit(rate: 1) }
        let gates = (0..<4).map { _ in TestGate() }
        for (index, gate) in gates.enumerated() { rig.mock.on(.get, "/\(index)", after: gate) { _ in .status(200) } }
        let first = rig.ness.get("0").dataRequest()
        // It has been sent, and its idle timer sleeps.
        await rig.mock.waitUntil { $0.requests.count == 1 }
        await rig.clock.waitForSleepers(1)
        let waiting = try await throttled(["1", "2", "3"], with: rig)
        rig.ness.maximumConnectionsPerHost = 1
        rig.clock.advance(by: .seconds(10))
        try await rig.ness.waitForRequests(3, at: .hostQueue)
        #expect(paths(rig) == ["0"])
        for (index, promise) in ([first] + waiting).enumerated() {
            gates[index].open()
            _ = try await promise.value
            if index < 3 {
                if index > 0 {
                    try await rig.ness.waitForRequests(1, at: .throttle)
                    rig.clock.advance(by: .seconds(1))
                }
                await rig.mock.waitUntil { $0.requests.count == index + 2 }
            }
        }
        #expect(paths(rig) == ["0", "1", "2", "3"])
    }

    @Test("in a pause a request that had waited for the throttle can be dropped and can reach its deadline, but no timeout")
    func ends() async throws {
        let rig = Rig(advances: false, onUnmatched: .reply(.status(200))) { $0.throttle = ThrottleLimit(rate: 1) }
        _ = try await rig.ness.get("first").response()
        let requests = [
            rig.ness.get("drop"), rig.ness.get("deadline").set(deadline: .seconds(100)), rig.ness.get("timeout").set(timeout: .seconds(5)),
        ]
        let waiting = requests.map { $0.dataRequest() }
        try await rig.ness.waitForRequests(3, at: .throttle)
        // The throttle and the deadline.
        await rig.clock.waitForSleepers(2)
        rig.ness.maximumConnectionsPerHost = 0
        rig.clock.advance(by: .seconds(1))
        try await rig.ness.waitForRequests(3, at: .hostQueue)
        waiting[0].drop()
        rig.clock.advance(by: .seconds(100))
        #expect(await waiting[0].nessError()?.kind == .dropped)
        #expect(await waiting[1].nessError()?.kind == .timedOut)
        #expect(!waiting[2].isCompleted && paths(rig) == ["first"])
        rig.ness.maximumConnectionsPerHost = 1
        _ = try await waiting[2].value
        #expect(paths(rig) == ["first", "timeout"])
    }

    /// A way in which a running call sends another request.
    enum Further: CaseIterable { case retry, redirect, refresh, staleTimeout }

    @Test("what a running call sends next waits until the pause is over", arguments: Further.allCases)
    func further(_ further: Further) async throws {
        let rig = Rig(onUnmatched: .reply(.text("done"))) {
            if further == .refresh {
                $0.authentication = RefreshableAuthentication(
                    credential: "old", apply: { ["Authorization": $0] }, renew: { _, ness in try await ness.get("token").text() })
            }
        }
        rig.mock.on(.get, "/x") { [ness = rig.ness, count = Tally()] _ in
            guard count.enter() == 0 else { return .text("done") }
            ness.maximumConnectionsPerHost = 0
            return switch further {
            case .retry: .status(503)
            case .redirect: .status(302, headers: ["Location": "/y"])
            case .refresh: .status(401)
            case .staleTimeout: .status(408, headers: ["Connection": "close"])
            }
        }
        let promise = rig.ness.get("x").set(retry: further == .retry ? CounterRetryControl(maxRetryCount: 1) : nil).dataRequest()
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        #expect(paths(rig) == ["x"])
        rig.ness.maximumConnectionsPerHost = 1
        #expect(try await promise.value.message.text == "done")
    }

    @Test("a request that the circuit breaker stops after the throttle gives its token back")
    func token() async throws {
        let rig = Rig(advances: false, onUnmatched: .reply(.status(200))) {
            $0.throttle = ThrottleLimit(rate: 1)
            $0.circuitBreaker = CircuitBreakerLimit(minimumRequests: 1)
        }
        let gate = TestGate()
        rig.mock.on(.get, "/first", after: gate) { _ in .status(500) }
        let first = rig.ness.get("first").dataRequest()
        // It has been sent, and its idle timer sleeps.
        await rig.mock.waitUntil { $0.requests.count == 1 }
        await rig.clock.waitForSleepers(1)
        let stopped = try await throttled(["a"], with: rig)
        let other = rig.ness.get("https://b.test/x").dataRequest()
        try await rig.ness.waitForRequests(2, at: .throttle)
        gate.open()
        _ = try await first.value
        rig.clock.advance(by: .seconds(1))
        #expect(await stopped[0].nessError()?.kind == .circuitOpen)
        _ = try await other.value
    }
}
