import Foundation

/// Limits the exchanges that run at once with each origin. The other requests wait, first in, first out.
///
/// A request that is dropped while it waits leaves the queue at once. A request that is dropped later keeps its place until the transport
/// has released the connection, but its caller does not wait for that. Timeouts begin below this stage and do not count the wait.
///
/// The cost of a request does not depend on the number of waiting requests.
final class HostQueue: OptionalStage {
    /// The places at one origin. `@unchecked Sendable`: the queue's lock guards it. A class, so that it changes in place.
    private final class Host: @unchecked Sendable {
        let origin: ParsedURL.Origin
        /// The number of occupied places. While a request waits, it is at least the limit.
        var running = 0
        var waiting = WaiterQueue<Waiter>()

        init(_ origin: ParsedURL.Origin) { self.origin = origin }
    }

    private struct State: Sendable {
        var hosts: [ParsedURL.Origin: Host] = [:]
        var limit: Int

        mutating func host(_ origin: ParsedURL.Origin) -> Host {
            if let host = hosts[origin] { return host }
            let host = Host(origin)
            hosts[origin] = host
            return host
        }

        /// Hands a released place to the request that has waited longest. Frees the place if no request waits, or if the limit was lowered.
        mutating func passOn(_ host: Host) -> Waiter? {
            if host.running <= limit, let next = host.waiting.takeFirst() { return next }
            host.running -= 1
            forgetIfIdle(host)
            return nil
        }

        /// Admits waiting requests to the free places.
        func admit(_ host: Host) -> [Waiter] {
            var admitted: [Waiter] = []
            while host.running < limit, let next = host.waiting.takeFirst() {
                host.running += 1
                admitted.append(next)
            }
            return admitted
        }

        mutating func forgetIfIdle(_ host: Host) {
            // A busy client would make the object anew for each request.
            guard host.running == 0, host.waiting.isEmpty, hosts.count > HostQueue.keptHosts, hosts[host.origin] === host else { return }
            hosts[host.origin] = nil
        }
    }

    /// The number of idle hosts that are kept.
    private static let keptHosts = 16
    private let state: Lock<State>
    private let waiting: WaitingRequests

    init(limit: Int, waiting: WaitingRequests = WaitingRequests()) {
        state = Lock(State(limit: max(1, limit)))
        self.waiting = waiting
    }

    /// The number of exchanges that run at once with each origin. At 0 no exchange starts. Raising the limit admits waiting requests;
    /// lowering it does not end running ones.
    var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            let admitted = state.withLock { state in
                state.limit = max(0, newValue)
                return state.hosts.values.map { host in (host, state.admit(host)) }
            }
            for (host, waiters) in admitted {
                for waiter in waiters where !waiter.resume() { leave(host) }
            }
        }
    }

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { !request[BypassesThrottle.self] }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let (host, waiter) = enter(Self.origin(of: request.url))
        if let waiter { try await wait(waiter) }
        let place = HostSlot { [self] in leave(host) }
        defer { place.close() }
        return try await next(request, in: next.context.with { $0.slot = place })
    }

    private func wait(_ waiter: Waiter) async throws {
        try await waiting.during(.hostQueue) { try await waiter.wait() }
    }

    // Not inlined: the frame of the calling async function would need room for a parsed URL.
    @inline(never)
    static func origin(of url: URL) -> ParsedURL.Origin { ParsedURL(url).origin }

    /// Occupies a place. Returns a waiter if none is free.
    @inline(never)
    private func enter(_ origin: ParsedURL.Origin) -> (Host, Waiter?) {
        state.withLock { state in
            let host = state.host(origin)
            guard host.running >= state.limit else {
                host.running += 1
                return (host, nil)
            }
            return (host, host.waiting.join { id in Waiter { [self] in abandon(id, host) } })
        }
    }

    private func abandon(_ id: WaiterQueue<Waiter>.ID, _ host: Host) {
        state.withLock { state in
            host.waiting.leave(id)
            state.forgetIfIdle(host)
        }
    }

    /// Hands a place to the request that has waited longest.
    private func leave(_ host: Host) {
        while let next = state.withLock({ $0.passOn(host) }) {
            // A request that was dropped at this moment did not get the place.
            if next.resume() { return }
        }
    }
}
