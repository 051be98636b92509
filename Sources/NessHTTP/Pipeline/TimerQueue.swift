/// Any number of timers over one sleeping task.
///
/// A `Task.sleep` that is cancelled leaves its timer in the runtime until the time has passed. With a sleep for each request, a busy client with
/// timeouts of a minute would hold some hundred megabytes of them. Here a timer that is cancelled leaves nothing. One task sleeps, for the
/// earliest timer, and only a timer that is due before the task wakes replaces it.
///
/// Two rules keep replaced sleeps few and short. A sleep is at most twice as long as the one before it, and a minute: the task wakes, finds
/// nothing due, and sleeps on. A task that replaces another sleeps half of the way at first, so that a run of ever earlier timers replaces it
/// a dozen times and not once each. The last sleep before a timer ends at its deadline.
final class TimerQueue: Sendable {
    private struct Sleeper: Sendable {
        let number: Int
        let end: Duration
        /// `nil` for the moment until the task is made.
        var task: Task<Void, Never>?
    }

    private struct Sleep: Sendable {
        let number: Int
        let start: Duration
        let end: Duration
        /// The task that this sleep replaces.
        let replaced: Task<Void, Never>?
    }

    private struct State: Sendable {
        var timers = TimerHeap<@Sendable () -> Void>()
        var sleeper: Sleeper?
        var lastNumber = 0
        /// The longest time that the next task may sleep.
        var longest = TimerQueue.firstSleep

        /// Plans a sleep for the earliest timer, unless the task that sleeps wakes before it is due.
        mutating func plan(at now: Duration) -> Sleep? {
            guard let earliest = timers.earliest else {
                if sleeper == nil { longest = TimerQueue.firstSleep }
                return nil
            }
            let left = max(earliest - now, .zero)
            var end = now + min(left, longest)
            if let sleeper {
                guard earliest < sleeper.end else { return nil }
                end = now + (left > TimerQueue.shortestHalf ? left / 2 : left)
            }
            let replaced = sleeper?.task
            lastNumber += 1
            sleeper = Sleeper(number: lastNumber, end: end)
            return Sleep(number: lastNumber, start: now, end: end, replaced: replaced)
        }
    }

    private static let firstSleep = Duration.seconds(1)
    private static let longestSleep = Duration.seconds(60)
    /// A time that is not worth being halved.
    private static let shortestHalf = Duration.milliseconds(2)

    private let elapsed: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Lock(State())

    init(elapsed: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.elapsed = elapsed
        self.sleep = sleep
    }

    deinit {
        let task = state.withLock { $0.sleeper?.task }
        task?.cancel()
    }

    /// The number of timers, and of the entries that the queue keeps for them.
    var counts: (timers: Int, entries: Int) { state.withLock { ($0.timers.count, $0.timers.entryCount) } }

    /// The time at which the sleeping task wakes; `nil` if no task sleeps.
    var sleepEnd: Duration? { state.withLock { $0.sleeper?.end } }

    /// Ends the task that sleeps, if it sleeps for no timer.
    func rest() {
        let task: Task<Void, Never>? = state.withLock { state in
            guard state.timers.earliest == nil else { return nil }
            defer { state.sleeper = nil }
            return state.sleeper?.task
        }
        task?.cancel()
    }

    /// Adds a timer.
    /// - Parameters:
    ///   - duration: The time from now.
    ///   - fire: Runs when the time has passed, in a task that other timers share: it must not block.
    /// - Returns: A closure that cancels the timer and releases `fire`.
    func add(after duration: Duration, _ fire: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let now = elapsed()
        let deadline = now + duration.clampedForSleep
        let (id, sleep): (Int, Sleep?) = state.withLock { state in
            let id = state.timers.add(deadline, fire)
            return (id, state.plan(at: now))
        }
        if let sleep { begin(sleep) }
        return { [weak self] in
            // The closure is released outside the lock, with all that it holds.
            _ = self?.state.withLock { $0.timers.cancel(id) }
        }
    }

    private func begin(_ planned: Sleep) {
        planned.replaced?.cancel()
        // Detached: the task serves timers of all requests, and must not keep the task-local values of the one that made it.
        let task = Task.detached { [weak self, elapsed, sleep] in
            let hasSlept: Bool
            do {
                try await sleep(planned.end - elapsed())
                hasSlept = true
            } catch {
                hasSlept = false
            }
            self?.wake(planned, hasSlept)
        }
        let isReplaced = state.withLock { state in
            guard state.sleeper?.number == planned.number else { return true }
            state.sleeper?.task = task
            return false
        }
        if isReplaced { task.cancel() }
    }

    private func wake(_ planned: Sleep, _ hasSlept: Bool) {
        let now = elapsed()
        let (due, next): ([@Sendable () -> Void], Sleep?) = state.withLock { state in
            guard state.sleeper?.number == planned.number else { return ([], nil) }
            state.sleeper = nil
            state.longest = min(max((now - planned.start) * 2, TimerQueue.shortestHalf), TimerQueue.longestSleep)
            let due = state.timers.takeDue(at: now)
            // A clock that cannot sleep would have the task wake for ever. The timers wait for the next one that is added.
            let isStuck = !hasSlept || (now == planned.start && planned.end > now)
            return (due, isStuck ? nil : state.plan(at: now))
        }
        // Before the timers fire: what they do delays no other timer.
        if let next { begin(next) }
        for fire in due { fire() }
    }
}
