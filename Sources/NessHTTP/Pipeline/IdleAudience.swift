/// The callers who wait for one exchange, each with an idle timeout of its own.
protocol IdleAudience: AnyObject, Sendable {
    /// Drops the callers for whom nothing has moved for too long, unless that is so for all of them: then the exchange itself has failed.
    /// - Parameters:
    ///   - lastActivity: When a byte last moved, on the manager's clock.
    ///   - now: The time now.
    func judgeIdleness(since lastActivity: Duration, at now: Duration) -> Idleness
    /// Sets the closure that runs when a caller with an earlier timeout has come.
    func onEarlierTimeout(_ look: @escaping @Sendable () -> Void)
}

/// The state of an exchange in which nothing moves.
enum Idleness: Sendable {
    /// The longest timeout of those who wait has passed.
    case tooLong(Duration)
    /// Someone still waits: until then, if nothing moves.
    case lookAgain(at: Duration)

    /// Judges an exchange with one timeout.
    static func judge(since lastActivity: Duration, _ timeout: Duration, at now: Duration) -> Idleness {
        let end = lastActivity + timeout.clampedForSleep
        return end <= now ? .tooLong(timeout) : .lookAgain(at: end)
    }
}
