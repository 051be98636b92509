extension Promise {
    /// Runs an asynchronous operation in a separate task. Dropping the promise cancels the task.
    /// - Parameters:
    ///   - priority: The task's priority. The default is that of the caller's task.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    ///   - operation: The operation. It starts immediately, without an actor. An error that it throws becomes the promise's error.
    @inlinable
    public convenience init(
        priority: TaskPriority? = nil, file: StaticString = #fileID, line: UInt = #line,
        operation: @escaping @Sendable () async throws -> Value
    ) {
        self.init(makeDropError: nil)
        notePlace(file, line)
        let task = Task(priority: priority) { [self] in
            do {
                fulfil(try await operation(), nil)
            } catch {
                reject(error, nil)
            }
        }
        onSettle { error in
            if error != nil { task.cancel() }
        }
    }

    /// Waits for the value without blocking a thread.
    ///
    /// Canceling the waiting task drops the promise, unless it has another waiter. In both cases the task immediately receives the drop's
    /// error.
    /// - Throws: The promise's error.
    @inlinable
    public final var value: Value {
        get async throws {
            if !isCompleted, let error = await untilSettled() { throw error }
            return try settledValue()
        }
    }

    /// Waits for the outcome without blocking a thread: the value or the error.
    ///
    /// Like `value`, it drops the promise if the waiting task is canceled and nothing else waits for the promise.
    public final var settled: Result<Value, any Error> {
        get async {
            do {
                return .success(try await value)
            } catch {
                return .failure(error)
            }
        }
    }

    /// The value of a promise that has settled.
    @inlinable
    final func settledValue() throws -> Value {
        if let failure {
            noteErrorRead()
            throw failure
        }
        guard let stored else { throw PromiseError.abandoned }
        return stored
    }

    /// The outcome of a promise that has settled.
    final var settledResult: Result<Value, any Error> { Result { try settledValue() } }
}

extension AnyPromise {
    /// Waits until the promise has settled, without blocking a thread. It never throws.
    ///
    /// ```swift
    /// let running: [AnyPromise] = [name, first, second]
    /// for promise in running { await promise.untilSettled() }
    /// ```
    ///
    /// Like `Promise.value`, it drops the promise if the waiting task is canceled and nothing else waits for the promise.
    /// - Returns: The promise's error, or the error of a drop that kept the task from the outcome; `nil` if the promise has a value.
    @discardableResult
    public final func untilSettled() async -> (any Error)? {
        // The continuation only wakes the task, which then reads the error under the lock: the thread sanitizer does not see the order that
        // `resume` guarantees.
        let link = AnyPromise.link()
        await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                link.body = { _, link, error, _ in
                    link.noteErrorHandled()
                    link.state.withLock { _ in link.failure = error }
                    continuation.resume()
                }
                // The link was closed before: the task was canceled before this point.
                if !register(link) {
                    // Outside the lock, because the error may come from code of another module.
                    let error = dropError
                    link.state.withLock { _ in link.failure = error }
                    continuation.resume()
                }
            }
        } onCancel: {
            abandon(link)
        }
        return link.state.withLock { _ in link.failure }
    }

    /// The error of a drop without a reason: that of the promise with which the chain started, or else of a promise that this one waits on.
    ///
    /// A combination of requests, and a handler that returned a request, thus fail with the error of a dropped request.
    @usableFromInline
    final var dropError: any Error {
        var promise = self
        while promise.makeDropError == nil, let parent = promise.state.withLock({ $0.edges.origin }) { promise = parent }
        return promise.makeDropError?() ?? PromiseError.dropped
    }

    /// Removes the link of a task that was canceled. If it was the last link, drops this promise.
    @usableFromInline
    final func abandon(_ link: AnyPromise) {
        var walk = DropWalk()
        leave(link, with: dropError, in: &walk)
        walk.finish()
    }
}
