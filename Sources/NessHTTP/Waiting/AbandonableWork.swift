import NessLock
import NessPromise

/// Work in a separate task, which its caller stops waiting for when it is stopped or canceled. The caller then continues immediately, even
/// if the work ignores cancellation, as code of the application may.
enum AbandonableWork {
    /// Runs an operation.
    /// - Parameters:
    ///   - register: Takes the closure that stops the operation with an error.
    ///   - operation: The operation. Its task is canceled when the caller no longer waits for it.
    /// - Returns: The operation's value.
    /// - Throws: The operation's error; the error of the stop; `CancellationError`.
    static func run<Value: Sendable>(
        stoppedBy register: (@escaping @Sendable (any Error) -> Void) -> Void, _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let running = Lock<Task<Void, Never>?>(nil)
        let waiter = ValueWaiter<Value> { running.withLock { $0 }?.cancel() }
        register { error in
            waiter.resume(.failure(error))
            running.withLock { $0 }?.cancel()
        }
        let task = Task {
            if waiter.hasEnded { return }
            do {
                waiter.resume(.success(try await operation()))
            } catch {
                waiter.resume(.failure(error))
            }
        }
        running.withLock { $0 = task }
        // The work may have been stopped before there was a task to cancel.
        if waiter.hasEnded { task.cancel() }
        return try await waiter.wait()
    }
}
