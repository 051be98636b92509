import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Limits that a closure gives to the group of a request.
@Suite("Limits of groups", .inTurn(.withoutSockets))
struct LimitGroupTests {
    /// A manager whose requests to the path `/group…` are in the group of this name.
    private func rig(
        _ onUnmatched: MockTransport.UnmatchedPolicy = .reply(.status(200)), _ configure: (inout Ness.Configuration) -> Void = { _ in },
        _ limits: @escaping @Sendable (String) -> LimitGroup?
    ) -> Rig {
        Rig(advances: false, onUnmatched: onUnmatched) {
            $0.limitGroup = { limits($0.url.lastPathComponent.filter(\.isLetter)) }
            configure(&$0)
        }
    }

    private func paths(_ rig: Rig) -> [String] { rig.mock.requests.map(\.url.lastPathComponent) }

    @Test("each group has its own rate, and other requests have that of the manager")
    func rates() async throws {
        let rig = rig {
            $0.throttle = ThrottleLimit(rate: 1, burst: 2)
        } _: {
            switch $0 {
            case "slow": LimitGroup("slow", rate: 0.1)
            case "free": LimitGroup("free", rate: .infinity)
            case "named": LimitGroup("named")
            default: nil
            }
        }
        for path in ["slow1", "free1", "free2", "free3", "a", "named1"] { _ = try await rig.ness.get(path).response() }
        let slow = rig.ness.get("slow2").dataRequest()
        try await rig.ness.waitForRequests(1, at: .throttle)
        // A group without a rate shares the bucket of the manager, which is empty.
        let named = rig.ness.get("named2").dataRequest()
        try await rig.ness.waitForRequests(2, at: .throttle)
        await rig.clock.waitForSleepers(2)
        rig.clock.advance(by: .seconds(1))
        _ = try await named.value
        #expect(!slow.isCompleted)
        rig.clock.advance(by: .seconds(9))
        _ = try await slow.value
        #expect(paths(rig).suffix(2) == ["named2", "slow2"])
    }

    @Test("requests that wait for the rate of their group leave the slots of their host to other requests")
    func slotsOfTheHost() async throws {
        let rig = rig {
            $0.maximumConnectionsPerHost = 2
        } _: {
            $0 == "slow" ? LimitGroup("slow", rate: 1) : nil
        }
        _ = try await rig.ness.get("slow0").response()
        var waiting: [DataPromise] = []
        for number in 1...4 {
            waiting.append(rig.ness.get("slow\(number)").dataRequest())
            try await rig.ness.waitForRequests(number, at: .throttle)
        }
        _ = try await rig.ness.get("other").response()
        for promise in waiting {
            await rig.clock.waitForSleepers(1)
            rig.clock.advance(by: .seconds(1))
            _ = try await promise.value
        }
        #expect(paths(rig) == ["slow0", "other", "slow1", "slow2", "slow3", "slow4"])
    }

