import Foundation
import NessLock

/// The limits of a circuit breaker, which stops sending requests to a host that keeps failing.
public struct CircuitBreakerLimit: Sendable, Hashable {
    /// The fraction of requests in a window that opens the breaker if they fail: 0.5 is half of them.
    package var failureRatio: Double
    /// The number of requests in a window below which the breaker never opens.
    package var minimumRequests: Int
    /// The length of a window. Each window counts from zero.
    package var window: Duration
    /// The time for which an open breaker sends nothing. After it, one request probes the host.
    package var openDuration: Duration

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

/// Fails requests at once to a host that keeps failing. It spares the host load, and callers the wait.
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

        /// Returns true if no request may be sent now.
        func isOpen(at now: Duration) -> Bool { openUntil.map { now < $0 || isProbing } ?? false }
    }

    private let limit: CircuitBreakerLimit
    private let clock: PipelineClock
    private let circuits = Lock<[ParsedURL.Origin: Circuit]>([:])
    /// The number of circuits at which those that count nothing any more are removed: a crawler visits any number of hosts.
    private static let crowd = 1_000

    init(_ limit: CircuitBreakerLimit, clock: PipelineClock) {
        self.limit = limit
        self.clock = clock
    }

    /// Throws `NessError.circuitOpen` if no request may be sent to the origin now.
    func check(_ origin: ParsedURL.Origin, in context: CallContext) throws {
        let now = clock.elapsed()
        if circuits.withLock({ $0[origin]?.isOpen(at: now) ?? false }) { throw Self.openError(origin, context) }
    }

    /// Lets a request through.
    /// - Throws: `NessError.circuitOpen`.
    func enter(_ origin: ParsedURL.Origin, in context: CallContext) throws -> CircuitPermit {
        guard let isProbe = enter(origin) else { throw Self.openError(origin, context) }
        return CircuitPermit { [self] outcome in leave(origin, isProbe, outcome) }
    }

    private static func openError(_ origin: ParsedURL.Origin, _ context: CallContext) -> NessError {
        context.error(.circuitOpen, "too many requests to \(origin) failed; none is sent for a while")
    }

    func reset() { circuits.withLock { $0 = [:] } }

    enum Outcome { case worked, failed, unknown }

    /// Returns true if the request is the probe, false if the breaker is closed, and `nil` if the request must not be sent.
    private func enter(_ origin: ParsedURL.Origin) -> Bool? {
        let now = clock.elapsed()
        return circuits.withLock { circuits in
            guard var circuit = circuits[origin], circuit.openUntil != nil else { return false }
            if circuit.isOpen(at: now) { return nil }
            circuit.isProbing = true
            circuits[origin] = circuit
            return true
        }
    }

    private func leave(_ origin: ParsedURL.Origin, _ isProbe: Bool, _ outcome: Outcome) {
        let now = clock.elapsed()
        circuits.withLock { circuits in
            var circuit = circuits[origin] ?? Circuit(windowStart: now)
            if isProbe {
                circuit.isProbing = false
                switch outcome {
                case .worked: circuits[origin] = nil
                case .failed:
                    circuit.openUntil = now + limit.openDuration.clampedForSleep
                    circuits[origin] = circuit
                // The outcome says nothing about the host. The next request is the probe.
                case .unknown: circuits[origin] = circuit
                }
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
        let onEnd = onEnd.withLock { onEnd in
            defer { onEnd = nil }
            return onEnd
        }
        onEnd?(outcome)
    }
}
