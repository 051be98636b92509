/// One task's wait, which ends once: by `resume()` or by cancellation, whichever comes first.
///
/// An owner makes the waiter under its lock, in its `WaiterQueue`, and has the task wait outside of it. The wait may end before the task has
/// come to suspend; the waiter remembers the outcome.
///
/// A `Promise` could stand here, and has a fault for this use: a cancellation may overtake its outcome, and the task then fails although
/// `settle` said that it was told to go on. A place with a host that was handed to such a task would be lost. The continuation is a
/// checked one, as a wait is rare next to what it waits for.
final class Waiter: Sendable {
    private enum State: Sendable {
        /// The task has not come to wait.
        case expected
        case suspended(CheckedContinuation<Void, any Error>)
        case ended(Result<Void, any Error>)
    }

    private let state = Lock(State.expected)
    private let leave: (@Sendable () -> Void)?

    /// Makes a waiter.
    /// - Parameter leave: Takes the waiter out of its queue when its task is cancelled. Runs in the thread that cancels, without a lock of
    ///   the waiter's held, before the wait ends: nobody can find the identifier of a waiter whose task goes on. `nil` for a wait that
    ///   cancellation does not end.
    init(leave: (@Sendable () -> Void)? = nil) { self.leave = leave }

    /// True once the wait has ended, even if the task does not run yet.
    var hasEnded: Bool {
        state.withLock { state in
            if case .ended = state { return true }
            return false
        }
    }

    /// Ends the wait. Must be called without a lock held.
    /// - Parameter outcome: What `wait()` returns or throws.
    /// - Returns: False if the wait had ended before. What this waiter was to be given then belongs to the next one.
    @discardableResult
    func resume(_ outcome: Result<Void, any Error> = .success(())) -> Bool {
        let (isFirst, continuation): (Bool, CheckedContinuation<Void, any Error>?) = state.withLock { state in
            switch state {
            case .expected:
                state = .ended(outcome)
                return (true, nil)
            case .suspended(let continuation):
                state = .ended(outcome)
                return (true, continuation)
            case .ended: return (false, nil)
            }
        }
        continuation?.resume(with: outcome)
        return isFirst
    }

    /// Leaves the queue and ends the wait with `CancellationError`.
    func cancel() {
        leave?()
        resume(.failure(CancellationError()))
    }

    /// Suspends the task until the wait ends. To be called once.
    /// - Throws: The error of `resume(_:)`; `CancellationError` if the task was cancelled first.
    func wait() async throws {
        guard leave != nil else { return try await suspend() }
        try await withTaskCancellationHandler {
            try await suspend()
        } onCancel: {
            cancel()
        }
    }

    private func suspend() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let outcome: Result<Void, any Error>? = state.withLock { state in
                if case .ended(let outcome) = state { return outcome }
                state = .suspended(continuation)
                return nil
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }
}