    @Test("at most the given number of exchanges of a group run at the same time, over all its origins; a higher number admits more")
    func concurrency() async throws {
        let limit = Log<Int>(), gate = TestGate()
        limit.add(1)
        let rig = rig(.fail) { group in
            group == "one" ? LimitGroup("one", maximumConcurrentRequests: limit.entries.last) : nil
        }
        for host in ["a", "b", "c"] { rig.mock.on(.get, "https://\(host).test/one", after: gate) { _ in .status(200) } }
        rig.mock.on(.get, "https://b.test/other", replies: [.status(200)])
        let first = rig.ness.get("https://a.test/one").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.get("https://b.test/one").dataRequest()
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        _ = try await rig.ness.get("https://b.test/other").response()
        limit.add(3)
        let third = rig.ness.get("https://c.test/one").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 4 }
        gate.open()
        for promise in [first, second, third] { _ = try await promise.value }
    }

    @Test("a slot of a group is free again after an error and after a drop", arguments: [true, false])
    func freedSlot(isDropped: Bool) async throws {
        let rig = rig(.fail) { _ in LimitGroup("one", rate: 1_000, burst: 10, maximumConcurrentRequests: 1) }
        let gate = TestGate()
        rig.mock.on(.get, "/a", after: gate) { _ in .failure(.connectionLost) }
        rig.mock.on(.get, "/b", replies: [.status(200)])
        let first = rig.ness.get("a").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let dropped = rig.ness.get("b").dataRequest(), second = rig.ness.get("b").set(headers: ["X": "2"]).dataRequest()
        try await rig.ness.waitForRequests(2, at: .hostQueue)
        dropped.drop()
        if isDropped { first.drop() } else { gate.open() }
        #expect(try await second.value.message.statusCode == 200)
        gate.open()
    }

    @Test("a token that a request gives back in a pause goes to the group from which it came")
    func tokenOfAPause() async throws {
        let rig = rig { LimitGroup($0, rate: 1) }
        for path in ["a0", "b0"] { _ = try await rig.ness.get(path).response() }
        var waiting: [DataPromise] = []
        for path in ["a1", "b1", "a2", "b2"] {
            waiting.append(rig.ness.get(path).dataRequest())
            try await rig.ness.waitForRequests(waiting.count, at: .throttle)
        }
        await rig.clock.waitForSleepers(2)
        rig.ness.maximumConnectionsPerHost = 0
        rig.clock.advance(by: .seconds(1))
        // The first request of each group gives its token back.
        try await rig.ness.waitForRequests(2, at: .hostQueue)
        rig.ness.maximumConnectionsPerHost = 10
        for promise in waiting.prefix(2) { _ = try await promise.value }
        #expect(Set(paths(rig)) == ["a0", "b0", "a1", "b1"])
        await rig.clock.waitForSleepers(2)
        rig.clock.advance(by: .seconds(1))
        for promise in waiting { _ = try await promise.value }
    }

    @Test("a group can have its own circuit breaker: it blocks the group at all origins, and no other request")
    func breaker() async throws {
        let rig = rig {
            LimitGroup($0, circuitBreaker: $0 == "bad" ? CircuitBreakerLimit(minimumRequests: 2, openDuration: .seconds(30)) : nil)
        }
        rig.mock.on(.get, "/bad", replies: [.status(500), .status(500), .status(200)])
        for _ in 0..<2 { _ = try await rig.ness.get("bad").response() }
        for url in ["bad", "https://other.test/bad"] {
            let error = await rig.ness.get(url).dataRequest().nessError()
            #expect(error?.kind == .circuitOpen && error?.context.reason.contains("the group bad") == true)
        }
        _ = try await rig.ness.get("good").response()
        rig.clock.advance(by: .seconds(30))
        _ = try await rig.ness.get("bad").response()
        _ = try await rig.ness.get("https://other.test/bad").response()
    }

    @Test("the closure gets each exchange: also the target of a redirect, and each attempt")
    func exchanges() async throws {
        let asked = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.limitGroup = {
                asked.add($0.url.absoluteString)
                return nil
            }
        }
        rig.mock.on(.get, "/x", replies: [.status(503), .status(302, headers: ["Location": "https://b.test/y"])])
        _ = try await rig.ness.get("x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(asked.entries == ["https://mock.test/x", "https://mock.test/x", "https://b.test/y"])
    }

    @Test("a request without queueing skips the rate and the number of its group")
    func withoutQueueing() async throws {
        let rig = rig { _ in LimitGroup("one", rate: 0.001, maximumConcurrentRequests: 1) }
        for number in 0..<3 { _ = try await rig.ness.get("\(number)").withoutQueueing().response() }
        #expect(paths(rig).count == 3)
    }

    @Test("groups without requests are forgotten, once their buckets are full")
    func forgotten() throws {
        let clock = ManualClock()
        let throttle = Throttle(nil, clock: PipelineClock(clock))
        let groups = LimitGroups { LimitGroup($0.url.path, rate: 10) }
        for number in 0..<5_000 {
            let request = HTTPRequest(url: try url("https://a.test/\(number)"))
            let token = try throttle.enter(request, groups.membership(of: request))
            #expect(token != nil && token?.waiter == nil)
            clock.advance(by: .milliseconds(1))
        }
        #expect(throttle.bucketCount <= 1_000)
    }
}
