import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// The queue of one bucket, step by step: who enters is in line when `enter()` has returned.
@Suite("Throttle: the queue", .inTurn)
struct ThrottleBucketTests {
    private let clock = ManualClock()

    private func bucket(rate: Double = 1, burst: Int = 1) -> ThrottleBucket {
        ThrottleBucket(ThrottleLimit(rate: rate, burst: burst), clock: Timekeeper(clock))
    }

    /// Moves the clock by a second when the timer sleeps.
    private func second() async {
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
    }

    @Test func firstComeFirstServed() async throws {
        let bucket = bucket()
        #expect(bucket.enter() == nil)
        let turns = (0..<20).compactMap { _ in bucket.enter() }
        #expect(turns.count == 20)
        for (index, turn) in turns.enumerated() {
            await second()
            try await turn.wait()
            #expect(turns.count { $0.hasEnded } == index + 1)
        }
        // One timer, armed anew for each.
        #expect(clock.sleeps == Array(repeating: .seconds(1), count: 20))
        #expect(bucket.waitingCount == 0 && clock.sleeperCount == 0)
    }

    @Test("one who is dropped leaves at once, and everyone behind moves up", arguments: [0, 1, 2]) func aDrop(index: Int) async throws {
        let bucket = bucket()
        _ = bucket.enter()
        var turns = (0..<4).compactMap { _ in bucket.enter() }
        turns.remove(at: index).cancel()
        #expect(bucket.waitingCount == 3)
        for (index, turn) in turns.enumerated() {
            await second()
            try await turn.wait()
            #expect(turns.count { $0.hasEnded } == index + 1)
        }
        #expect(clock.now.offset == .seconds(3))
    }

    @Test func whenTheLastLeavesTheTimerEnds() async throws {
        let bucket = bucket()
        _ = bucket.enter()
        let turns = (0..<3).compactMap { _ in bucket.enter() }
        await clock.waitForSleepers(1)
        for turn in turns { turn.cancel() }
        #expect(bucket.waitingCount == 0)
        await clock.waitUntil { $0.sleeperCount == 0 }
        // Nobody took a token: who comes waits as long as if they had not been.
        let turn = try #require(bucket.enter())
        await second()
        try await turn.wait()
        #expect(bucket.waitingCount == 0)
    }

    @Test func whoComesLaterNeverOvertakes() async throws {
        let bucket = bucket()
        _ = bucket.enter()
        let first = try #require(bucket.enter())
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(999))
        let second = try #require(bucket.enter())
        clock.advance(by: .seconds(1))
        try await first.wait()
        #expect(!second.hasEnded)
        // A timer that is late gives no two at once where the burst is one.
        await clock.waitForSleepers(1)
        #expect(clock.sleeps.last == .seconds(1))
        clock.advance(by: .seconds(1))
        try await second.wait()
    }

    @Test func aTimerThatIsLateLetsNoMoreThanABurstGo() async throws {
        let bucket = bucket(burst: 3)
        for _ in 0..<3 { #expect(bucket.enter() == nil) }
        let turns = (0..<5).compactMap { _ in bucket.enter() }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        for turn in turns.prefix(3) { try await turn.wait() }
        await clock.waitForSleepers(1)
        #expect(turns.count { $0.hasEnded } == 3)
    }

    @Test func aClockThatCantWaitFailsWhoWaits() async throws {
        struct Broken: Clock {
            var now: ContinuousClock.Instant { ContinuousClock().now }
            var minimumResolution: Duration { .zero }
            func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { throw Rejected() }
        }
        let bucket = ThrottleBucket(ThrottleLimit(rate: 0.001), clock: Timekeeper(Broken()))
        _ = bucket.enter()
        let turns = (0..<3).compactMap { _ in bucket.enter() }
        for turn in turns { await #expect(throws: Rejected()) { try await turn.wait() } }
    }

    @Test(arguments: [Int.min, -1, 0, Int.max]) func anyBurstIsTaken(burst: Int) throws {
        for rate in [1e-300, 0.01, 1e300] {
            let bucket = bucket(rate: rate, burst: burst)
            #expect(bucket.enter() == nil)
            #expect((bucket.enter() == nil) == (burst > 1 || rate > 1))
        }
    }
}
