extension Promise {
    /// Runs an asynchronous operation in a task of its own. Dropping the promise cancels the task.
    /// - Parameters:
    ///   - priority: The task's priority; that of the caller's task unless given.
    ///   - operation: Runs at once, in no actor. What it throws is the promise's error.
    public convenience init(priority: TaskPriority? = nil, operation: @escaping @Sendable () async throws -> Value) {
        self.init(makeDropError: nil)
        start(priority: priority, operation: operation)
    }

    /// Settles this promise by an operation, which is cancelled when the promise is dropped.
    package final func start(priority: TaskPriority? = nil, operation: @escaping @Sendable () async throws -> Value) {
        let task = Task(priority: priority) { [self] in
            do {
                settle(.success(try await operation()))
            } catch {
                settle(.failure(error))
            }
        }
        whenDropped { _ in task.cancel() }
    }

    /// Has a closure called when the promise is dropped; at once if it has been.
    package final func whenDropped(_ body: @escaping @Sendable (any Error) -> Void) {
        let isPending = onSettle { error in
            if let error { body(error) }
        }
        if !isPending, let error { body(error) }
    }

    /// Waits for the value without blocking a thread.
    ///
    /// Cancelling the task that waits drops the promise, if no one else waits on it; the task sees the drop's error at once.
    /// - Throws: The promise's error.
    public final var value: Value {
        get async throws {
            if let outcome { return try outcome.get() }
            let link = ContinuationLink<Value>()
            return try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Value, any Error>) in
                    link.continuation = continuation
                    // Refused: the task was cancelled before it came here.
                    if !register(link) { continuation.resume(throwing: makeDropError?() ?? PromiseError.dropped) }
                }
            } onCancel: {
                var walk = DropWalk()
                leave(link, in: &walk, becauseOf: makeDropError?() ?? PromiseError.dropped)
                walk.finish()
            }
        }
    }
}

/// A task that waits.
///
/// `@unchecked Sendable`: the continuation is set before the link is registered and read only when it runs, which the promise's lock
/// puts after.
private final class ContinuationLink<Value: Sendable>: Link<Value>, @unchecked Sendable {
    var continuation: UnsafeContinuation<Value, any Error>?

    init() { super.init(queue: nil) }

    override var seesDrop: Bool { true }

    override func run(_ outcome: Result<Value, any Error>, _ runner: Runner) { continuation?.resume(with: outcome) }
}
