import NessHTTP
import NessLock

/// A clock that stands still until a test advances it, so that tests never wait in real time.
///
/// ```swift
/// let clock = ManualClock()
/// let ness = Ness { $0.clock = clock }
/// // … send a request …
/// await clock.waitForSleepers(1)
/// clock.advance(by: .seconds(60))
/// ```
///
/// The clock distinguishes two kinds of waits. A delay, such as the wait before a retry, is expected to pass. A timeout is not. With
/// `advancesAutomatically`, a delay advances the clock, returns immediately, and is recorded in `sleeps`. A timeout never advances the
/// clock. It fires once the test or a delay has advanced the clock far enough.
public final class ManualClock: Clock, Sendable {
    /// A point in the clock's time.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// Returns the instant that lies a duration after this one.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Returns the time from this instant to another.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Returns `true` if an instant lies before another.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper: Sendable {
        let deadline: Instant
        let waiter: Waiter
    }

    private struct State: Sendable {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        var sleeps: [Duration] = []
    }

    private let advancesAutomatically: Bool
    private let state = Lock(State())
    private let changed = ChangeSignal()

    /// Makes a clock at time zero.
    /// - Parameter advancesAutomatically: `true` if delays return immediately and advance the clock.
    public init(advancesAutomatically: Bool = false) { self.advancesAutomatically = advancesAutomatically }

    /// The clock's time.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero: the clock has no smallest step.
    public var minimumResolution: Duration { .zero }

    /// The length of every delay, in the order in which the delays started. Timeouts are not included.
    public var sleeps: [Duration] { state.withLock { $0.sleeps } }

    /// The number of tasks that currently wait on this clock, for delays and for timeouts.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until the clock reaches an instant. The wait counts as a delay.
    /// - Parameters:
    ///   - deadline: The instant.
    ///   - tolerance: Ignored.
    /// - Throws: `CancellationError` if the task is canceled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let isOver = state.withLock { state in
            state.sleeps.append(state.now.duration(to: deadline))
            return advancesAutomatically
        }
        changed.notify()
        if isOver {
            try Task.checkCancellation()
            return move { $0.duration(to: deadline) }
        }
        try await wait(until: deadline)
    }

    /// Advances the clock, and wakes the tasks whose deadline has passed, the earliest first.
    /// - Parameter duration: The time to advance by, limited to about thirty years. A negative duration counts as zero.
    public func advance(by duration: Duration) { move { _ in duration } }

    /// Suspends until at least `count` tasks wait on this clock, for delays and for timeouts.
    /// - Parameter count: The number of waiting tasks.
    public func waitForSleepers(_ count: Int) async { await waitUntil { $0.sleeperCount >= count } }

    /// Suspends until the clock meets a condition, such as `{ $0.sleeperCount == 0 }`. The condition is checked at each change.
    /// - Parameter predicate: The condition. Runs in the calling task.
    /// - Returns: `true` if the condition was met; `false` if the task was canceled before.
    @discardableResult
    public func waitUntil(_ predicate: @Sendable (ManualClock) -> Bool) async -> Bool { await changed.wait { predicate(self) } }

    private func move(_ step: (Instant) -> Duration) {
        let woken = state.withLock { state in
            // Without a limit, the sum of many steps could end the process.
            let now = state.now.advanced(by: step(state.now).clampedForSleep)
            state.now = now
            let due = state.sleepers.filter { $0.value.deadline <= now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value.waiter)
        }
        for waiter in woken { waiter.resume() }
        changed.notify()
    }

    private func wait(until deadline: Instant) async throws {
        let waiter: Waiter? = state.withLock { state in
            if deadline <= state.now { return nil }
            state.nextID += 1
            let waiter = Waiter { [self, id = state.nextID] in leave(id) }
            state.sleepers[state.nextID] = Sleeper(deadline: deadline, waiter: waiter)
            return waiter
        }
        guard let waiter else { return try Task.checkCancellation() }
        changed.notify()
        try await waiter.wait()
    }

    private func leave(_ id: Int) {
        state.withLock { _ = $0.sleepers.removeValue(forKey: id) }
        changed.notify()
    }
}

extension ManualClock: WatchingClock {
    /// Waits for a timeout. The wait does not advance the clock.
    package func watch(until deadline: Instant) async throws { try await wait(until: deadline) }
}
