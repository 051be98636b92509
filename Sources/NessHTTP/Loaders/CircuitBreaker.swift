import Foundation

/// When to stop asking a host that only fails.
public struct CircuitBreakerLimit: Sendable, Hashable {
    /// The part of the requests that has to fail: 0.5 is half of them.
    package var failureRatio: Double
    /// How many requests there have to be before it counts.
    package var minimumRequests: Int
    /// The time after which counting begins anew.
    package var window: Duration
    /// How long nothing is sent, before one request tries the host again.
    package var openFor: Duration

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
/// Closed, it counts failures of the connection and statuses of 500 and above for each origin. Once too many of the requests in a window
/// fail it opens: requests fail with `NessError.circuitOpen` without being sent. After a while it lets one through; that one closes it, or
/// has it stay open as long again.
///
/// It stands below the queue of the host, so that nothing that waited there is sent once it has opened. `CircuitBreakerGate` asks it above the
/// queue, too, so that nobody waits in vain.
final class CircuitBreaker: HTTPLoader {
    private struct Circuit: Sendable {
        var windowStart: Duration
        var requests = 0
        var failures = 0
        var openUntil: Duration?
        var isProbing = false

        /// Returns true if nothing may be sent now.
        func isOpen(at now: Duration) -> Bool { openUntil.map { now < $0 || isProbing } ?? false }
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
        guard let isProbe = enter(origin) else { throw Self.openError(origin, next.context) }
        let visit = Visit { [self] outcome in leave(origin, isProbe, outcome) }
        var context = next.context
        // The head tells enough of a body that goes elsewhere: its end may be hours away.
        if context.sink != nil { context = context.with { $0.activity = HeadActivity(visit, passingOn: $0.activity) } }
        do {
            let response = try await next(request, in: context)
            visit.end(response.statusCode >= 500 ? .failed : .worked)
            return response
        } catch {
            visit.end((error as? NessError)?.isTransient == true ? .failed : .unknown)
            throw error
        }
    }

    /// Throws if nothing may be sent to an origin now.
    fileprivate func check(_ url: URL, in context: CallContext) throws {
        let origin = HostQueue.origin(of: url)
        let now = clock.elapsed()
        if circuits.withLock({ $0[origin]?.isOpen(at: now) ?? false }) { throw Self.openError(origin, context) }
    }

    private static func openError(_ origin: String, _ context: CallContext) -> NessError {
        context.call.error(.circuitOpen, "too many requests to \(origin) failed; none is sent for a while")
    }

    func reset() async { circuits.withLock { $0 = [:] } }

    fileprivate enum Outcome { case worked, failed, unknown }

    /// Returns true if the request is the one that tries the host again; nil if it must not be sent.
    private func enter(_ origin: String) -> Bool? {
        let now = clock.elapsed()
        return circuits.withLock { circuits in
            guard var circuit = circuits[origin], circuit.openUntil != nil else { return false }
            if circuit.isOpen(at: now) { return nil }
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

/// Keeps a request from waiting for a host to which nothing may be sent.
struct CircuitBreakerGate: HTTPLoader {
    let breaker: CircuitBreaker

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        try breaker.check(request.url, in: next.context)
        return try await next(request)
    }
}

/// One request that the breaker let through. Its first outcome counts.
private final class Visit: Sendable {
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

/// Ends a visit when the head of a good response has arrived.
private final class HeadActivity: RequestActivity {
    private let visit: Visit
    private let wrapped: (any RequestActivity)?

    init(_ visit: Visit, passingOn wrapped: (any RequestActivity)?) {
        self.visit = visit
        self.wrapped = wrapped
    }

    func requestDidStart(attempt: Int) { wrapped?.requestDidStart(attempt: attempt) }
    func requestDidSend(bytes: Int64, of total: Int64?) { wrapped?.requestDidSend(bytes: bytes, of: total) }
    func requestDidReceive(bytes: Int64, of total: Int64?) { wrapped?.requestDidReceive(bytes: bytes, of: total) }

    func requestDidReceiveHead(statusCode: Int) {
        if statusCode < 500 { visit.end(.worked) }
        wrapped?.requestDidReceiveHead(statusCode: statusCode)
    }
}
