/// A request of an exchange on the wire, or in a queue before it.
protocol ExchangeHop: AnyObject, Sendable {
    /// Stops the request with an error.
    func stop(_ error: any Error)
    /// Checks the idle timeout, because a caller with an earlier one has joined.
    func checkIdleness()
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
