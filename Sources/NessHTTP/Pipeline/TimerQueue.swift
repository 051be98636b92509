/// Many timers over one sleeping task.
///
/// A `Task.sleep` that is cancelled leaves its timer behind until the time has passed: with one for each request, a busy client
/// with timeouts of a minute would hold some hundred megabytes of them. Here a timer that is cancelled leaves nothing, and there is about
/// one sleep a minute.
final class TimerQueue: Sendable {
    private struct Timer: Sendable {
        let deadline: Duration
        let fire: @Sendable () -> Void
    }

    private struct State: Sendable {
        var nextID = 0
        var timers: [Int: Timer] = [:]
        /// When the task that sleeps will look; nil while none sleeps.
        var nextLook: Duration?
    }

    private let elapsed: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Lock(State())

    init(elapsed: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.elapsed = elapsed
        self.sleep = sleep
    }

    /// Adds a timer and returns what cancels it.
    func add(after duration: Duration, _ fire: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let deadline = elapsed() + duration.clampedForSleep
        let (id, isEarliest): (Int, Bool) = state.withLock { state in
            state.nextID += 1
            state.timers[state.nextID] = Timer(deadline: deadline, fire: fire)
            let isEarliest = state.nextLook.map { deadline < $0 } ?? true
            if isEarliest { state.nextLook = deadline }
            return (state.nextID, isEarliest)
        }
        if isEarliest { look(at: deadline) }
        return { [weak self] in
            // What the timer holds goes outside the lock.
            _ = self?.state.withLock { $0.timers.removeValue(forKey: id) }
        }
    }

    /// Looks for timers that are due, at a time to come.
    private func look(at time: Duration) {
        Task { [weak self, elapsed, sleep] in
            // A clock whose sleep fails has the timers looked at early, which does no harm.
            try? await sleep(time - elapsed())
            self?.look()
        }
    }

    private func look() {
        let now = elapsed()
        let (due, next): ([Timer], Duration?) = state.withLock { state in
            // Another task has taken over since.
            if let nextLook = state.nextLook, nextLook > now { return ([], nil) }
            let due = state.timers.filter { $0.value.deadline <= now }
            for id in due.keys { state.timers[id] = nil }
            state.nextLook = state.timers.values.map(\.deadline).min()
            return (due.values.sorted { $0.deadline < $1.deadline }, state.nextLook)
        }
        if let next { look(at: next) }
        for timer in due { timer.fire() }
    }
}
