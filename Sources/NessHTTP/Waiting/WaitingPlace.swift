/// A place where requests wait for others, before anything of them is sent. Observers are notified of each wait: see
/// `RequestObserver.requestWillWait(_:at:)`. Tests can wait for it: see `waitForRequests(_:at:within:clock:)` of the module `NessTesting`.
public enum WaitingPlace: String, Sendable, Hashable, CaseIterable {
    /// The queue for a place among the concurrent exchanges: with the host (`maximumConnectionsPerHost`), with all hosts
    /// (`maximumConcurrentRequests`), or in a `LimitGroup`.
    case hostQueue
    /// The queue for the rate limit of the manager (`throttle`) or of a `LimitGroup`.
    case throttle
    /// The refresh of a credential: requests wait until a `RefreshableAuthentication` has a new one.
    case refresh
}
