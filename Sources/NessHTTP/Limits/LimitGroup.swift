import NessLock

/// The limits of requests that belong together, such as those to one endpoint, or to one host that asks for a slower pace.
///
/// ```swift
/// let ness = Ness {
///     $0.limitGroup = { request in
///         guard request.url.path.hasPrefix("/search") else { return nil }
///         return LimitGroup("search", rate: 2, maximumConcurrentRequests: 1)
///     }
/// }
/// ```
public struct LimitGroup: Sendable, Hashable {
    /// The name of the group. Requests whose groups have the same name, byte for byte, share the limits.
    public var key: String
    /// The average number of requests per second, in place of the manager's `throttle`. `nil` to leave them to the manager's. A rate that
    /// is not positive, or not finite, means no limit.
    public var rate: Double?
    /// The number of requests that may start together after a pause. A number below 1 means 1.
    public var burst: Int
    /// The largest number of concurrent exchanges of the group. A number below 1 means 1. `nil` for no limit beyond the manager's, which
    /// apply in any case.
    public var maximumConcurrentRequests: Int?
    /// The limits of a circuit breaker that counts the group's requests together. `nil` to leave them to the manager's circuit breaker,
    /// which counts by origin.
    public var circuitBreaker: CircuitBreakerLimit?

    /// Makes a group. If requests of one group have different limits, those of the latest request apply.
    /// - Parameters:
    ///   - key: The name of the group.
    ///   - rate: The average number of requests per second; `nil` for the manager's `throttle`.
    ///   - burst: The number of requests that may start together after a pause, at least one.
    ///   - maximumConcurrentRequests: The largest number of concurrent exchanges, at least one; `nil` for no limit beyond the manager's.
    ///   - circuitBreaker: The limits of the group's circuit breaker; `nil` for the manager's circuit breaker.
    public init(
        _ key: String, rate: Double? = nil, burst: Int = 1, maximumConcurrentRequests: Int? = nil,
        circuitBreaker: CircuitBreakerLimit? = nil
    ) {
        self.key = key
        self.rate = rate
        self.burst = burst
        self.maximumConcurrentRequests = maximumConcurrentRequests
        self.circuitBreaker = circuitBreaker
    }
}

/// The requests that share a bucket of the throttle or a circuit.
enum LimitKey: Hashable, Sendable, CustomStringConvertible {
    case manager
    case origin(ParsedURL.Origin)
    case group(ExactText)

    var description: String {
        switch self {
        case .manager: "the manager"
        case .origin(let origin): origin.description
        case .group(let key): "the group \(key.text.oneLine)"
        }
    }
}

/// The groups of a manager's requests, and the limiters that they share.
final class LimitGroups: Sendable {
    fileprivate typealias Lanes = Limiter<ExactText>

    private let group: @Sendable (HTTPRequest) -> LimitGroup?
    /// The exchanges of a group, from before the host's queue to their end.
    fileprivate let running = Lanes(limit: 1)
    /// The exchange of a group that is next to start. While it waits for its token it occupies a slot of the host, so the others wait here.
    fileprivate let starting = Lanes(limit: 1)

    /// Makes the groups.
    /// - Parameter group: Returns the group of a request; `nil` for none.
    init(_ group: @escaping @Sendable (HTTPRequest) -> LimitGroup?) { self.group = group }

    /// Returns a request's membership in its group. `nil` without a group.
    func membership(of request: HTTPRequest) -> GroupMembership? { group(request).map { GroupMembership($0, self) } }
}

/// An exchange as a member of its group: the limits that it got, and the slots that it occupies.
final class GroupMembership: Sendable {
    private struct Slots: Sendable {
        var running: LimitGroups.Lanes.Lane?
        var starting: LimitGroups.Lanes.Lane?
    }

    /// A slot, and the wait for it; `nil` if it was free.
    typealias Place = (lane: Limiter<ExactText>.Lane, waiter: Waiter?)

    let group: LimitGroup
    let key: ExactText
    private let groups: LimitGroups
    private let slots = Lock(Slots())

    fileprivate init(_ group: LimitGroup, _ groups: LimitGroups) {
        self.group = group
        self.groups = groups
        key = ExactText(group.key)
    }

    /// The rate of the group; `nil` for the manager's.
    var throttle: ThrottleLimit? { group.rate.map { ThrottleLimit(rate: $0, burst: group.burst) } }

    /// Enters the queue for a slot among the running exchanges. Returns `nil` if their number has no limit.
    func enterRunning() -> Place? { group.maximumConcurrentRequests.map { groups.running.enter(key, limit: max(1, $0)) } }

    /// Enters the queue of the exchanges that have yet to start. Returns `nil` if the group has no rate.
    func enterStarting() -> Place? { throttle?.isLimit == true ? groups.starting.enter(key) : nil }

    func occupy(running lane: Limiter<ExactText>.Lane) { slots.withLock { $0.running = lane } }

    func occupy(starting lane: Limiter<ExactText>.Lane) { slots.withLock { $0.starting = lane } }

    /// Lets the next exchange of the group go to the host's queue, because this one has started.
    func start() {
        if let lane = slots.withLock({ $0.starting.take() }) { groups.starting.leave(lane) }
    }

    /// Gives the slots back.
    func leave() {
        start()
        if let lane = slots.withLock({ $0.running.take() }) { groups.running.leave(lane) }
    }
}
