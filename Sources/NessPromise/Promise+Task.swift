import Dispatch

/// Handlers with asynchronous closures. Each closure runs as a separate task.
///
/// The methods are marked as disfavored, so that a closure or function that fits both overloads, such as `parse`, runs synchronously.
extension Promise {
    /// Runs an asynchronous closure with the value when it arrives.
    ///
    /// The closure runs as a task without an actor; `{ @MainActor value in … }` runs on the main actor. It starts on the global executor,
    /// so there is no parameter `on:`. It starts where the value arrives, so it inherits neither priority nor task-local values. After an
    /// error the closure does not run, and the error becomes the returned promise's error.
    ///
    /// Dropping the returned promise cancels the task and settles the promise immediately, even if the closure ignores the cancellation. If
    /// the drop arrives before the task has started, the closure never runs.
    ///
    /// A synchronous closure, or a synchronous function that is passed by name, as in `then(parse)`, runs as a handler, without a task.
    ///
    /// ```swift
    /// request.dataRequest(decoding: User.self)
    ///     .then { user in try await database.save(user) }
    ///     .handle { error in print(error) }
    /// ```
    /// - Parameters:
    ///   - body: Takes the value and returns the next one. An error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the value that `body` returns.
    @discardableResult @_disfavoredOverload
    public final func then<NewValue: Sendable>(
        _ body: @escaping @Sendable (Value) async throws -> NewValue,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        step(on: globalQueue, seesDrop: false, file, line) { parent, child, error, runner in
            guard let value = parent.stored, error == nil else { return child.pass(error, nil, runner) }
            child.settleByTask { try await body(value) }
        }
    }

    /// Replaces an error with a value that an asynchronous closure returns.
    ///
    /// The closure runs as a task, like that of `then(_:)`. It does not run if this promise has a value.
    /// - Parameters:
    ///   - body: Takes the error and returns a value. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of this promise's value, or of the value that `body` returns.
    @discardableResult @_disfavoredOverload
    public final func recover(
        _ body: @escaping @Sendable (any Error) async throws -> Value,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        step(on: globalQueue, seesDrop: false, file, line) { parent, child, error, runner in
            guard let error else { return child.pass(nil, parent.stored, runner) }
            child.noteErrorHandled()
            child.settleByTask { try await body(error) }
        }
    }

    /// Settles this promise, which is a link of another one, with the outcome of a task. A drop cancels the task.
    ///
    /// Unlike `Promise.init(operation:)`, it settles the promise by its link. This keeps the link until the handlers after it have run, so
    /// that a drop further up the chain still reaches them.
    private final func settleByTask(_ operation: @escaping @Sendable () async throws -> Value) {
        let scope = HandlerScope.current
        let task = Task.detached { [self] in
            // A drop may have happened before the task started.
            if isCompleted { return }
            do {
                fulfil(try await HandlerScope.run(in: scope, operation), nil, by: self)
            } catch {
                reject(error, nil, by: self)
            }
        }
        let isPending = onSettle { error in
            if error != nil { task.cancel() }
        }
        // A drop may have happened before. A task that has ended is not affected.
        if !isPending { task.cancel() }
    }
}
