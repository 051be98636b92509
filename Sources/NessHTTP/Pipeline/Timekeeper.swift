/// The injected clock, without its type. Every wait of the library goes through one.
package struct Timekeeper: Sendable {
    /// Returns the time since the timekeeper was made.
    package let elapsed: @Sendable () -> Duration
    /// Waits for a time that is meant to pass.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// Waits for a timeout. A manual clock does not advance for it by itself. `nil` if the clock does not distinguish timeouts from delays.
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

    /// Has nothing sleep unless a timer runs.
    package func rest() { timers.rest() }

    /// Calls a closure after some time, unless the timer is cancelled before: for timeouts.
    /// - Parameters:
    ///   - duration: The time; it is cut to some thirty years.
    ///   - fire: Runs in a task that other timers may share. It must not block.
    /// - Returns: A closure that cancels the timer and releases `fire`.
    package func startTimer(after duration: Duration, _ fire: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let watch else { return timers.add(after: duration, fire) }
        let timer = Lock<(@Sendable () -> Void)?>(fire)
        let task = Task {
            // A clock that fails, as on cancellation, fires nothing.
            guard (try? await watch(duration)) != nil else { return }
            timer.withLock { $0.take() }?()
        }
        return {
            // What the closure holds goes at once, even if the clock takes no notice of the cancellation.
            _ = timer.withLock { $0.take() }
            task.cancel()
        }
    }
}

/// A clock that distinguishes timeouts from waits that are meant to pass, such as a retry's delay. `ManualClock` lets the delays pass by
/// themselves without having every timeout fire.
package protocol WatchingClock: Sendable {
    /// Waits until that much time has passed. The wait itself does not advance the clock.
    func watch(for duration: Duration) async throws
}

extension Duration {
    /// In seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
