import Dispatch

extension Promise {
    /// Runs a closure with the value when it arrives.
    ///
    /// On an error the closure does not run, and the error is the returned promise's.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the value and returns the next one. What it throws is the returned promise's error.
    /// - Returns: The promise of what `body` returns.
    @discardableResult
    public final func then<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> NewValue
    ) -> Promise<NewValue> {
        step(on: context.handlerQueue, seesDrop: false) { outcome in .value(try body(outcome.get())) }
    }

    /// Runs a closure with the value when it arrives, and goes on as the promise that the closure returns. As `thenContinue`.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the value and returns the promise to follow. What it throws is the returned promise's error.
    /// - Returns: A promise that settles as the one `body` returns.
    @discardableResult
    public final func then<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> Promise<NewValue>
    ) -> Promise<NewValue> {
        step(on: context.handlerQueue, seesDrop: false) { outcome in .follow(try body(outcome.get())) }
    }

    /// Runs a closure with the value when it arrives, and goes on as the promise that the closure returns.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the value and returns the promise to follow. What it throws is the returned promise's error.
    /// - Returns: A promise that settles as the one `body` returns.
    @discardableResult
    public final func thenContinue<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> Promise<NewValue>
    ) -> Promise<NewValue> {
        then(on: context, body)
    }

    /// Runs a closure with the error, if that is what comes, and passes it on.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the error. What it throws takes the error's place.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func handle(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Void
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: true) { outcome in
            if case .failure(let error) = outcome { try body(error) }
            return .value(try outcome.get())
        }
    }

    /// Replaces an error by a value.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the error and returns a value. What it throws is the returned promise's error.
    /// - Returns: A promise of this one's value, or of what `body` returns.
    @discardableResult
    public final func recover(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Value
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: false) { outcome in
            switch outcome {
            case .success(let value): .value(value)
            case .failure(let error): .value(try body(error))
            }
        }
    }

    /// Replaces an error by another promise.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the error and returns the promise to follow. What it throws is the returned promise's error.
    /// - Returns: A promise of this one's value, or one that settles as the one `body` returns.
    @discardableResult
    public final func recover(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Promise<Value>
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: false) { outcome in
            switch outcome {
            case .success(let value): .value(value)
            case .failure(let error): .follow(try body(error))
            }
        }
    }

    /// Runs a closure whatever the outcome, exactly once, and passes the outcome on: a `then` behind it runs on success only.
    /// - Parameters:
    ///   - context: Where the closure runs; the global concurrent queue unless given.
    ///   - body: Takes the value, or nil, and the error, or nil: one of them is there. What it throws takes the outcome's place.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func finally(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value?, (any Error)?) throws -> Void
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: true) { outcome in
            switch outcome {
            case .success(let value): try body(value, nil)
            case .failure(let error): try body(nil, error)
            }
            return .value(try outcome.get())
        }
    }
}
