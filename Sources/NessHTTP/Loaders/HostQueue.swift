import Foundation

/// Limits the exchanges that run at once with each origin. The other requests wait, first in, first out.
///
/// A request that is dropped while it waits leaves at once. One that is dropped later keeps its place until the transport has let go of the
/// connection, while its caller has long gone on. Timeouts do not count the wait: they begin below this stage.
///
/// A request costs the same behind 100 waiting requests and behind 10,000.
final class HostQueue: OptionalStage {
    private struct Host: Sendable {
        /// The places that are taken. While anyone waits there are at least as many as the limit.
        var running = 0
        var waiting = WaiterQueue<Waiter>()
    }

    private struct State: Sendable {
        // Changed in place throughout: a copy of a host would have the next change copy its whole queue.
        var hosts: [String: Host] = [:]
        var limit: Int

        /// Takes a place if one is free.
        mutating func take(_ origin: String) -> Bool {
            guard hosts[origin]?.running ?? 0 < limit else { return false }
            hosts[origin, default: Host()].running += 1
            return true
        }

        /// Hands a place that was left to the request that has waited longest. Frees the place if nobody waits, or if the limit was lowered.
        mutating func passOn(_ origin: String) -> Waiter? {
            if hosts[origin]?.running ?? 0 <= limit, let next = hosts[origin]?.waiting.takeFirst() { return next }
            hosts[origin]?.running -= 1
            forgetIfIdle(origin)
            return nil
        }

        /// Admits waiting requests to the places that are free.
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

    /// The number of exchanges that run at once with each origin. At 0 none begins. Raising the limit admits waiting requests; lowering it
    /// leaves the running ones alone.
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
        let place = ExchangePlace { [self] in leave(origin) }
        defer { place.close() }
        return try await next(request, in: next.context.with { $0.slot = place })
    }

    // Not inlined: the frame of an async function that asks would have room for a URL in parts.
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

    /// Leaves a place to the request that has waited longest.
    private func leave(_ origin: String) {
        while let next = state.withLock({ $0.passOn(origin) }) {
            // A request that was dropped in this moment did not get the place.
            if next.resume() { return }
        }
    }
}
