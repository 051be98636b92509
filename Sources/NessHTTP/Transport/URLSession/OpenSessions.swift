import NessLock
import NessPromise

/// Counts the sessions of a transport that have not ended. The transport's shutdown waits for them.
final class OpenSessions: Sendable {
    private struct State: Sendable {
        var count = 0
        var isClosed = false
    }

    private let state = Lock(State())
    /// Settles once the transport was shut down and no session is open.
    let allEnded = Promise<Void>()

    // Keeps a wait that times out from dropping the promise, which a later shutdown waits for.
    init() { allEnded.finally {} }

    /// Counts a session that is about to start.
    /// - Returns: False after the shutdown, when no session may start.
    func begin() -> Bool {
        state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
    }

    /// Counts a session as ended.
    func end() { change { $0.count -= 1 } }

    /// Prevents the start of further sessions.
    func close() { change { $0.isClosed = true } }

    private func change(_ body: (inout State) -> Void) {
        let haveAllEnded = state.withLock { state in
            body(&state)
            return state.isClosed && state.count == 0
        }
        if haveAllEnded { allEnded.settle(.success(())) }
    }

    /// Waits until every session has ended, but at most for the given time: URLSession may never report the end. Call this after `close()`.
    func waitUntilNone(atMost limit: Duration) async {
        // In a separate task, because canceling this one does not end the wait.
        _ = await Task { [allEnded] in await allEnded.timeout(after: limit).untilSettled() }.value
    }
}
