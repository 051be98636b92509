import NessHTTP

/// A clock that stands still until a test moves it: no test has to wait for time to pass.
///
/// ```swift
/// let clock = ManualClock()
/// let ness = Ness { $0.clock = clock }
/// …
/// await clock.waitForSleepers(1)
/// clock.advance(by: .seconds(60))
/// ```
///
/// With `advancesAutomatically` every wait that is meant to pass, such as the delay before a retry, returns at once, moves the clock and
/// is recorded in `sleeps`. Timeouts do not move it: they run out when something else has.
public final class ManualClock: Clock, Sendable {
    /// A point in the clock's time.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// The instant that much later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from this instant to another.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether an instant comes before another.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper: Sendable {
        let deadline: Instant
        let continuation: UnsafeContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        /// Cancelled before they could begin to sleep.
        var cancelled: Set<Int> = []
        var sleeps: [Duration] = []
    }

    private let advancesAutomatically: Bool
    private let state = Lock(State())
    private let changed = ChangeSignal()

    /// Makes a clock at time zero.
    /// - Parameter advancesAutomatically: Whether waits that are meant to pass return at once.
    public init(advancesAutomatically: Bool = false) { self.advancesAutomatically = advancesAutomatically }

    /// The clock's time.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero: the clock is as exact as can be.
    public var minimumResolution: Duration { .zero }

    /// The length of every wait that was meant to pass, in the order in which they began. Timeouts are not among them.
    public var sleeps: [Duration] { state.withLock { $0.sleeps } }

    /// How many wait at the moment, timeouts among them.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until the clock has been moved to an instant.
    /// - Parameters:
    ///   - deadline: The instant.
    ///   - tolerance: Has no meaning here.
    /// - Throws: `CancellationError`, when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let isOver = state.withLock { state in
            state.sleeps.append(state.now.duration(to: deadline))
            return advancesAutomatically
        }
        changed.notify()
        if isOver {
            try Task.checkCancellation()
            return move(to: deadline)
        }
        try await wait(until: deadline)
    }

    /// Moves the clock and wakes whoever waited for that time, the earliest first.
    /// - Parameter duration: How far; less than nothing is nothing.
    public func advance(by duration: Duration) { move(to: now.advanced(by: max(.zero, duration))) }

    /// Suspends until at least so many wait on this clock, timeouts among them.
    /// - Parameter count: How many.
    public func waitForSleepers(_ count: Int) async { await waitUntil { $0.sleeperCount >= count } }

    /// Suspends until the clock meets a condition, such as `{ $0.sleeperCount == 0 }`. Looks again at each change.
    /// - Parameter predicate: The condition. Runs in the calling task.
    /// - Returns: Whether the condition was met; false when the task was cancelled before.
    @discardableResult
    public func waitUntil(_ predicate: @Sendable (ManualClock) -> Bool) async -> Bool { await changed.wait { predicate(self) } }

    private func move(to instant: Instant) {
        let woken = state.withLock { state in
            state.now = max(state.now, instant)
            let now = state.now
            let due = state.sleepers.filter { $0.value.deadline <= now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value.continuation)
        }
        for continuation in woken { continuation.resume() }
        changed.notify()
    }

    private func wait(until deadline: Instant) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                begin(id, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                if let sleeper = state.sleepers.removeValue(forKey: id) { return Optional(sleeper) }
                state.cancelled.insert(id)
                return nil
            }
            sleeper?.continuation.resume(throwing: CancellationError())
            changed.notify()
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    private func begin(_ id: Int, _ sleeper: Sleeper) {
        enum Outcome: Sendable { case sleeping, cancelled, over }
        let outcome: Outcome = state.withLock { state in
            if state.cancelled.remove(id) != nil { return .cancelled }
            if sleeper.deadline <= state.now { return .over }
            state.sleepers[id] = sleeper
            return .sleeping
        }
        switch outcome {
        case .sleeping: changed.notify()
        case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
        case .over: sleeper.continuation.resume()
        }
    }
}

extension ManualClock: WatchingClock {
    /// Waits until that much time has passed for other reasons.
    package func watch(for duration: Duration) async throws { try await wait(until: now.advanced(by: duration)) }
}
