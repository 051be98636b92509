import Dispatch

/// A value that arrives later, or an error in its place.
///
/// A promise starts pending and settles once: with a value or with an error. Every later attempt to settle it is ignored.
///
/// ```swift
/// let name = ness.get("users", id).dataRequest(decoding: User.self)
///     .then { user in user.name }
///     .handle { error in print(error) }
///
/// name.then(onMain: { name in label.text = name })
/// let text = try await name.value
/// ```
///
/// **Handlers.** `then` takes the value. `handle` sees the error and passes it on. `recover` replaces an error with a value. `finally` runs
/// in both cases and passes the outcome on. `thenContinue` and `recoverContinue` take closures that return a promise, and follow that
/// promise. Each returns a new promise. An error that a handler throws becomes the error of that new promise.
///
/// **Threads.** Handlers run on the global concurrent queue, or on the queue given by `on:`. `onMain:` takes a closure that is isolated to
/// the main actor. A handler never runs inside the call that adds it, nor inside the call that settles the promise (Promises/A+ 2.2.4),
/// unless it asks for `.immediate`. Handlers of one promise on one queue run in the order in which they were added. A chain of handlers on
/// one queue is sent to that queue once.
///
/// **Dropping.** `drop()` immediately ends a pending promise with an error. The drop travels up the chain to each promise that has no other
/// waiter, and stops the work behind it: a request is canceled on the wire. It never travels sideways, to another branch or another
/// caller. If `drop()` is called on the queue of a handler before the handler starts, that handler never sees a value, even if one had
/// arrived.
///
/// **With async/await.** `try await promise.value` waits without blocking a thread. If the waiting task is canceled and nothing else waits
/// for the promise, the promise is dropped. `Promise { try await work() }` runs an operation in a task, and dropping the promise cancels
/// the task. `wait(timeout:)` blocks a thread, for scripts and tests.
///
/// **Making a promise** from a callback:
///
/// ```swift
/// func measure(_ sensor: Sensor) -> Promise<Double> {
///     let (promise, resolver) = Promise<Double>.pending(
///         onDrop: { _ in sensor.stop() })
///     sensor.start { value in resolver.resolve(value) }
///     return promise
/// }
/// ```
///
/// A resolver that is released without having settled its promise rejects it with `PromiseError.abandoned`, so no promise waits forever.
///
/// All members may be called from any thread. `@unchecked Sendable`: `stored` is written once, under the lock `state`, before the promise
/// counts as settled. It is read only after that.
open class Promise<Value: Sendable>: AnyPromise, @unchecked Sendable {
    @usableFromInline @exclusivity(unchecked)
    final var stored: Value?

    /// Makes a pending promise that the library settles.
    @inlinable
    package init(makeDropError: (@Sendable () -> any Error)? = nil) { super.init(makeDropError: makeDropError) }

    /// Makes a promise that a handler of `parent` will settle.
    @inlinable
    init(after parent: AnyPromise, on queue: DispatchQueue?, seesDrop: Bool, _ file: StaticString, _ line: UInt, body: @escaping Body) {
        super.init(linkedTo: parent, on: queue, seesDrop: seesDrop, makeDropError: parent.makeDropError, body: body)
        notePlace(file, line)
        parent.register(self)
    }

