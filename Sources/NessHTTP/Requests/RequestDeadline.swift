/// A time on a manager's clock by which requests have to end: see `Ness.deadline(after:)`.
public struct RequestDeadline: Sendable {
    /// The duration with which the deadline was made. Errors name it.
    let duration: Duration
    private let end: Duration
    private let clock: PipelineClock

    /// Makes a deadline.
    /// - Parameters:
    ///   - time: The time from now until the deadline.
    ///   - clock: The manager's clock.
    init(after time: Duration, on clock: PipelineClock) {
        duration = time
        end = clock.elapsed() + time.clampedForSleep
        self.clock = clock
    }

    /// The time that is left, by the manager's clock. Zero or negative once the deadline has passed.
    public var remaining: Duration { end - clock.elapsed() }
}
