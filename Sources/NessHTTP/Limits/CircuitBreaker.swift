import Foundation
import NessLock

/// The limits of a circuit breaker, which stops sending requests to a host that keeps failing.
public struct CircuitBreakerLimit: Sendable, Hashable {
    /// The fraction of requests in a window that opens the breaker if they fail: 0.5 is half of them.
    public var failureRatio: Double
    /// The number of requests in a window below which the breaker never opens.
    public var minimumRequests: Int
    /// The length of a window. Each window counts from zero.
    public var window: Duration
    /// The time for which an open breaker sends nothing. After it, one request probes the host.
    public var openDuration: Duration

    /// Makes a limit.
    /// - Parameters:
    ///   - failureRatio: The fraction of requests in a window that opens the breaker if they fail.
    ///   - minimumRequests: The number of requests in a window below which the breaker never opens.
    ///   - window: The length of a window.
    ///   - openDuration: The time for which an open breaker sends nothing.
    public init(
        failureRatio: Double = 0.5, minimumRequests: Int = 20, window: Duration = .seconds(10), openDuration: Duration = .seconds(30)
    ) {
        self.failureRatio = failureRatio
        self.minimumRequests = minimumRequests
        self.window = window
        self.openDuration = openDuration
    }
}

/// Immediately fails requests to a host that keeps failing. This reduces the load on the host, and the time that callers wait.
///
/// While closed, the breaker counts transient errors and statuses of 500 and above, for each origin, or for each group that has its own
/// limits. It opens when too many requests in a window fail. Requests then fail with `NessError.Kind.circuitOpen`, and nothing is sent.
/// After `openDuration` it lets one request through as a probe. If the probe succeeds the breaker closes; if it fails the breaker stays
/// open for `openDuration` again.
///
/// The breaker is checked above the host's queue, so that no request waits for a host with an open breaker. It is checked again below the
/// queue, so that a request that waited there is not sent once the breaker has opened.
final class CircuitBreaker: Sendable {
    private enum Circuit: Sendable {
        /// Counts the requests of a window.
        case closed(requests: Int, failures: Int, windowEnd: Duration)
        case open(until: Duration)
        /// A request that says nothing about the host ends a probe without another state. The next request is then the probe.
        case halfOpen(isProbing: Bool)

        /// Returns the time for which no request may be sent, which is zero while a probe runs; `nil` if one may be sent now.
        func openTime(at now: Duration) -> Duration? {
            switch self {
            case .open(let end): now < end ? end - now : nil
            case .halfOpen(let isProbing): isProbing ? .zero : nil
            case .closed: nil
            }
        }

        var state: CircuitBreakerChange.State {
            switch self {
            case .closed: .closed
            case .open: .open
            case .halfOpen: .halfOpen
            }
        }
    }

    /// The requests that count together, and their limits.
    private struct Subject: Sendable {
        let key: LimitKey
        let limit: CircuitBreakerLimit
    }

    private typealias Circuits = [LimitKey: Circuit]

    private let limit: CircuitBreakerLimit?
    private let clock: PipelineClock
    private let circuits = Lock<Circuits>([:])
    private let onChange: @Sendable (CircuitBreakerChange) -> Void
    /// Reports the changes, one after the other.
    private let reports = DispatchQueue(label: "ness.circuit-breaker")
    /// The number of circuits at which circuits without recent requests are removed: a crawler visits any number of hosts.
    private static let crowd = 1_000

    /// Makes a circuit breaker.
    /// - Parameters:
    ///   - limit: The limits for each origin, for requests whose group has none; `nil` for none.
    ///   - clock: The clock that measures the times.
    ///   - onChange: Receives the changes of states, one after the other, on a background queue.
    init(_ limit: CircuitBreakerLimit?, clock: PipelineClock, onChange: @escaping @Sendable (CircuitBreakerChange) -> Void) {
        self.limit = limit
        self.clock = clock
        self.onChange = onChange
    }

    /// Makes the caller's error, a `NessError.Kind.circuitOpen`, from a reason.
    typealias MakeError = (_ reason: String) -> NessError

    private func subject(of request: HTTPRequest, _ group: GroupMembership?) -> Subject? {
        if let group, let limit = group.group.circuitBreaker { return Subject(key: .group(group.key), limit: limit) }
        return limit.map { Subject(key: .origin(request.origin), limit: $0) }
    }

