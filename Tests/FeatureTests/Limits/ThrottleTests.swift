import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite("Throttle", .inTurn(.withoutSockets))
struct ThrottleTests {
    private func rig(_ limit: ThrottleLimit, advances: Bool = false) -> Rig {
        Rig(advances: advances, onUnmatched: .reply(.status(200))) { $0.throttle = limit }
    }

    /// Sends a request and waits until the throttle's timer sleeps for it.
    private func queue(_ rig: Rig, _ path: String) async -> DataPromise {
        let before = rig.clock.sleeps.count
        let promise = rig.ness.httpRequest(withUrl: path).dataRequest()
        await rig.clock.waitUntil { $0.sleeps.count == before + 1 && $0.sleeperCount == 1 }
        return promise
    }

    @Test("after a burst, requests start at the rate") func aBurstThenTheRate() async throws {
        let rig = rig(ThrottleLimit(rate: 4, burst: 3))
        for number in 0..<3 { _ = try await rig.ness.httpRequest(withUrl: "a\(number)").dataRequest().value }
        #expect(rig.clock.sleeps.isEmpty)
        let first = await queue(rig, "b")
        #expect(rig.clock.sleeps == [.milliseconds(250)])
        rig.clock.advance(by: .milliseconds(249))
        #expect(!first.isCompleted)
        rig.clock.advance(by: .milliseconds(1))
        _ = try await first.value
        let second = await queue(rig, "c")
        #expect(rig.clock.sleeps == [.milliseconds(250), .milliseconds(250)])
        rig.clock.advance(by: .milliseconds(250))
        _ = try await second.value
        #expect(rig.mock.requests.map(\.url.path) == ["/a0", "/a1", "/a2", "/b", "/c"])
        // After a pause there is one burst again, and no more.
        rig.clock.advance(by: .seconds(100))
        for number in 0..<3 { _ = try await rig.ness.httpRequest(withUrl: "d\(number)").dataRequest().value }
        #expect(rig.clock.sleeps.count == 2)
        _ = await queue(rig, "e")
        #expect(rig.clock.sleeps.last == .milliseconds(250))
    }

    @Test("the rate applies to the manager or to each host") func theScopeIsTheManagerOrTheHost() async throws {
        for (scope, waits) in [(ThrottleLimit.Scope.manager, 1), (.host, 0)] {
            let rig = rig(ThrottleLimit(rate: 1, scope: scope), advances: true)
            for address in ["https://a.test", "https://b.test"] { _ = try await rig.ness.httpRequest(withUrl: address).dataRequest().value }
            #expect(rig.clock.sleeps.count == waits)
        }
    }

    @Test("a rate that is not positive and finite sets no limit", arguments: [0, -1, Double.infinity, .nan])
    func aRateThatIsNoneIsNoLimit(rate: Double) async throws {
        let rig = rig(ThrottleLimit(rate: rate), advances: true)
        for number in 0..<5 { _ = try await rig.ness.httpRequest(withUrl: "\(number)").dataRequest().value }
        #expect(rig.clock.sleeps.isEmpty)
        #expect(rig.mock.requests.count == 5)
    }
}
