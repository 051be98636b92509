import Dispatch

/// The forms whose closures await: each runs as a task of its own.
extension Promise {
    /// Runs an asynchronous closure with the value when it arrives.
    ///
    /// The closure runs as a task in no actor; `{ @MainActor value in … }` runs on the main actor. The task begins on the global executor,
    /// which is why there is no `on:`, and inherits neither priority nor task-local values, because it begins where the value arrives. On an
    /// error the closure does not run, and the error becomes the returned promise's error.
    ///
    /// Dropping the returned promise cancels the task and settles the promise at once, even if the closure ignores the cancellation. A drop
    /// before the task has begun keeps the closure from running at all.
    ///
    /// ```swift
    /// request.dataRequest(decoding: User.self)
    ///     .then { user in try await database.save(user) }
    ///     .handle { error in print(error) }
    /// ```
    /// - Parameter body: Takes the value and returns the next one. The error that it throws becomes the returned promise's error.
    /// - Returns: The promise of what `body` returns.
    @discardableResult
    public final func then<NewValue: Sendable>(
        _ body: @escaping @Sendable (Value) async throws -> NewValue
    ) -> Promise<NewValue> {
        step(on: globalQueue, seesDrop: false) { parent, child, error, runner in
            guard let value = parent.stored, error == nil else { return child.pass(error, nil, runner) }
            child.settleByTask { try await body(value) }
        }
    }

    /// Replaces an error by a value that an asynchronous closure returns.
    ///
    /// The closure runs as a task, as that of `then(_:)` does. It does not run if this promise has a value.
    /// - Parameter body: Takes the error and returns a value. The error that it throws becomes the returned promise's error.
    /// - Returns: A promise of this one's value, or of what `body` returns.
    @discardableResult @_disfavoredOverload  // As the synchronous one is, which then wins for a closure that could be either.
    public final func recover(_ body: @escaping @Sendable (any Error) async throws -> Value) -> Promise<Value> {
        step(on: globalQueue, seesDrop: false) { parent, child, error, runner in
            guard let error else { return child.pass(nil, parent.stored, runner) }
            child.settleByTask { try await body(error) }
        }
    }

    /// Settles this promise, which is a link of another one, by a task that a drop cancels.
    ///
    /// Unlike `start` it settles by the link, which keeps the link until the handlers behind it have run: a drop further up still reaches
    /// them.
    private final func settleByTask(_ operation: @escaping @Sendable () async throws -> Value) {
        let running = Lock<Task<Void, Never>?>(nil)
        let isPending = onSettle { error in
            if error != nil { running.withLock { $0 }?.cancel() }
        }
        guard isPending else { return }
        let scope = HandlerScope.current
        let task = Task.detached { [self] in
            // A drop came before the task began.
            if isCompleted { return }
            do {
                fulfil(try await HandlerScope.run(in: scope, operation), nil, by: self)
            } catch {
                reject(error, nil, by: self)
            }
        }
        running.withLock { $0 = task }
        // The drop may have come before there was a task to cancel.
        if isCompleted { task.cancel() }
    }
}
