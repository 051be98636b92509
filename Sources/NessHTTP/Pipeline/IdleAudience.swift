/// The callers who share one exchange, each with an idle timeout of its own.
protocol IdleAudience: AnyObject, Sendable {
    /// Drops the callers whose idle timeout has passed. If it has passed for all of them, drops none: the exchange itself has timed out.
    /// - Parameters:
    ///   - lastActivity: The time of the last byte in either direction, on the manager's clock.
    ///   - now: The current time, on the same clock.
    func judgeIdleness(since lastActivity: Duration, at now: Duration) -> Idleness
    /// Adds an object to call when a caller with an earlier timeout joins. It is retained until `endIdleCheck(_:)`.
    func beginIdleCheck(_ check: any TimerTarget)
    /// Removes the object of `beginIdleCheck(_:)`.
    func endIdleCheck(_ check: any TimerTarget)
}

/// The verdict on an idle exchange.
enum Idleness: Sendable {
    /// The timeout of every caller has passed. The associated value is the longest of these timeouts.
    case tooLong(Duration)
    /// The timeout of some caller has not passed. It passes at the given time if no byte arrives or leaves.
    case again(at: Duration)

    /// Judges an exchange with one timeout.
    static func judge(since lastActivity: Duration, _ timeout: Duration, at now: Duration) -> Idleness {
        let end = lastActivity + timeout.clampedForSleep
        return end <= now ? .tooLong(timeout) : .again(at: end)
    }
}