    /// Throws `NessError.Kind.circuitOpen` if a request may not be sent now.
    func check(_ request: HTTPRequest, _ group: GroupMembership?, _ error: MakeError) throws {
        guard let subject = subject(of: request, group) else { return }
        let now = clock.elapsed()
        if let openTime = circuits.withLock({ $0[subject.key]?.openTime(at: now) }) { throw Self.openError(subject, openTime, error) }
    }

    /// Lets a request through.
    /// - Returns: The request as the breaker counts it; `nil` if nothing counts it.
    /// - Throws: `NessError.Kind.circuitOpen`.
    func enter(_ request: HTTPRequest, _ group: GroupMembership?, _ error: MakeError) throws -> CircuitPermit? {
        guard let subject = subject(of: request, group) else { return nil }
        let now = clock.elapsed()
        let (isProbe, openTime): (Bool, Duration?) = circuits.withLock { circuits in
            switch circuits[subject.key] {
            case nil, .closed?: return (false, nil)
            case let circuit?:
                if let openTime = circuit.openTime(at: now) { return (false, openTime) }
                change(&circuits, subject.key, to: .halfOpen(isProbing: true))
                return (true, nil)
            }
        }
        if let openTime { throw Self.openError(subject, openTime, error) }
        return CircuitPermit { [self] outcome in leave(subject, isProbe, outcome) }
    }

    private static func openError(_ subject: Subject, _ openTime: Duration, _ error: MakeError) -> NessError {
        var failure = error("too many requests to \(subject.key) failed; new ones are blocked for a while")
        failure.context.circuitOpenTime = openTime
        return failure
    }

    func reset() {
        circuits.withLock { circuits in
            for key in circuits.keys { change(&circuits, key, to: nil) }
        }
    }

    /// Changes a circuit, and reports another state.
    private func change(_ circuits: inout Circuits, _ key: LimitKey, to circuit: Circuit?) {
        let old = circuits[key]?.state ?? .closed, new = circuit?.state ?? .closed
        circuits[key] = circuit
        guard old != new else { return }
        reports.async { [onChange] in onChange(CircuitBreakerChange(old, new, of: key)) }
    }

    enum Outcome { case worked, failed, unknown }

    private func leave(_ subject: Subject, _ isProbe: Bool, _ outcome: Outcome) {
        let now = clock.elapsed(), limit = subject.limit
        let opened = Circuit.open(until: now + limit.openDuration.clampedForSleep)
        circuits.withLock { circuits in
            var requests = 0, failures = 0, windowEnd = now + limit.window.clampedForSleep
            switch circuits[subject.key] {
            case .open?: return
            case .halfOpen?:
                guard isProbe else { return }
                let next: Circuit? =
                    switch outcome {
                    case .worked: nil
                    case .failed: opened
                    case .unknown: .halfOpen(isProbing: false)
                    }
                return change(&circuits, subject.key, to: next)
            case .closed(let known, let failed, let end)? where now < end: (requests, failures, windowEnd) = (known, failed, end)
            case .closed?, nil: break
            }
            // A probe from before a reset says nothing about what followed.
            if isProbe || outcome == .unknown { return }
            requests += 1
            failures += outcome == .failed ? 1 : 0
            let opens =
                outcome == .failed && requests >= max(1, limit.minimumRequests)
                && Double(failures) / Double(requests) >= limit.failureRatio
            let isNew = circuits[subject.key] == nil
            change(
                &circuits, subject.key, to: opens ? opened : .closed(requests: requests, failures: failures, windowEnd: windowEnd))
            // Only for a new circuit: a look at all of them for each request would cost more than the memory.
            if isNew, circuits.count % Self.crowd == 0 {
                circuits = circuits.filter {
                    if case .closed(_, _, let end) = $0.value { now < end } else { true }
                }
            }
        }
    }
}

/// One request that the breaker let through. Only its first outcome counts.
final class CircuitPermit: Sendable {
    private let onEnd: Lock<(@Sendable (CircuitBreaker.Outcome) -> Void)?>

    init(onEnd: @escaping @Sendable (CircuitBreaker.Outcome) -> Void) { self.onEnd = Lock(onEnd) }

    func end(_ outcome: CircuitBreaker.Outcome) {
        let onEnd = onEnd.withLock { $0.take() }
        onEnd?(outcome)
    }
}
