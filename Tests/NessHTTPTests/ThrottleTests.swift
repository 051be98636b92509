import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Throttle", .inTurn)
struct ThrottleTests {
    private func rig(_ limit: ThrottleLimit, advances: Bool = false) -> Rig {
        let rig = Rig(advances: advances, onUnmatched: .reply(.status(200))) { $0.throttle = limit }
        return rig
    }

    /// Sends a request and waits until it waits for its turn.
    private func queue(_ rig: Rig, _ path: String) async -> DataPromise {
        let before = rig.clock.sleeps.count
        let promise = rig.ness.httpRequest(withUrl: path).dataRequest()
        await rig.clock.waitUntil { $0.sleeps.count == before + 1 && $0.sleeperCount >= 1 }
        return promise
    }

    @Test func aBurstThenTheRate() async throws {
        let rig = rig(ThrottleLimit(rate: 4, burst: 3))
        for number in 0..<3 { _ = try await rig.ness.httpRequest(withUrl: "a\(number)").dataRequest().value }
        #expect(rig.clock.sleeps.isEmpty)
        let first = await queue(rig, "b"), second = await queue(rig, "c")
        #expect(rig.clock.sleeps == [.milliseconds(250), .milliseconds(500)])
        rig.clock.advance(by: .milliseconds(249))
        #expect(!first.isCompleted)
        rig.clock.advance(by: .milliseconds(1))
        _ = try await first.value
        #expect(!second.isCompleted)
        rig.clock.advance(by: .milliseconds(250))
        _ = try await second.value
        #expect(rig.mock.requests.map(\.url.path) == ["/a0", "/a1", "/a2", "/b", "/c"])
        // After a pause there is a burst again, and no more than one.
        rig.clock.advance(by: .seconds(100))
        for number in 0..<3 { _ = try await rig.ness.httpRequest(withUrl: "d\(number)").dataRequest().value }
        #expect(rig.clock.sleeps.count == 2)
        _ = await queue(rig, "e")
        #expect(rig.clock.sleeps.last == .milliseconds(250))
    }

    @Test func theScopeIsTheManagerOrTheHost() async throws {
        for (scope, waits) in [(ThrottleLimit.Scope.manager, 1), (.host, 0)] {
            let rig = rig(ThrottleLimit(rate: 1, scope: scope), advances: true)
            for address in ["https://a.test", "https://b.test"] { _ = try await rig.ness.httpRequest(withUrl: address).dataRequest().value }
            #expect(rig.clock.sleeps.count == waits)
        }
    }

    @Test(arguments: [0, -1, Double.infinity, .nan]) func aRateThatIsNoneIsNoLimit(rate: Double) async throws {
        let rig = rig(ThrottleLimit(rate: rate), advances: true)
        for number in 0..<5 { _ = try await rig.ness.httpRequest(withUrl: "\(number)").dataRequest().value }
        #expect(rig.clock.sleeps.isEmpty)
        #expect(rig.mock.requests.count == 5)
    }

    @Test("BH-03, BH-10: one that waits and is dropped settles at once, sends nothing and gives its place back")
    func aDropWhileWaiting() async throws {
        let rig = rig(ThrottleLimit(rate: 1))
        _ = try await rig.ness.httpRequest(withUrl: "a").dataRequest().value
        let dropped = await queue(rig, "b")
        dropped.drop()
        #expect(await dropped.nessError()?.kind == "dropped")
        await rig.clock.waitUntil { $0.sleeperCount == 0 }
        for _ in 0..<200 { await Task.yield() }
        let next = await queue(rig, "c")
        #expect(rig.clock.sleeps == [.seconds(1), .seconds(1)])
        rig.clock.advance(by: .seconds(1))
        _ = try await next.value
        #expect(rig.mock.requests.map(\.url.path) == ["/a", "/c"])
    }

    @Test func aPlaceThatIsGivenBackIsNotGivenTwice() async throws {
        let rig = rig(ThrottleLimit(rate: 1))
        _ = try await rig.ness.httpRequest(withUrl: "a").dataRequest().value
        let first = await queue(rig, "b"), second = await queue(rig, "c")
        first.drop()
        await rig.clock.waitUntil { $0.sleeperCount == 1 }
        for _ in 0..<200 { await Task.yield() }
        let third = await queue(rig, "d")
        rig.clock.advance(by: .seconds(1))
        for _ in 0..<500 { await Task.yield() }
        let before = rig.mock.requests.count
        rig.clock.advance(by: .seconds(1))
        _ = try await second.value
        for _ in 0..<500 { await Task.yield() }
        let after = rig.mock.requests.count
        rig.clock.advance(by: .seconds(5))
        _ = try await third.value
        // Whoever takes the place, no two may begin at once where the burst is one.
        withKnownIssue("the place of one who left is given at the end of the line, together with the last one's") {
            #expect(after - before <= 1)
        }
    }
}
