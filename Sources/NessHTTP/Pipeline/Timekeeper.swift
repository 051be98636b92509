/// The injected clock, without its type: every wait of the library goes through one.
package struct Timekeeper: Sendable {
    /// The time since this was made.
    package let elapsed: @Sendable () -> Duration
    /// Waits that long.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// Waits that long as a timer does that hopes not to be needed: a clock that skips all waits must not skip this one.
    package let watch: @Sendable (Duration) async throws -> Void

    package init(_ clock: any Clock<Duration>) { self = Self.make(clock) }

    private init(
        elapsed: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
        watch: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.elapsed = elapsed
        self.sleep = sleep
        self.watch = watch
    }

    private static func make<C: Clock>(_ clock: C) -> Timekeeper where C.Duration == Duration {
        let start = clock.now
        let sleep: @Sendable (Duration) async throws -> Void = { duration in
            try await clock.sleep(until: clock.now.advanced(by: duration.clampedForSleep), tolerance: nil)
        }
        guard let watching = clock as? any WatchingClock else {
            return Timekeeper(elapsed: { start.duration(to: clock.now) }, sleep: sleep, watch: sleep)
        }
        return Timekeeper(
            elapsed: { start.duration(to: clock.now) }, sleep: sleep,
            watch: { duration in try await watching.watch(for: duration.clampedForSleep) })
    }
}

/// A clock that tells timers that hope not to be needed, such as timeouts, from waits that are meant to pass, such as a retry's
/// delay: `ManualClock` lets the latter pass by themselves without having every timeout fire.
package protocol WatchingClock: Sendable {
    /// Waits until that much time has passed for other reasons.
    func watch(for duration: Duration) async throws
}
