import NessLock
import NessPromise

/// The wait of one task. It ends once: by `resume(_:)` or by cancellation, depending on which happens first.
///
/// An owner makes the waiter under its lock, for example in a `WaiterQueue`. The task then waits outside the lock. The wait may end
/// before the task suspends; the waiter remembers the outcome.
///
/// A `Promise` does not fit here. Its cancellation can overtake its value: the task fails although `settle` reported that it will continue.
/// A slot with a host that was given to such a task would be lost.
package final class ValueWaiter<Value: Sendable>: Sendable {
    private let leave: (@Sendable () -> Void)?
    private let state = Lock(WaiterState<Value>.expected)

    /// Makes a waiter.
    /// - Parameter leave: Removes the waiter from its queue when its task is canceled. `nil` for a wait that cancellation does not end.
    ///   The closure runs on the canceling thread, without the waiter's lock. It runs before the wait ends, so the queue never holds a
    ///   waiter whose task continues already.
    package init(leave: (@Sendable () -> Void)? = nil) { self.leave = leave }

    /// True once the wait has ended, even if the task has not resumed yet.
    var hasEnded: Bool { state.withLock { $0.outcome != nil } }

    /// Ends the wait. The caller must not hold a lock.
    /// - Parameter outcome: The outcome of `wait()`.
    /// - Returns: False if the wait had ended before. The caller then has to pass the slot or the turn on to the next waiter.
    @discardableResult
    package func resume(_ outcome: Result<Value, any Error>) -> Bool {
        let (isFirst, continuation): (Bool, UnsafeContinuation<Void, Never>?) = state.withLock { state in
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
        continuation?.resume()
        return isFirst
    }

    /// Leaves the queue and ends the wait with `CancellationError`.
    func cancel() {
        leave?()
        resume(.failure(CancellationError()))
    }

    /// Suspends the task until the wait ends. May be called once.
    /// - Returns: The value of `resume(_:)`.
    /// - Throws: The error of `resume(_:)`; `CancellationError` if the task was canceled first.
    package func wait() async throws -> Value {
        guard leave != nil else { return try await suspend() }
        return try await withTaskCancellationHandler {
            try await suspend()
        } onCancel: {
            cancel()
        }
    }

    private func suspend() async throws -> Value {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let hasEnded = state.withLock { state in
                if case .ended = state { return true }
                state = .suspended(continuation)
                return false
            }
            if hasEnded { continuation.resume() }
        }
        // The lock, not the continuation, passes the outcome to this task: the thread sanitizer cannot see the runtime's own ordering.
        let outcome = state.withLock { $0.outcome } ?? .failure(CancellationError())
        return try outcome.get()
    }
}

/// The state of a `ValueWaiter`.
enum WaiterState<Value: Sendable>: Sendable {
    /// The task has not suspended yet.
    case expected
    case suspended(UnsafeContinuation<Void, Never>)
    case ended(Result<Value, any Error>)

    var outcome: Result<Value, any Error>? { if case .ended(let outcome) = self { outcome } else { nil } }
}

/// The wait for a turn, which gives no value.
package typealias Waiter = ValueWaiter<Void>

extension ValueWaiter<Void> {
    /// Ends the wait with success: see `resume(_:)`.
    @discardableResult
    package func resume() -> Bool { resume(.success(())) }
}
