import Dispatch

/// Handlers on the main actor. Their closures may access the user interface, without a warning in the Swift 6 language mode. They run on
/// the main queue and never block it.
///
/// `on: .main` and `onMain:` mean the same. For `on: .main` the compiler prefers these overloads, because those for other queues are marked
/// as disfavoured. The forms with `onMain:` are marked, too: a trailing closure has no label, and `handle { … }` must not mean
/// `handle(onMain:)`.
extension Promise {
    /// Runs a closure on the main actor with the value when it arrives.
    /// - Parameters:
    ///   - context: `.main`.
    ///   - body: Takes the value and returns the next one. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the value that `body` returns.
    @discardableResult
    public final func then<NewValue: Sendable>(
        on context: MainActorContext, _ body: @escaping @MainActor @Sendable (Value) throws -> NewValue,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        then(onMain: body, file: file, line: line)
    }

    /// Runs a closure on the main actor with the value when it arrives.
    /// - Parameters:
    ///   - body: Takes the value and returns the next one. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the value that `body` returns.
    @discardableResult
    public final func then<NewValue: Sendable>(
        onMain body: @escaping @MainActor @Sendable (Value) throws -> NewValue,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        then(on: mainQueue, { value in try MainActor.assumeIsolated { try body(value) } }, file: file, line: line)
    }

    /// Runs a closure on the main actor with the value when it arrives, and follows the promise that the closure returns.
    /// - Parameters:
    ///   - context: `.main`.
    ///   - body: Takes the value and returns the promise to follow. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise that settles as the one that `body` returns.
    @discardableResult
    public final func thenContinue<NewValue: Sendable>(
        on context: MainActorContext, _ body: @escaping @MainActor @Sendable (Value) throws -> Promise<NewValue>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        thenContinue(onMain: body, file: file, line: line)
    }

    /// Runs a closure on the main actor with the value when it arrives, and follows the promise that the closure returns.
    /// - Parameters:
    ///   - body: Takes the value and returns the promise to follow. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise that settles as the one that `body` returns.
    @discardableResult @_disfavoredOverload
    public final func thenContinue<NewValue: Sendable>(
        onMain body: @escaping @MainActor @Sendable (Value) throws -> Promise<NewValue>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        thenContinue(on: mainQueue, { value in try MainActor.assumeIsolated { try body(value) } }, file: file, line: line)
    }

    /// Runs a closure on the main actor if this promise fails, and passes the error on.
    /// - Parameters:
    ///   - context: `.main`.
    ///   - body: Takes the error. An error that it throws replaces that error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func handle(
        on context: MainActorContext, _ body: @escaping @MainActor @Sendable (any Error) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        handle(onMain: body, file: file, line: line)
    }

    /// Runs a closure on the main actor if this promise fails, and passes the error on.
    /// - Parameters:
    ///   - body: Takes the error. An error that it throws replaces that error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @_disfavoredOverload
    public final func handle(
        onMain body: @escaping @MainActor @Sendable (any Error) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        handle(on: mainQueue, { error in try MainActor.assumeIsolated { try body(error) } }, file: file, line: line)
    }

    /// Runs a closure on the main actor if this promise fails, but not for a drop, and passes the error on.
    /// - Parameters:
    ///   - context: `.main`.
    ///   - ignoringDrops: True to leave out the errors of drops and of cancelled tasks.
    ///   - body: Takes the error. An error that it throws replaces that error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func handle(
        on context: MainActorContext, ignoringDrops: Bool, _ body: @escaping @MainActor @Sendable (any Error) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        handle(
            on: mainQueue, ignoringDrops: ignoringDrops, { error in try MainActor.assumeIsolated { try body(error) } },
            file: file, line: line)
    }

    /// Replaces an error by a value that a closure returns on the main actor.
    /// - Parameters:
    ///   - context: `.main`.
    ///   - body: Takes the error and returns a value. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of this promise's value, or of the value that `body` returns.
    @discardableResult
    public final func recover(
        on context: MainActorContext, _ body: @escaping @MainActor @Sendable (any Error) throws -> Value,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        recover(onMain: body, file: file, line: line)
    }

    /// Replaces an error by a value that a closure returns on the main actor.
    /// - Parameters:
    ///   - body: Takes the error and returns a value. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of this promise's value, or of the value that `body` returns.
    @discardableResult @_disfavoredOverload
    public final func recover(
        onMain body: @escaping @MainActor @Sendable (any Error) throws -> Value,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        recover(on: mainQueue, { error in try MainActor.assumeIsolated { try body(error) } }, file: file, line: line)
    }

    /// Replaces an error by the promise that a closure returns on the main actor.
    /// - Parameters:
    ///   - context: `.main`.
    ///   - body: Takes the error and returns the promise to follow. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of this promise's value, or one that settles as the promise that `body` returns.
    @discardableResult
    public final func recoverContinue(
        on context: MainActorContext, _ body: @escaping @MainActor @Sendable (any Error) throws -> Promise<Value>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        recoverContinue(onMain: body, file: file, line: line)
    }

    /// Replaces an error by the promise that a closure returns on the main actor.
    /// - Parameters:
    ///   - body: Takes the error and returns the promise to follow. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of this promise's value, or one that settles as the promise that `body` returns.
    @discardableResult @_disfavoredOverload
    public final func recoverContinue(
        onMain body: @escaping @MainActor @Sendable (any Error) throws -> Promise<Value>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        recoverContinue(on: mainQueue, { error in try MainActor.assumeIsolated { try body(error) } }, file: file, line: line)
    }

    /// Runs a closure on the main actor exactly once, after a value and after an error, and passes the outcome on.
    /// - Parameters:
    ///   - context: `.main`.
    ///   - body: Takes the value and the error, one of which is `nil`. An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func finally(
        on context: MainActorContext, _ body: @escaping @MainActor @Sendable (Value?, (any Error)?) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        finally(onMain: body, file: file, line: line)
    }

    /// Runs a closure on the main actor exactly once, after a value and after an error, and passes the outcome on.
    /// - Parameters:
    ///   - body: Takes the value and the error, one of which is `nil`. An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @_disfavoredOverload
    public final func finally(
        onMain body: @escaping @MainActor @Sendable (Value?, (any Error)?) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        finally(on: mainQueue, { value, error in try MainActor.assumeIsolated { try body(value, error) } }, file: file, line: line)
    }

    /// Runs a closure on the main actor exactly once, after a value and after an error, and passes the outcome on. The closure does not
    /// see the outcome.
    ///
    /// ```swift
    /// request.then(on: .main) { show($0) }.finally(on: .main) { spinner.stop() }
    /// ```
    /// - Parameters:
    ///   - context: `.main`.
    ///   - body: An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func finally(
        on context: MainActorContext, _ body: @escaping @MainActor @Sendable () throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        finally(onMain: body, file: file, line: line)
    }

    /// Runs a closure on the main actor exactly once, after a value and after an error, and passes the outcome on. The closure does not
    /// see the outcome.
    /// - Parameters:
    ///   - body: An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @_disfavoredOverload
    public final func finally(
        onMain body: @escaping @MainActor @Sendable () throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        finally(on: mainQueue, { try MainActor.assumeIsolated { try body() } }, file: file, line: line)
    }
}