    /// Makes a promise that settles like `parent`, with its errors mapped.
    /// - Parameters:
    ///   - parent: The other promise.
    ///   - mapping: Changes an error, even that of a drop.
    ///   - changingValue: Changes the value.
    package init(
        of parent: Promise<Value>, changingErrors mapping: @escaping @Sendable (any Error) -> any Error,
        changingValue: @escaping @Sendable (Value) -> Value = { $0 }, _ file: StaticString, _ line: UInt
    ) {
        // Weak, because the parent is released once nothing waits for it.
        let makeDropError: @Sendable () -> any Error = { [weak parent] in mapping(parent?.dropError ?? PromiseError.dropped) }
        super.init(linkedTo: parent, makeDropError: makeDropError, errorMapping: mapping) { parent, child, error, runner in
            let child = unsafeDowncast(child, to: Promise<Value>.self)
            if let error {
                // Nobody has to handle a drop, even if it becomes another error.
                if AnyPromise.isDrop(error) { child.noteErrorPassed() } else { child.noteErrorHandled() }
                child.reject(mapping(error), runner, by: child)
            } else if let stored = unsafeDowncast(parent, to: Promise<Value>.self).stored {
                child.fulfil(changingValue(stored), runner, by: child)
            }
        }
        notePlace(file, line)
        parent.register(self)
    }

    /// Returns this promise's outcome with another error, even after a drop.
    ///
    /// A promise of a request keeps its kind: `status`, `progress`, `pause()` and `drop()` work on the returned promise as they do on this
    /// one. The chunks and lines of a stream fail with the changed errors as well.
    ///
    /// ```swift
    /// struct NoUser: Error {}
    ///
    /// let user = ness.get("users/1").dataRequest(decoding: User.self)
    ///     .mapError { error in
    ///         (error as? NessError)?.kind == .offline ? NoUser() : error
    ///     }
    /// ```
    ///
    /// If this promise or the returned one is dropped, the closure receives the error of the drop. The reason that a caller gives to
    /// `drop(becauseOf:)` of the returned promise stays as it is. `handle(ignoringDrops: true)` and `finally(ignoringDrops: true)` still
    /// recognize a drop if the closure returns a `CancellationError` for it.
    /// - Parameters:
    ///   - transform: Takes the error of this promise and returns that of the new one. It runs inside the call that settles or drops a
    ///     promise, so it must not block. For one drop it may run more than once.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value, or with the error that `transform` returns. Dropping it drops this promise, unless this one
    ///   has another waiter.
    @discardableResult
    open func mapError(
        _ transform: @escaping @Sendable (any Error) -> any Error, file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        Promise(of: self, changingErrors: transform, file, line)
    }

    /// The value or the error; `nil` while the promise is pending.
    public final var outcome: Result<Value, any Error>? {
        guard isCompleted else { return nil }
        if let failure {
            noteErrorRead()
            return .failure(failure)
        }
        return stored.map(Result.success)
    }

    /// The value; `nil` while the promise is pending, and after an error.
    public final var result: Value? { isCompleted ? stored : nil }

    /// Settles the promise with a value if it is pending.
    /// - Parameters:
    ///   - value: The value.
    ///   - runner: The runner in which the caller runs; `nil` outside of a runner.
    ///   - link: The link whose body settles the promise; `nil` if no link does.
    @inlinable
    final func fulfil(_ value: Value, _ runner: Runner?, by link: AnyPromise? = nil) {
        settle(nil, runner, by: link) { stored = value }
    }

    /// Settles the promise if it is pending.
    /// - Parameter outcome: The value or the error.
    package final func settle(_ outcome: Result<Value, any Error>) { settle(outcome, nil) }

    /// Settles the promise if it is pending: see `fulfil(_:_:by:)`.
    final func settle(_ outcome: Result<Value, any Error>, _ runner: Runner?, by link: AnyPromise? = nil) {
        switch outcome {
        case .success(let value): fulfil(value, runner, by: link)
        case .failure(let error): reject(error, runner, by: link)
        }
    }

    /// Settles this promise as another one settles.
    @usableFromInline
    final func follow(_ promise: Promise<Value>, _ runner: Runner?) {
        let link = AnyPromise.link(for: self)
        link.noteErrorPassed()
        link.body = { [self] parent, link, error, runner in
            if let error {
                reject(error, runner, by: link)
            } else if let value = unsafeDowncast(parent, to: Promise<Value>.self).stored {
                fulfil(value, runner, by: link)
            }
        }
        follow(promise, by: link, runner)
    }
}
