/// The injected clock, without its type: every wait of the library goes through one.
package struct Timekeeper: Sendable {
    /// The time since this was made.
    package let elapsed: @Sendable () -> Duration
    /// Waits that long.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// Waits that long as a timer does that hopes not to be needed; nil where that is no different.
    private let watch: (@Sendable (Duration) async throws -> Void)?
    private let timers: TimerQueue

    package init(_ clock: any Clock<Duration>) { self = Self.make(clock) }

    private init(
        elapsed: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
        watch: (@Sendable (Duration) async throws -> Void)?
    ) {
        self.elapsed = elapsed
        self.sleep = sleep
        self.watch = watch
        timers = TimerQueue(elapsed: elapsed, sleep: sleep)
    }

    private static func make<C: Clock>(_ clock: C) -> Timekeeper where C.Duration == Duration {
        let start = clock.now
        var watch: (@Sendable (Duration) async throws -> Void)?
        if let watching = clock as? any WatchingClock {
            watch = { duration in try await watching.watch(for: duration.clampedForSleep) }
        }
        return Timekeeper(
            elapsed: { start.duration(to: clock.now) },
            sleep: { duration in
                try await clock.sleep(until: clock.now.advanced(by: duration.clampedForSleep), tolerance: nil)
            }, watch: watch)
    }

    /// Calls a closure after some time, unless the timer is cancelled before. Such a timer hopes not to be needed.
    /// - Parameters:
    ///   - duration: The time; it is cut to some thirty years.
    ///   - fire: Runs in a task of its own.
    /// - Returns: What cancels the timer.
    package func startTimer(after duration: Duration, _ fire: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let watch else { return timers.add(after: duration, fire) }
        let task = Task {
            // A clock that fails, as on cancellation, fires nothing.
            if (try? await watch(duration)) != nil { fire() }
        }
        return { task.cancel() }
    }
}

/// A clock that tells timers that hope not to be needed, such as timeouts, from waits that are meant to pass, such as a retry's
/// delay: `ManualClock` lets the latter pass by themselves without having every timeout fire.
package protocol WatchingClock: Sendable {
    /// Waits until that much time has passed for other reasons.
    func watch(for duration: Duration) async throws
}

extension Duration {
    /// In seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
