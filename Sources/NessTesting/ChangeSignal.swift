import NessHTTP
import NessLock

/// Wakes tasks that wait for a condition, each time the observed state has changed. No task polls.
package final class ChangeSignal: Sendable {
    private struct State: Sendable {
        var changes: UInt64 = 0
        var waiting = WaiterQueue<Waiter>()
    }

    private let state = Lock(State())

    package init() {}

    /// Makes all waiting tasks check their conditions again. Call this after each change, without a lock held.
    package func notify() {
        let waiters = state.withLock { state in
            state.changes += 1
            return state.waiting.takeAll()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Suspends until a condition holds.
    /// - Parameters:
    ///   - heedingCancellation: True if the wait ends when its task is canceled.
    ///   - condition: Checks the state. `nil` means that the state will not change any more. Runs in the calling task.
    /// - Returns: True if the condition holds; false if the task was canceled, or if the state will not change any more.
    @discardableResult
    package func wait(heedingCancellation: Bool = true, until condition: () -> Bool?) async -> Bool {
        while true {
            // Read before the check, so that a change between the two is not missed.
            let seen = state.withLock { $0.changes }
            guard let holds = condition() else { return false }
            if holds { return true }
            if heedingCancellation && Task.isCancelled { return false }
            await change(after: seen, heedingCancellation)
        }
    }

    private func change(after seen: UInt64, _ heedingCancellation: Bool) async {
        let waiter: Waiter? = state.withLock { state in
            guard state.changes == seen else { return nil }
            return state.waiting.join { id in
                if heedingCancellation { Waiter { [self] in leave(id) } } else { Waiter() }
            }
        }
        try? await waiter?.wait()
    }

    private func leave(_ id: WaiterQueue<Waiter>.ID) { state.withLock { _ = $0.waiting.leave(id) } }
}
