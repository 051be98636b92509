/// The wait of one task. It ends once: by `resume()` or by cancellation, whichever comes first.
///
/// An owner makes the waiter under its lock, in its `WaiterQueue`. The task then waits outside the lock. The wait may end before the task
/// suspends; the waiter remembers the outcome.
///
/// A `Promise` does not fit here. Its cancellation can overtake its value: the task fails although `settle` reported that it will continue.
/// A slot with a host that was given to such a task would be lost. The continuation is a checked one, because a wait is rare compared with
/// the exchange that it waits for.
final class Waiter: Sendable {
    private enum State: Sendable {
        /// The task has not suspended yet.
        case expected
        case suspended(CheckedContinuation<Void, any Error>)
        case ended(Result<Void, any Error>)
    }

    private let state = Lock(State.expected)
    private let leave: (@Sendable () -> Void)?

    /// Makes a waiter.
    /// - Parameter leave: Removes the waiter from its queue when its task is cancelled. `nil` for a wait that cancellation does not end.
    ///   The closure runs on the cancelling thread, without the waiter's lock. It runs before the wait ends, so the queue never holds a
    ///   waiter whose task continues already.
    init(leave: (@Sendable () -> Void)? = nil) { self.leave = leave }

    /// True once the wait has ended, even if the task has not resumed yet.
    var hasEnded: Bool {
        state.withLock { state in
            if case .ended = state { return true }
            return false
        }
    }

    /// Ends the wait. The caller must not hold a lock.
    /// - Parameter outcome: The outcome of `wait()`.
    /// - Returns: False if the wait had ended before. The caller then has to give the slot or turn to the next waiter.
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

    /// Suspends the task until the wait ends. May be called once.
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
