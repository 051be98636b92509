import NessLock
import NessPromise

/// Code of the application that an exchange waits for, in a separate task: a transport, a loader beside it, or the closure that makes a
/// body. When the exchange is stopped or canceled, its caller continues immediately, even if that code ignores cancellation.
enum AbandonableWork {
    /// Runs an operation.
    /// - Parameters:
    ///   - control: Stops the operation. `nil` if only cancellation does.
    ///   - operation: The operation. Its task is canceled when the caller no longer waits for it.
    /// - Returns: The operation's value.
    /// - Throws: The operation's error; the error of the stop; `CancellationError`.
    static func run<Value: Sendable>(
        under control: (any ExchangeControl)?, _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let running = Lock<Task<Void, Never>?>(nil)
        let waiter = ValueWaiter<Value> { running.withLock { $0 }?.cancel() }
        control?.onStop { error in
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
        // The exchange may have stopped before there was a task to cancel.
        if waiter.hasEnded { task.cancel() }
        return try await waiter.wait()
    }
}
