import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Tests the queue of one bucket step by step. A request is in the queue when `enter()` has returned.
@Suite("Throttle: the queue", .inTurn(.withoutSockets))
struct ThrottleBucketTests {
    private let clock = ManualClock()

    /// A bucket, and its limit, with which all requests enter it.
    private struct LimitedBucket {
        let bucket: ThrottleBucket
        var limit: ThrottleLimit

        var waitingCount: Int { bucket.waitingCount }

        func enter() -> Waiter? { bucket.enter(limit) }
    }

    private func bucket(rate: Double = 1, burst: Int = 1) -> LimitedBucket {
        let limit = ThrottleLimit(rate: rate, burst: burst)
        return LimitedBucket(bucket: ThrottleBucket(limit, clock: PipelineClock(clock)), limit: limit)
    }

    /// Advances the clock by a second once the timer sleeps.
    private func second() async {
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
    }

    @Test("requests are admitted in the order of arrival") func firstComeFirstServed() async throws {
        let bucket = bucket()
        #expect(bucket.enter() == nil)
        let turns = (0..<20).compactMap { _ in bucket.enter() }
        #expect(turns.count == 20)
        for (index, turn) in turns.enumerated() {
            await second()
            try await turn.wait()
            #expect(turns.count { $0.hasEnded } == index + 1)
        }
        // One timer, which is started again for each request.
        #expect(clock.sleeps == Array(repeating: .seconds(1), count: 20))
        #expect(bucket.waitingCount == 0 && clock.sleeperCount == 0)
    }

    @Test("a dropped request leaves the queue immediately, and all behind it move up", arguments: [0, 1, 2])
    func aDrop(index: Int) async throws {
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

    @Test("the timer ends when the last request leaves the queue") func whenTheLastLeavesTheTimerEnds() async throws {
        let bucket = bucket()
        _ = bucket.enter()
        let turns = (0..<3).compactMap { _ in bucket.enter() }
        await clock.waitForSleepers(1)
        for turn in turns { turn.cancel() }
        #expect(bucket.waitingCount == 0)
        await clock.waitUntil { $0.sleeperCount == 0 }
        // No dropped request took a token, so a new one waits as if they had not existed.
        let turn = try #require(bucket.enter())
        await second()
        try await turn.wait()
        #expect(bucket.waitingCount == 0)
    }

    @Test("a late timer admits at most a burst") func aTimerThatIsLateLetsNoMoreThanABurstGo() async throws {
        let bucket = bucket(burst: 3)
        for _ in 0..<3 { #expect(bucket.enter() == nil) }
        let turns = (0..<5).compactMap { _ in bucket.enter() }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        // Nor does a later request overtake those that wait.
        let late = try #require(bucket.enter())
        for turn in turns.prefix(3) { try await turn.wait() }
        await clock.waitForSleepers(1)
        #expect(turns.count { $0.hasEnded } == 3 && !late.hasEnded)
    }

    @Test("a changed rate applies to the requests that wait: a faster one admits them sooner, and a slower one later", arguments: [0.5, 4])
    func changedRate(rate: Double) async throws {
        var bucket = bucket()
        _ = bucket.enter()
        let first = try #require(bucket.enter())
        await clock.waitForSleepers(1)
        bucket.limit = ThrottleLimit(rate: rate)
        let second = try #require(bucket.enter())
        // The bucket is empty at most for the time of one token at the new rate.
        let wait = min(Duration.seconds(1), .seconds(1 / rate))
        await clock.waitUntil { $0.sleeps.last == wait && $0.sleeperCount == 1 }
        clock.advance(by: wait)
        try await first.wait()
        await clock.waitForSleepers(1)
        #expect(clock.sleeps.last == .seconds(1 / rate) && !second.hasEnded)
        clock.advance(by: .seconds(1 / rate))
        try await second.wait()
    }

    @Test("a clock that cannot sleep fails the waiting requests") func aClockThatCantWaitFailsWhoWaits() async throws {
        struct Broken: Clock {
            var now: ContinuousClock.Instant { ContinuousClock().now }
            var minimumResolution: Duration { .zero }
            func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { throw Rejected() }
        }
        let limit = ThrottleLimit(rate: 0.001)
        let bucket = ThrottleBucket(limit, clock: PipelineClock(Broken()))
        _ = bucket.enter(limit)
        let turns = (0..<3).compactMap { _ in bucket.enter(limit) }
        for turn in turns { await #expect(throws: Rejected()) { try await turn.wait() } }
    }

    @Test("a clock may ask the bucket when its sleep is canceled, because it is canceled outside the bucket's lock")
    func curiousClock() async throws {
        struct Curious: Clock {
            let manual = ManualClock()
            let sleeps = TestGate()
            let ask: @Sendable () -> Void
            var now: ManualClock.Instant { manual.now }
            var minimumResolution: Duration { .zero }
            func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
                try await withTaskCancellationHandler {
                    sleeps.open()
                    try await manual.sleep(until: deadline)
                } onCancel: {
                    ask()
                }
            }
        }
        let asked = Lock<ThrottleBucket?>(nil), counts = Log<Int>()
        let clock = Curious { asked.withLock { $0 }.map { counts.add($0.waitingCount) } }
        let limit = ThrottleLimit(rate: 0.001)
        let bucket = ThrottleBucket(limit, clock: PipelineClock(clock))
        asked.withLock { $0 = bucket }
        _ = bucket.enter(limit)
        let turn = try #require(bucket.enter(limit))
        await clock.sleeps.wait()
        turn.cancel()
        #expect(counts.entries == [0])
        asked.withLock { $0 = nil }
    }

    @Test("any burst is accepted, and counts as one at least", arguments: [Int.min, -1, 0, Int.max])
    func anyBurstIsTaken(burst: Int) throws {
        for rate in [1e-300, 0.01, 1e300] {
            let bucket = bucket(rate: rate, burst: burst)
            #expect(bucket.enter() == nil)
            #expect((bucket.enter() == nil) == (burst > 1 || rate > 1))
        }
    }
}
