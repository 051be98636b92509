import NessPromise

/// Knows what is in flight: to drop it, and to wait until it has ended.
final class RunningRequests: Sendable {
    private struct Running: Sendable {
        let promise: AnyPromise
        let groups: Set<String>
    }

    private struct State: Sendable {
        var nextID = 0
        var running: [Int: Running] = [:]
        /// Raised by a reset: what began before may no longer send.
        var epoch = 0
        var exchanges = 0
        var isResetting = false
        var idleWaiters: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Takes a promise in until it settles.
    func add(_ promise: AnyPromise, groups: Set<String>) -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.nextID += 1
            state.running[state.nextID] = Running(promise: promise, groups: groups)
            return state.nextID
        }
        return { [self] in _ = state.withLock { $0.running.removeValue(forKey: id) } }
    }

    /// Drops what is in flight, or the part of it that is in a group.
    func dropAll(in group: String?) {
        let chosen = state.withLock { state in
            state.running.values.filter { running in group.map { running.groups.contains($0) } ?? true }.map(\.promise)
        }
        for promise in chosen { promise.drop() }
    }

    /// The time that a request belongs to.
    var epoch: Int { state.withLock { $0.epoch } }

    /// Whether a request of this time may begin: not while a reset runs, nor after one that came between.
    func admits(_ epoch: Int?) -> Bool { state.withLock { !$0.isResetting && $0.epoch == epoch } }

    /// Begins an exchange. Returns false if it must not be sent.
    func beginExchange(_ epoch: Int?) -> Bool {
        state.withLock { state in
            guard state.epoch == epoch else { return false }
            state.exchanges += 1
            return true
        }
    }

    func endExchange() {
        let waiters = state.withLock { state in
            state.exchanges -= 1
            guard state.exchanges == 0 else { return [UnsafeContinuation<Void, Never>]() }
            let waiters = state.idleWaiters
            state.idleWaiters = []
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Refuses new requests and drops all.
    func beginReset() {
        state.withLock { state in
            state.isResetting = true
            state.epoch += 1
        }
        dropAll(in: nil)
    }

    /// Returns when nothing is being exchanged.
    func waitUntilIdle() async {
        await withUnsafeContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.exchanges == 0 { return true }
                state.idleWaiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    func endReset() { state.withLock { $0.isResetting = false } }
}
