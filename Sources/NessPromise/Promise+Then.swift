import Dispatch

extension Promise {
    /// Runs a closure with the value when it arrives.
    ///
    /// After an error the closure does not run, and the error becomes the returned promise's error. An asynchronous closure runs as a task:
    /// see `then(_:)`. If the closure returns a promise, that promise is the value; `thenContinue` waits for it instead.
    ///
    /// A closure of `then(on: .main)` runs on the main queue, but the compiler does not let it access the user interface: see
    /// `then(onMain:)`.
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - body: Takes the value and returns the next one. An error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the value that `body` returns.
    @discardableResult @inlinable
    public final func then<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> NewValue,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        step(on: context.handlerQueue, seesDrop: false, file, line) { parent, child, error, runner in
            guard let value = parent.stored, error == nil else { return child.pass(error, nil, runner) }
            child.fulfil(try body(value), runner, by: child)
        }
    }

    /// Runs a closure with the value when it arrives, and follows the promise that the closure returns.
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - body: Takes the value and returns the promise to follow. An error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise that settles like the one that `body` returns.
    @discardableResult @inlinable
    public final func thenContinue<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> Promise<NewValue>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        step(on: context.handlerQueue, seesDrop: false, file, line) { parent, child, error, runner in
            guard let value = parent.stored, error == nil else { return child.pass(error, nil, runner) }
            child.follow(try body(value), runner)
        }
    }

    /// Runs a closure if this promise fails, and passes the error on.
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - ignoringDrops: True to leave out the errors of drops and of canceled tasks. The closure sees the reason of a
    ///     `drop(becauseOf:)`.
    ///   - body: Takes the error. An error that it throws replaces that error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @inlinable
    public final func handle(
        on context: some HandlerContext = .default, ignoringDrops: Bool = false, _ body: @escaping @Sendable (any Error) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: true, file, line) { parent, child, error, runner in
            if let error {
                child.noteErrorHandled()
                if !ignoringDrops || !AnyPromise.isDrop(error) { try body(error) }
            }
            child.pass(error, parent.stored, runner)
        }
    }

    /// Replaces an error with a value.
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - body: Takes the error and returns a value. An error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of this promise's value, or of the value that `body` returns.
    @discardableResult @inlinable
    public final func recover(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Value,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: false, file, line) { parent, child, error, runner in
            guard let error else { return child.pass(nil, parent.stored, runner) }
            child.noteErrorHandled()
            child.fulfil(try body(error), runner, by: child)
        }
    }

    /// Replaces an error with another promise.
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - body: Takes the error and returns the promise to follow. An error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of this promise's value, or one that settles like the promise that `body` returns.
    @discardableResult @inlinable
    public final func recoverContinue(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (any Error) throws -> Promise<Value>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: false, file, line) { parent, child, error, runner in
            guard let error else { return child.pass(nil, parent.stored, runner) }
            child.noteErrorHandled()
            child.follow(try body(error), runner)
        }
    }

    /// Runs a closure exactly once, after a value and after an error, and passes the outcome on. A `then` after it runs only after a value.
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - ignoringDrops: True to leave out drops and canceled tasks. The closure still runs after a `drop(becauseOf:)`.
    ///   - body: Takes the value and the error, one of which is `nil`. An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @inlinable
    public final func finally(
        on context: some HandlerContext = .default, ignoringDrops: Bool = false,
        _ body: @escaping @Sendable (Value?, (any Error)?) throws -> Void, file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: true, file, line) { parent, child, error, runner in
            child.noteErrorHandled()
            if !ignoringDrops || error.map(AnyPromise.isDrop) != true { try body(error == nil ? parent.stored : nil, error) }
            child.pass(error, parent.stored, runner)
        }
    }

    /// Runs a closure exactly once, after a value and after an error, and passes the outcome on. The closure does not see the outcome.
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - ignoringDrops: True to leave out drops and canceled tasks. The closure still runs after a `drop(becauseOf:)`.
    ///   - body: An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @inlinable
    public final func finally(
        on context: some HandlerContext = .default, ignoringDrops: Bool = false, _ body: @escaping @Sendable () throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        step(on: context.handlerQueue, seesDrop: true, file, line) { parent, child, error, runner in
            if !ignoringDrops || error.map(AnyPromise.isDrop) != true { try body() }
            child.pass(error, parent.stored, runner)
        }
    }

    /// Adds a handler to this promise. An error that `body` throws becomes the error of the returned promise.
    @inlinable
    final func step<NewValue: Sendable>(
        on queue: DispatchQueue?, seesDrop: Bool, _ file: StaticString, _ line: UInt,
        _ body: @escaping @Sendable (Promise<Value>, Promise<NewValue>, (any Error)?, Runner?) throws -> Void
    ) -> Promise<NewValue> {
        Promise<NewValue>(after: self, on: queue, seesDrop: seesDrop, file, line) { parent, child, error, runner in
            let child = unsafeDowncast(child, to: Promise<NewValue>.self)
            do {
                try body(unsafeDowncast(parent, to: Promise<Value>.self), child, error, runner)
            } catch {
                child.reject(error, runner, by: child)
            }
        }
    }

    /// Settles this promise with the outcome of its parent: the error if there is one, else the value.
    @inlinable
    final func pass(_ error: (any Error)?, _ value: Value?, _ runner: Runner?) {
        if let error {
            noteErrorPassed()
            reject(error, runner, by: self)
        } else if let value {
            fulfil(value, runner, by: self)
        }
    }
}
