import NessLock

/// Counts the sessions of a transport that have not ended. The transport's shutdown waits for them.
final class OpenSessions: Sendable {
    private struct State: Sendable {
        var count = 0
        var isClosed = false
        var waiting = WaiterQueue<Waiter>()
    }

    private let state = Lock(State())

    /// Counts a session that is about to start.
    /// - Returns: False after the shutdown, when no session may start.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.count += 1
            return true
        }
    }

    /// Counts a session as ended.
    func end() {
        let waiters = state.withLock { state in
            state.count -= 1
            return state.count == 0 ? state.waiting.takeAll() : []
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Prevents the start of further sessions.
    func close() { state.withLock { $0.isClosed = true } }

    /// Waits until every session has ended, but at most for the given time: URLSession may never report the end.
    func waitUntilNone(atMost limit: Duration) async {
        let waiter: Waiter? = state.withLock { state in state.count == 0 ? nil : state.waiting.join { _ in Waiter() } }
        guard let waiter else { return }
        let clock = PipelineClock(ContinuousClock())
        let cancel = clock.startTimer(after: limit) { waiter.resume() }
        try? await waiter.wait()
        cancel()
        clock.rest()
    }
}
