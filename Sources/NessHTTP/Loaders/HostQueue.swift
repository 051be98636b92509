import Foundation

/// Limits the exchanges that run at once with each origin. The other requests wait, first in, first out.
///
/// A request that is dropped while it waits leaves the queue at once. A request that is dropped later keeps its place until the transport
/// has released the connection, but its caller does not wait for that. Timeouts begin below this stage and do not count the wait.
///
/// The cost of a request does not depend on the number of waiting requests.
final class HostQueue: OptionalStage {
    private struct Host: Sendable {
        /// The number of occupied places. While a request waits, it is at least the limit.
        var running = 0
        var waiting = WaiterQueue<Waiter>()
    }

    private struct State: Sendable {
        // Entries are changed in place: a copy of a host would make the next change copy its whole queue.
        var hosts: [String: Host] = [:]
        var limit: Int

        /// Occupies a place if one is free.
        mutating func take(_ origin: String) -> Bool {
            guard hosts[origin]?.running ?? 0 < limit else { return false }
            hosts[origin, default: Host()].running += 1
            return true
        }

        /// Hands a released place to the request that has waited longest. Frees the place if no request waits, or if the limit was lowered.
        mutating func passOn(_ origin: String) -> Waiter? {
            if hosts[origin]?.running ?? 0 <= limit, let next = hosts[origin]?.waiting.takeFirst() { return next }
            hosts[origin]?.running -= 1
            forgetIfIdle(origin)
            return nil
        }

        /// Admits waiting requests to the free places.
        mutating func admit(_ origin: String) -> [Waiter] {
            var admitted: [Waiter] = []
            while hosts[origin]?.running ?? 0 < limit, let next = hosts[origin]?.waiting.takeFirst() {
                hosts[origin]?.running += 1
                admitted.append(next)
            }
            return admitted
        }

        mutating func forgetIfIdle(_ origin: String) {
            if let host = hosts[origin], host.running == 0, host.waiting.isEmpty { hosts[origin] = nil }
        }
    }

    private let state: Lock<State>

    init(limit: Int) { state = Lock(State(limit: max(1, limit))) }

    /// The number of exchanges that run at once with each origin. At 0 no exchange starts. Raising the limit admits waiting requests;
    /// lowering it does not end running ones.
    var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            let admitted = state.withLock { state in
                state.limit = max(0, newValue)
                var admitted: [(origin: String, waiters: [Waiter])] = []
                for origin in Array(state.hosts.keys) { admitted.append((origin, state.admit(origin))) }
                return admitted
            }
            for (origin, waiters) in admitted {
                for waiter in waiters where !waiter.resume() { leave(origin) }
            }
        }
    }

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { !request[BypassesThrottle.self] }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let origin = Self.origin(of: request.url)
        try await enter(origin)
        let place = HostSlot { [self] in leave(origin) }
        defer { place.close() }
        return try await next(request, in: next.context.with { $0.slot = place })
    }

    // Not inlined: the frame of the calling async function would need room for a parsed URL.
    @inline(never)
    static func origin(of url: URL) -> String { ParsedURL(url).origin.description }

    private func enter(_ origin: String) async throws {
        let waiter: Waiter? = state.withLock { state in
            if state.take(origin) { return nil }
            return state.hosts[origin, default: Host()].waiting.join { id in
                Waiter { [self] in abandon(id, origin) }
            }
        }
        try await waiter?.wait()
    }

    private func abandon(_ id: WaiterQueue<Waiter>.ID, _ origin: String) {
        state.withLock { state in
            state.hosts[origin]?.waiting.leave(id)
            state.forgetIfIdle(origin)
        }
    }

    /// Hands a place to the request that has waited longest.
    private func leave(_ origin: String) {
        while let next = state.withLock({ $0.passOn(origin) }) {
            // A request that was dropped at this moment did not get the place.
            if next.resume() { return }
        }
    }
}
