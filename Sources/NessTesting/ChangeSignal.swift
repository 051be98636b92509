import NessHTTP
import NessLock

/// Wakes tasks that wait for a condition, each time the observed state has changed. No task polls.
package final class ChangeSignal: Sendable {
    private struct State: Sendable {
        var changes: UInt64 = 0
        var waiting = WaiterList()
    }

    private let state = Lock(State())

    package init() {}

    /// Makes all waiting tasks check their conditions again. Call this after each change, without a lock held.
    package func notify() {
        let continuations = state.withLock { state in
            state.changes += 1
            return state.waiting.takeAll()
        }
        for continuation in continuations { continuation.resume() }
    }

    /// Suspends until a condition holds.
    /// - Parameters:
    ///   - heedingCancellation: True if the wait ends when its task is cancelled.
    ///   - condition: Checks the state. `nil` means that the state will not change any more. Runs in the calling task.
    /// - Returns: True if the condition holds; false if the task was cancelled, or if the state will not change any more.
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
