import NessLock

/// The injected clock, with its type erased. Every wait of the library uses it, so a test with a `ManualClock` never sleeps.
package struct PipelineClock: Sendable {
    /// The real time, for limits that hold even if the manager's clock stands still.
    static let realTime = PipelineClock(ContinuousClock())

    /// Returns the time since the clock was made.
    package let elapsed: @Sendable () -> Duration
    /// Waits for a delay, such as the wait before a retry. An automatic manual clock advances for it.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// Waits for a delay that ends at a time, in terms of `elapsed`. The delay ends on time even if the task starts to wait late.
    let sleepUntil: @Sendable (Duration) async throws -> Void
    /// Waits until a time for a timeout. A manual clock does not advance for it by itself. `nil` if the clock does not distinguish timeouts
    /// from delays.
    private let watch: (@Sendable (Duration) async throws -> Void)?
    private let timers: TimerQueue

    package init(_ clock: any Clock<Duration>) {
        // Most managers use this clock. Code that the compiler specializes for it reads the time with a quarter of the instructions.
        if let continuous = clock as? ContinuousClock {
            self.init(continuous, watch: nil)
        } else if let watching = clock as? any WatchingClock {
            self.init(watching: watching)
        } else {
            self.init(clock, watch: nil)
        }
    }

    private init(watching clock: some WatchingClock) {
        self.init(clock) { deadline in try await clock.watch(until: deadline) }
    }

    private init<C: Clock>(_ clock: C, watch: (@Sendable (C.Instant) async throws -> Void)?) where C.Duration == Duration {
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleepUntil = { time in try await clock.sleep(until: start.advanced(by: time), tolerance: nil) }
        self.watch = watch.map { watch -> @Sendable (Duration) async throws -> Void in
            { time in try await watch(start.advanced(by: time)) }
        }
        let timers = TimerQueue(elapsed: elapsed, sleepUntil: sleepUntil)
        self.timers = timers
        // A timer takes a fraction of a sleep's memory, and leaves nothing behind if it is canceled. Clocks of tests see each sleep.
        if clock is ContinuousClock {
            sleep = { duration in try await timers.wait(duration) }
        } else {
            sleep = { duration in try await clock.sleep(until: clock.now.advanced(by: duration.clampedForSleep), tolerance: nil) }
        }
    }

    /// Ends the task that sleeps for the timers, if no timer is left. The next timer starts another task.
    package func rest() { timers.rest() }

    /// Starts a timer for a timeout. It calls a closure after a time, unless the timer is canceled before.
    /// - Parameters:
    ///   - duration: The time, limited to about thirty years.
    ///   - fire: Runs in a task that other timers may share, so it must not block.
    /// - Returns: A closure that cancels the timer and releases `fire`.
    package func startTimer(after duration: Duration, _ fire: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let timer = startTimer(after: duration, for: ClosureTarget(fire))
        return { timer.cancel() }
    }

    /// Starts a timer for a timeout: see `startTimer(after:_:)`. It takes no additional memory for the target.
    /// - Parameters:
    ///   - duration: The time, limited to about thirty years.
    ///   - target: The object to call. It is retained until the timer fires or is canceled.
    func startTimer(after duration: Duration, for target: any TimerTarget) -> StartedTimer {
        guard let watch else { return .queued(timers, id: timers.add(after: duration, target)) }
        let kept = Lock<(any TimerTarget)?>(target)
        // The time counts from here. A test may advance the clock before the task starts.
        let end = elapsed() + duration.clampedForSleep
        let task = Task {
            // The clock throws on cancellation. The timer then does not fire.
            guard (try? await watch(end)) != nil else { return }
            kept.withLock { $0.take() }?.timerDidFire()
        }
        return .watched {
            // The target is released immediately, even if the clock ignores the cancellation.
            _ = kept.withLock { $0.take() }
            task.cancel()
        }
    }
}

/// A timer that was started.
enum StartedTimer: Sendable {
    case queued(TimerQueue, id: Int)
    /// The timer of a clock that distinguishes timeouts from delays. The closure cancels it.
    case watched(@Sendable () -> Void)

    /// Cancels the timer and releases its target. Does nothing if the timer has fired.
    func cancel() {
        switch self {
        case .queued(let timers, let id): timers.cancel(id)
        case .watched(let cancel): cancel()
        }
    }
}

/// A target that calls a closure.
final class ClosureTarget: TimerTarget {
    private let fire: @Sendable () -> Void

    init(_ fire: @escaping @Sendable () -> Void) { self.fire = fire }

    func timerDidFire() { fire() }
}

/// A clock that distinguishes timeouts from delays. `ManualClock` can advance by itself for a delay, such as the wait before a retry,
/// without firing every timeout.
package protocol WatchingClock: Clock<Duration> {
    /// Waits for a timeout. The wait itself does not advance the clock.
    func watch(until deadline: Instant) async throws
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { self / .seconds(1) }
}
