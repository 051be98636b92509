/// The stages of a manager's pipeline by name, outermost first: the names of the places where a caller's loaders can go.
public enum PipelineStage: Sendable, Hashable, CaseIterable {
    /// Tells the observers of the start and the end.
    case observe
    /// Ends the request when its deadline passes.
    case deadline
    /// Judges responses by the caller's validators and sends again what failed. All below runs for every attempt.
    case retry
    /// Adds base URL, default headers and the delegate's changes.
    case environment
    /// Adds credentials, and renews them.
    case authenticate
    /// Adds the cookies of the manager's jar, so that the cache and duplicates tell users apart.
    case cookies
    /// Answers from what is kept.
    case cache
    /// Has equal requests share one exchange. All below runs once for all of them.
    case coalesce
    /// Writes a download's body to its file, continues what is there, and names the file when it is whole. All below runs for each range.
    case download
    /// Follows redirects. All below runs for each of them.
    case redirect
    /// Gives each redirect the cookies of its own URL, and stores the cookies that its response sets.
    case redirectCookies
    /// Refuses what must not be sent.
    case check
    /// Spares a host that only fails. The breaker is asked again when the request leaves the queue of its host.
    case circuitBreaker
    /// Waits until the manager's limit lets the request begin.
    case throttle
    /// Waits for a place with the host.
    case hostQueue
    /// Ends the exchange when nothing moves. Below it is only the transport.
    case timers
}

/// Where a loader goes: see `Ness.Configuration.insert(_:_:)`.
public struct PipelinePlace: Sendable, Hashable {
    enum Side: Sendable { case before, after }

    let side: Side
    let stage: PipelineStage

    /// Just outside a stage, which the request comes to next.
    /// - Parameter stage: The stage; it marks its place also where the manager does without it.
    public static func before(_ stage: PipelineStage) -> PipelinePlace { PipelinePlace(side: .before, stage: stage) }

    /// Just inside a stage, from which the request comes.
    /// - Parameter stage: The stage; it marks its place also where the manager does without it.
    public static func after(_ stage: PipelineStage) -> PipelinePlace { PipelinePlace(side: .after, stage: stage) }
}
