import Dispatch

// Where a form is marked as disfavoured, the compiler would otherwise take it, not its twin for the main actor, for `on: .main`. The generic
// results of `then` and `thenContinue` make the mark unnecessary there, and with it `.ci/chains` fails.
extension Promise {
    /// Runs a closure with the value when it arrives.
    ///
    /// On an error the closure does not run, and the error becomes the returned promise's error. A closure that awaits runs as a task,
    /// see `then(_:)`. A promise that the closure returns is a value like any other: `thenContinue` waits for it.
    ///
    /// With `on: .main` the closure is isolated to the main actor and may touch the user interface. With `on: DispatchQueue.main`, spelled
    /// out or held in a variable, it runs on the main queue but the compiler does not know that it may.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the value and returns the next one. What it throws is the returned promise's error.
    /// - Returns: The promise of what `body` returns.
    @discardableResult @inlinable
    public final func then<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> NewValue
    ) -> Promise<NewValue> {
        step(on: context.handlerQueue, seesDrop: false) { parent, child, error, runner in
            guard let value = parent.stored, error == nil else { return child.pass(error, nil, runner) }
            child.fulfil(try body(value), runner, by: child)
        }
    }

    /// Runs a closure with the value when it arrives, and goes on as the promise that the closure returns.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the value and returns the promise to follow. What it throws is the returned promise's error.
    /// - Returns: A promise that settles as the one `body` returns.
    @discardableResult @inlinable
    public final func thenContinue<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> Promise<NewValue>
    ) -> Promise<NewValue> {
        step(on: context.handlerQueue, seesDrop: false) { parent, child, error, runner in
            guard let value = parent.stored, error == nil else { return child.pass(error, nil, runner) }
            child.follow(try body(value), runner)
        }
    }

    /// Runs a closure with the error, if that is what comes, and passes it on.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the error. What it throws takes the error's place.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @inlinable @_disfavoredOverload
    public final func handle(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Void
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: true) { parent, child, error, runner in
            if let error { try body(error) }
            child.pass(error, parent.stored, runner)
        }
    }

    /// Replaces an error by a value.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the error and returns a value. What it throws is the returned promise's error.
    /// - Returns: A promise of this one's value, or of what `body` returns.
    @discardableResult @inlinable @_disfavoredOverload
    public final func recover(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Value
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: false) { parent, child, error, runner in
            guard let error else { return child.pass(nil, parent.stored, runner) }
            child.fulfil(try body(error), runner, by: child)
        }
    }

    /// Replaces an error by another promise.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the error and returns the promise to follow. What it throws is the returned promise's error.
    /// - Returns: A promise of this one's value, or one that settles as the one `body` returns.
    @discardableResult @inlinable @_disfavoredOverload
    public final func recoverContinue(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Promise<Value>
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: false) { parent, child, error, runner in
            guard let error else { return child.pass(nil, parent.stored, runner) }
            child.follow(try body(error), runner)
        }
    }

    /// Runs a closure whatever the outcome, exactly once, and passes the outcome on: a `then` behind it runs on success only.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the value, or nil, and the error, or nil: one of them is there. What it throws takes the outcome's place.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @inlinable @_disfavoredOverload
    public final func finally(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value?, (any Error)?) throws -> Void
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: true) { parent, child, error, runner in
            try body(error == nil ? parent.stored : nil, error)
            child.pass(error, parent.stored, runner)
        }
    }

    /// Adds a step. What it throws rejects the promise it settles.
    @inlinable
    final func step<NewValue: Sendable>(
        on queue: DispatchQueue?, seesDrop: Bool,
        _ body: @escaping @Sendable (Promise<Value>, Promise<NewValue>, (any Error)?, Runner?) throws -> Void
    ) -> Promise<NewValue> {
        Promise<NewValue>(after: self, on: queue, seesDrop: seesDrop) { parent, child, error, runner in
            let child = unsafeDowncast(child, to: Promise<NewValue>.self)
            do {
                try body(unsafeDowncast(parent, to: Promise<Value>.self), child, error, runner)
            } catch {
                child.reject(error, runner, by: child)
            }
        }
    }

    /// Settles as the parent did: with the error if there is one, else with the value.
    @inlinable
    final func pass(_ error: (any Error)?, _ value: Value?, _ runner: Runner?) {
        if let error {
            reject(error, runner, by: self)
        } else if let value {
            fulfil(value, runner, by: self)
        }
    }
}
