import NessLock

/// An object that a timer calls.
protocol TimerTarget: AnyObject, Sendable {
    /// The time has passed. Runs in a task that other timers share, so it must not block.
    func timerDidFire()
}

/// Runs any number of timers with one sleeping task.
///
/// A canceled `Task.sleep` leaves its timer in the runtime until the time has passed. With one sleep for each request, a busy client with
/// timeouts of a minute would hold some hundred megabytes of such timers. Here a canceled timer leaves nothing behind. One task sleeps
/// until the earliest timer. A new timer replaces that task only if it is due before the task wakes.
///
/// Replaced sleeps stay few and short:
///
/// - A sleep is at most twice as long as the one before it, and at most a minute. If no timer is due when the task wakes, it sleeps again.
/// - A task that replaces another one first sleeps half of the time. Many timers, each earlier than the last, then replace it a dozen times
///   instead of once each.
///
/// The last sleep before a timer ends at its deadline.
final class TimerQueue: Sendable {
    private struct Sleep: Sendable {
        let number: Int
        let start: Duration
        let end: Duration
        /// The task that sleeps. Until it has been made, the task that this sleep replaces.
        var task: Task<Void, Never>?
    }

    private struct State: Sendable {
        var timers = TimerHeap<any TimerTarget>()
        var sleeper: Sleep?
        var lastNumber = 0
        /// The longest time that the next task may sleep.
        var longest = TimerQueue.firstSleep

        /// Plans a sleep until the earliest timer, unless the sleeping task wakes before that timer is due.
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
            lastNumber += 1
            sleeper = Sleep(number: lastNumber, start: now, end: end, task: sleeper?.task)
            return sleeper
        }
    }

    private static let firstSleep = Duration.seconds(1)
    private static let longestSleep = Duration.seconds(60)
    /// The shortest time that is worth halving.
    private static let shortestHalf = Duration.milliseconds(2)

    private let elapsed: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Lock(State())

    /// Makes a queue.
    /// - Parameters:
    ///   - elapsed: Returns the time of the clock.
    ///   - sleep: Sleeps until a time of the clock. A length of sleep would not do: if the clock moved between reading it and falling
    ///     asleep, the sleep would end too late, and with a clock that a test moves perhaps never.
    init(elapsed: @escaping @Sendable () -> Duration, sleepUntil sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.elapsed = elapsed
        self.sleep = sleep
    }

    deinit {
        let task = state.withLock { $0.sleeper?.task }
        task?.cancel()
    }

    /// The number of timers, and the number of heap entries, which includes canceled timers.
    var counts: (timers: Int, entries: Int) { state.withLock { ($0.timers.count, $0.timers.entryCount) } }

    /// The time at which the sleeping task wakes; `nil` if no task sleeps.
    var sleepEnd: Duration? { state.withLock { $0.sleeper?.end } }

    /// Ends the sleeping task if no timer is left.
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
    ///   - target: The object to call when the time has passed. It is retained until then, or until the timer is canceled.
    /// - Returns: The identifier for `cancel(_:)`.
    func add(after duration: Duration, _ target: any TimerTarget) -> Int {
        let now = elapsed()
        let deadline = now + duration.clampedForSleep
        let (id, sleep): (Int, Sleep?) = state.withLock { state in
            let id = state.timers.add(deadline, target)
            return (id, state.plan(at: now))
        }
        if let sleep { begin(sleep) }
        return id
    }

    /// Cancels a timer and releases its target. Does nothing if the timer has fired.
    func cancel(_ id: Int) {
        // The target, and all that it holds, is released outside the lock.
        _ = state.withLock { $0.timers.cancel(id) }
    }

    /// Waits for a time.
    /// - Parameter duration: The time from now.
    /// - Throws: `CancellationError` if the task is canceled.
    func wait(_ duration: Duration) async throws {
        let waiter = Waiter(), id = add(after: duration, waiter)
        try await withTaskCancellationHandler {
            try await waiter.wait()
        } onCancel: {
            cancel(id)
            waiter.cancel()
        }
    }

    private func begin(_ planned: Sleep) {
        planned.task?.cancel()
        // Detached: the task serves the timers of all requests, so it must not inherit the task-local values of one of them.
        let task = Task.detached { [weak self, sleep] in
            let hasSlept = (try? await sleep(planned.end)) != nil
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
        let (due, next): ([any TimerTarget], Sleep?) = state.withLock { state in
            guard state.sleeper?.number == planned.number else { return ([], nil) }
            state.sleeper = nil
            state.longest = min(max((now - planned.start) * 2, TimerQueue.shortestHalf), TimerQueue.longestSleep)
            let due = state.timers.takeDue(at: now)
            // A clock that cannot sleep would wake the task in an endless loop. The timers then wait until another timer is added.
            let isStuck = !hasSlept || (now == planned.start && planned.end > now)
            return (due, isStuck ? nil : state.plan(at: now))
        }
        // The next sleep starts before the timers fire, so that their targets do not delay other timers.
        if let next { begin(next) }
        for target in due { target.timerDidFire() }
    }
}

extension ValueWaiter<Void>: TimerTarget {
    func timerDidFire() { resume() }
}
