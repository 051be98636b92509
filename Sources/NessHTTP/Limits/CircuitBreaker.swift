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
/// While closed, the breaker counts transient errors and statuses of 500 and above, for each origin. It opens when too many requests in a
/// window fail. Requests then fail with `NessError.circuitOpen`, and nothing is sent. After `openDuration` it lets one request through as a
/// probe. If the probe succeeds the breaker closes; if it fails the breaker stays open for `openDuration` again.
///
/// A request asks the breaker below the host's queue, so a request that waited there is not sent once the breaker has opened. It also asks
/// above the queue, so that no request waits for a host with an open breaker.
final class CircuitBreaker: Sendable {
    private struct Circuit: Sendable {
        var windowStart: Duration
        var requests = 0
        var failures = 0
        var openUntil: Duration?
        var isProbing = false

        /// Returns the time for which no request may be sent, which is zero while a probe runs; `nil` if one may be sent now.
        func openTime(at now: Duration) -> Duration? {
            openUntil.flatMap { now < $0 || isProbing ? max(.zero, $0 - now) : nil }
        }
    }

    private let limit: CircuitBreakerLimit
    private let clock: PipelineClock
    private let circuits = Lock<[ParsedURL.Origin: Circuit]>([:])
    /// The number of circuits at which circuits without recent requests are removed: a crawler visits any number of hosts.
    private static let crowd = 1_000

    init(_ limit: CircuitBreakerLimit, clock: PipelineClock) {
        self.limit = limit
        self.clock = clock
    }

    /// Makes a `NessError.circuitOpen` of the caller's from a reason.
    typealias MakeError = (_ reason: String) -> NessError

    /// Throws `NessError.circuitOpen` if no request may be sent to the origin now.
    func check(_ origin: ParsedURL.Origin, _ error: MakeError) throws {
        let now = clock.elapsed()
        if let openTime = circuits.withLock({ $0[origin]?.openTime(at: now) }) { throw Self.openError(origin, openTime, error) }
    }

    /// Lets a request through.
    /// - Throws: `NessError.circuitOpen`.
    func enter(_ origin: ParsedURL.Origin, _ error: MakeError) throws -> CircuitPermit {
        let now = clock.elapsed()
        let (isProbe, openTime): (Bool, Duration?) = circuits.withLock { circuits in
            guard let circuit = circuits[origin], circuit.openUntil != nil else { return (false, nil) }
            if let openTime = circuit.openTime(at: now) { return (false, openTime) }
            circuits[origin]?.isProbing = true
            return (true, nil)
        }
        if let openTime { throw Self.openError(origin, openTime, error) }
        return CircuitPermit { [self] outcome in leave(origin, isProbe, outcome) }
    }

    private static func openError(_ origin: ParsedURL.Origin, _ openTime: Duration, _ error: MakeError) -> NessError {
        var details = error("too many requests to \(origin) failed; new ones are blocked for a while").context
        details.circuitOpenTime = openTime
        return .circuitOpen(details)
    }

    func reset() { circuits.withLock { $0 = [:] } }

    enum Outcome { case worked, failed, unknown }

    private func leave(_ origin: ParsedURL.Origin, _ isProbe: Bool, _ outcome: Outcome) {
        let now = clock.elapsed()
        circuits.withLock { circuits in
            var circuit = circuits[origin] ?? Circuit(windowStart: now)
            if isProbe {
                circuit.isProbing = false
                if outcome == .failed { circuit.openUntil = now + limit.openDuration.clampedForSleep }
                // If the outcome does not show whether the host works, the next request is the probe.
                circuits[origin] = outcome == .worked ? nil : circuit
                return
            }
            guard circuit.openUntil == nil, outcome != .unknown else { return }
            if now - circuit.windowStart >= limit.window { circuit = Circuit(windowStart: now) }
            circuit.requests += 1
            circuit.failures += outcome == .failed ? 1 : 0
            let ratio = Double(circuit.failures) / Double(circuit.requests)
            if outcome == .failed, circuit.requests >= max(1, limit.minimumRequests), ratio >= limit.failureRatio {
                circuit.openUntil = now + limit.openDuration.clampedForSleep
            }
            // Only for a new host: a look at all of them for each request would cost more than the memory.
            let isNew = circuits.updateValue(circuit, forKey: origin) == nil
            if isNew, circuits.count % Self.crowd == 0 {
                circuits = circuits.filter { $0.value.openUntil != nil || now - $0.value.windowStart < limit.window }
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
