import Foundation

/// When to stop asking a host that only fails.
public struct CircuitBreakerLimit: Sendable, Hashable {
    /// The part of the requests that has to fail: 0.5 is half of them.
    public var failureRatio: Double
    /// How many requests there have to be before it counts.
    public var minimumRequests: Int
    /// The time after which counting begins anew.
    public var window: Duration
    /// How long nothing is sent, before one request tries the host again.
    public var openFor: Duration

    /// Makes a limit.
    /// - Parameters:
    ///   - failureRatio: The part of the requests that has to fail.
    ///   - minimumRequests: How many requests there have to be before it counts.
    ///   - window: The time after which counting begins anew.
    ///   - openFor: How long nothing is sent.
    public init(
        failureRatio: Double = 0.5, minimumRequests: Int = 20, window: Duration = .seconds(10), openFor: Duration = .seconds(30)
    ) {
        self.failureRatio = failureRatio
        self.minimumRequests = minimumRequests
        self.window = window
        self.openFor = openFor
    }
}

/// Spares a host that only fails, and its callers the wait.
///
/// Closed, it counts transport failures and statuses of 500 and above for each origin. Once too many of the requests in a window fail
/// it opens: requests fail with `NessError.circuitOpen` without being sent. After a while it lets one through; that one closes it, or has it
/// stay open as long again.
final class CircuitBreaker: HTTPLoader {
    private struct Circuit: Sendable {
        var windowStart: Duration
        var requests = 0
        var failures = 0
        var openUntil: Duration?
        var isProbing = false
    }

    private let limit: CircuitBreakerLimit
    private let clock: Timekeeper
    private let circuits = Lock<[String: Circuit]>([:])

    init(_ limit: CircuitBreakerLimit, clock: Timekeeper) {
        self.limit = limit
        self.clock = clock
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let origin = HostQueue.origin(of: request.url)
        guard let isProbe = enter(origin) else {
            let reason = "too many requests to \(origin) failed; none is sent for a while"
            throw NessError.circuitOpen(NessError.Context(request: request, attempts: request.attempt - 1, reason: reason))
        }
        do {
            let response = try await next(request)
            leave(origin, isProbe, response.statusCode >= 500 ? .failed : .worked)
            return response
        } catch {
            leave(origin, isProbe, Self.counts(error) ? .failed : .unknown)
            throw error
        }
    }

    func reset() async { circuits.withLock { $0 = [:] } }

    private enum Outcome { case worked, failed, unknown }

    /// Whether an error speaks against the host: a drop, or a request that could not be sent, does not.
    private static func counts(_ error: any Error) -> Bool {
        switch error {
        case let error as TransportError: error.kind != .invalidRequest
        case NessError.truncated, NessError.malformedResponse, NessError.timedOut, NessError.connectionLost: true
        default: false
        }
    }

    /// Returns whether the request is the one that tries the host again; nil if it must not be sent.
    private func enter(_ origin: String) -> Bool? {
        let now = clock.elapsed()
        return circuits.withLock { circuits in
            guard var circuit = circuits[origin], let openUntil = circuit.openUntil else { return false }
            guard now >= openUntil, !circuit.isProbing else { return nil }
            circuit.isProbing = true
            circuits[origin] = circuit
            return true
        }
    }

    private func leave(_ origin: String, _ isProbe: Bool, _ outcome: Outcome) {
        let now = clock.elapsed()
        circuits.withLock { circuits in
            var circuit = circuits[origin] ?? Circuit(windowStart: now)
            if isProbe {
                circuit.isProbing = false
                switch outcome {
                case .worked: circuits[origin] = nil
                case .failed:
                    circuit.openUntil = now + limit.openFor.clampedForSleep
                    circuits[origin] = circuit
                // Says nothing of the host: the next one tries.
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
                circuit.openUntil = now + limit.openFor.clampedForSleep
            }
            circuits[origin] = circuit
        }
    }
}
