/// Handlers on the main actor. Their closures may access the user interface, without a warning in the Swift 6 language mode. They run on
/// the main queue and never block it.
///
/// The methods are marked as disfavored: a trailing closure has no label, and `handle { … }` must not mean `handle(onMain:)`.
extension Promise {
    /// Runs a closure on the main actor with the value when it arrives.
    ///
    /// ```swift
    /// user.then(onMain: { [weak self] user in self?.title = user.name })
    /// ```
    ///
    /// If the chain needs the closure's result, use an asynchronous closure: `then { @MainActor value in … }`.
    /// - Parameters:
    ///   - body: Takes the value. The error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise that is fulfilled when the closure has run.
    @discardableResult @_disfavoredOverload
    public final func then(
        onMain body: @escaping @MainActor @Sendable (Value) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Void> {
        then(on: mainQueue, { value in try MainActor.assumeIsolated { try body(value) } }, file: file, line: line)
    }

    /// Runs a closure on the main actor if this promise fails, and passes the error on.
    ///
    /// ```swift
    /// // No alert after the user left and the promise was dropped.
    /// promise.then(onMain: { show($0) })
    ///     .handle(ignoringDrops: true, onMain: { showAlert($0) })
    /// ```
    /// - Parameters:
    ///   - ignoringDrops: True to leave out the errors of drops and of canceled tasks.
    ///   - body: Takes the error. An error that it throws replaces that error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @_disfavoredOverload
    public final func handle(
        ignoringDrops: Bool = false, onMain body: @escaping @MainActor @Sendable (any Error) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        handle(
            on: mainQueue, ignoringDrops: ignoringDrops, { error in try MainActor.assumeIsolated { try body(error) } },
            file: file, line: line)
    }

    /// Replaces an error with a value that a closure returns on the main actor.
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

    /// Runs a closure on the main actor exactly once, after a value and after an error, and passes the outcome on.
    /// - Parameters:
    ///   - ignoringDrops: True to leave out drops and canceled tasks. The closure still runs after a `drop(becauseOf:)`.
    ///   - body: Takes the value and the error, one of which is `nil`. An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @_disfavoredOverload
    public final func finally(
        ignoringDrops: Bool = false, onMain body: @escaping @MainActor @Sendable (Value?, (any Error)?) throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        finally(
            on: mainQueue, ignoringDrops: ignoringDrops, { value, error in try MainActor.assumeIsolated { try body(value, error) } },
            file: file, line: line)
    }

    /// Runs a closure on the main actor exactly once, after a value and after an error, and passes the outcome on. The closure does not
    /// see the outcome.
    ///
    /// ```swift
    /// request.then(onMain: { show($0) }).finally(onMain: { spinner.stop() })
    /// ```
    ///
    /// The closure of a dropped promise runs later, when its successor may have started. With `ignoringDrops`, the old promise does not
    /// stop the spinner of the new one:
    ///
    /// ```swift
    /// spinner.isHidden = false
    /// search?.drop()
    /// search = request.then(onMain: { show($0) })
    ///     .finally(ignoringDrops: true, onMain: { spinner.stop() })
    /// ```
    /// - Parameters:
    ///   - ignoringDrops: True to leave out drops and canceled tasks. The closure still runs after a `drop(becauseOf:)`.
    ///   - body: An error that it throws replaces the outcome.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult @_disfavoredOverload
    public final func finally(
        ignoringDrops: Bool = false, onMain body: @escaping @MainActor @Sendable () throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        finally(
            on: mainQueue, ignoringDrops: ignoringDrops, { try MainActor.assumeIsolated { try body() } }, file: file, line: line)
    }
}
