/// A change of the state of a circuit breaker: see `RequestObserver.circuitBreakerDidChange(_:)`.
public struct CircuitBreakerChange: Sendable, Hashable {
    /// The state of a circuit breaker.
    public enum State: String, Sendable, Hashable {
        /// Requests are sent.
        case closed
        /// Requests fail, and nothing is sent.
        case open
        /// One request is sent as a probe. The others fail.
        case halfOpen
    }

    /// The state before.
    public let old: State
    /// The state now.
    public let new: State
    /// The origin of the breaker, such as `https://api.example.com:443`. `nil` for the breaker of a group.
    public let origin: String?
    /// The name of the breaker's `LimitGroup`. `nil` for the breaker of an origin.
    public let group: String?

    init(_ old: State, _ new: State, of key: LimitKey) {
        (self.old, self.new) = (old, new)
        switch key {
        case .manager: (origin, group) = (nil, nil)
        case .origin(let name): (origin, group) = (name.description, nil)
        case .group(let name): (origin, group) = (nil, name.text)
        }
    }
}
