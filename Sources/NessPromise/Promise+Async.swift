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
    /// - Parameters:
    ///   - priority: The task's priority; that of the caller's task unless given.
    ///   - inheritsTaskLocals: False for an operation that runs for several callers: it sees the task-local values of none.
    ///   - operation: Runs at once, in no actor.
    ///   - settled: Told once when it has settled: the error if it was dropped.
    package final func start(
        priority: TaskPriority? = nil, inheritingTaskLocals inheritsTaskLocals: Bool = true,
        operation: @escaping @Sendable () async throws -> Value,
        settled: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        // Told before there is a task: it may be done, or the promise dropped, before the next line of this runs.
        let running = Lock<Task<Void, Never>?>(nil)
        let isPending = onSettle { error in
            settled?(error)
            if error != nil { running.withLock { $0 }?.cancel() }
        }
        guard isPending else {
            settled?(error)
            return
        }
        let body: @Sendable () async -> Void = { [self] in
            do {
                settle(.success(try await operation()))
            } catch {
                settle(.failure(error))
            }
        }
        let task =
            inheritsTaskLocals
            ? Task(priority: priority, operation: body) : Task.detached(priority: priority ?? Task.currentPriority, operation: body)
        running.withLock { $0 = task }
        if isCompleted { task.cancel() }
    }

    /// Has a closure called when the promise is dropped; at once if it has been.
    @usableFromInline
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
    @inlinable
    public final var value: Value {
        get async throws {
            if isCompleted { return try settledValue() }
            let link = AnyPromise.link()
            return try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Value, any Error>) in
                    link.body = { parent, _, error, _ in
                        if let error { return continuation.resume(throwing: error) }
                        guard let value = unsafeDowncast(parent, to: Promise<Value>.self).stored else { return }
                        continuation.resume(returning: value)
                    }
                    // Refused: the task was cancelled before it came here.
                    if !register(link) { continuation.resume(throwing: dropError) }
                }
            } onCancel: {
                abandon(link)
            }
        }
    }

    /// The value of a promise that has settled.
    @inlinable
    final func settledValue() throws -> Value {
        if let failure { throw failure }
        guard let stored else { throw PromiseError.abandoned }
        return stored
    }
}

extension AnyPromise {
    /// The error of a drop without a reason.
    @usableFromInline
    final var dropError: any Error { makeDropError?() ?? PromiseError.dropped }

    /// Who waited by `link` was cancelled.
    @usableFromInline
    final func abandon(_ link: AnyPromise) {
        var walk = DropWalk()
        leave(link, in: &walk, becauseOf: dropError)
        walk.finish()
    }
}
