import NessHTTP

/// Wakes the tasks that wait until something is as they want it, each time it has changed. Nothing is ever polled.
package final class ChangeSignal: Sendable {
    private struct State: Sendable {
        var changes: UInt64 = 0
        var waiting = WaiterList()
    }

    private let state = Lock(State())

    package init() {}

    /// Has everyone who waits look again. Call it after each change, outside of any lock.
    package func notify() {
        let continuations = state.withLock { state in
            state.changes += 1
            return state.waiting.takeAll()
        }
        for continuation in continuations { continuation.resume() }
    }

    /// Suspends until a condition holds.
    /// - Parameters:
    ///   - heedingCancellation: Whether the wait ends when its task is cancelled.
    ///   - condition: Looks at what may have changed, or says with nil that it will not change any more. Runs in the calling task.
    /// - Returns: Whether it holds; false when the task was cancelled, or when nothing will change any more.
    @discardableResult
    package func wait(heedingCancellation: Bool = true, until condition: () -> Bool?) async -> Bool {
        while true {
            // Taken before the look, so that no change between the two goes unseen.
            let seen = state.withLock { $0.changes }
            guard let holds = condition() else { return false }
            if holds { return true }
            if heedingCancellation && Task.isCancelled { return false }
            await change(after: seen, heedingCancellation)
        }
    }

    private func change(after seen: UInt64, _ heedingCancellation: Bool) async {
        let ticket = state.withLock { $0.waiting.nextTicket() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    guard state.changes == seen, !(heedingCancellation && Task.isCancelled) else { return true }
                    state.waiting.add(continuation, as: ticket)
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            guard heedingCancellation else { return }
            let continuation = state.withLock { $0.waiting.take(ticket) }
            continuation?.resume()
        }
    }
}
