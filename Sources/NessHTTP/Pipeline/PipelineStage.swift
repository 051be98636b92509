/// The stages of a manager's pipeline, outermost first. Each name marks two places for loaders of the application: before and after the
/// stage.
public enum PipelineStage: Sendable, Hashable, CaseIterable {
    /// Notifies the observers of the start and the end.
    case observe
    /// Ends the request when its deadline passes.
    case deadline
    /// Asks the caller's validators, and makes further attempts. The stages below run for each attempt.
    case retry
    /// Resolves the URL against the base URL, and adds the default headers and the delegate's changes.
    case environment
    /// Adds the credential, and renews it.
    case authenticate
    /// Adds the cookies of the manager's jar. It stands above the cache and the duplicates, so that both distinguish users.
    case cookies
    /// Answers from the cache.
    case cache
    /// Lets equal requests share one exchange. The stages below run once for all of them.
    case coalesce
    /// Writes a download's body to a partial file, resumes an earlier partial file, and moves the complete file to its destination. The
    /// stages below run for each range.
    case download
    /// Follows redirects. The stages below run for each hop.
    case redirect
    /// Gives each hop the cookies for its own URL, and stores the cookies that its response sets.
    case redirectCookies
    /// Refuses a request that must not be sent, such as one with a line break in a header field. What a loader of the application changes
    /// below this stage is checked again before it is sent.
    case check
    /// Fails requests to a host that keeps failing. The breaker is asked again when the request leaves the host's queue.
    case circuitBreaker
    /// Waits until the manager's rate limit lets the request begin.
    case throttle
    /// Waits until fewer exchanges than `Ness.maximumConnectionsPerHost` run with the origin.
    case hostQueue
    /// Ends the exchange at the idle timeout. Only loaders of the application and the transport are below.
    case timers
}

/// A place for a loader in the pipeline: see `Ness.Configuration.insert(_:_:)`.
public struct PipelinePlace: Sendable, Hashable {
    enum Side: Sendable { case before, after }

    let side: Side
    let stage: PipelineStage

    /// The place just above a stage: the request comes to the loader first, then to the stage.
    /// - Parameter stage: The stage. The place exists even if the manager does not use the stage.
    public static func before(_ stage: PipelineStage) -> PipelinePlace { PipelinePlace(side: .before, stage: stage) }

    /// The place just below a stage: the request comes to the stage first, then to the loader.
    /// - Parameter stage: The stage. The place exists even if the manager does not use the stage.
    public static func after(_ stage: PipelineStage) -> PipelinePlace { PipelinePlace(side: .after, stage: stage) }
}
