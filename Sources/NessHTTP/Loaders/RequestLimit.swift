/// Limits the exchanges that run at once with all hosts together: `Ness.Configuration.maximumConcurrentRequests`. The other requests wait,
/// first in, first out.
///
/// It stands below the queue of each host, so a request that waits for its host takes no place from requests to other hosts.
final class RequestLimit: OptionalStage {
    private struct State: Sendable {
        /// The number of occupied places. While a request waits, it equals the limit.
        var running = 0
        var waiting = WaiterQueue<Waiter>()
    }

    private let limit: Int
    private let state = Lock(State())
    private let waiting: WaitingRequests

    init(_ limit: Int, waiting: WaitingRequests) {
        self.limit = max(1, limit)
        self.waiting = waiting
    }

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { !request[BypassesThrottle.self] }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        try await enter()
        // A connection that outlives its request keeps both slots.
        let host = next.context.slot
        guard host?.enter() ?? true else {
            leave()
            throw CancellationError()
        }
        let slot = HostSlot { [self] in
            host?.leave()
            leave()
        }
        defer { slot.close() }
        return try await next(request, in: next.context.with { $0.slot = slot })
    }

    private func enter() async throws {
        let waiter = state.withLock { state -> Waiter? in
            if state.running < limit {
                state.running += 1
                return nil
            }
            return state.waiting.join { id in
                Waiter { [self] in abandon(id) }
            }
        }
        guard let waiter else { return }
        try await waiting.during(.hostQueue) { try await waiter.wait() }
    }

    private func abandon(_ id: WaiterQueue<Waiter>.ID) { state.withLock { _ = $0.waiting.leave(id) } }

    /// Hands a place to the request that has waited longest, or frees it.
    private func leave() {
        while true {
            let next = state.withLock { state in
                let next = state.waiting.takeFirst()
                if next == nil { state.running -= 1 }
                return next
            }
            // A request that was dropped at this moment did not get the place.
            guard let next, !next.resume() else { return }
        }
    }
}
