import Dispatch

/// The main actor's forms: closures that may touch the user interface, without a warning in the Swift 6 language mode.
/// They run on the main queue and never block it.
extension Promise {
    /// As `then(on:_:)`, on the main actor.
    /// - Parameter body: Takes the value and returns the next one. What it throws is the returned promise's error.
    /// - Returns: The promise of what `body` returns.
    @discardableResult
    public final func then<NewValue: Sendable>(
        onMain body: @escaping @MainActor @Sendable (Value) throws -> NewValue
    ) -> Promise<NewValue> {
        then(on: .main) { value in try MainActor.assumeIsolated { try body(value) } }
    }

    /// As `thenContinue(on:_:)`, on the main actor.
    /// - Parameter body: Takes the value and returns the promise to follow. What it throws is the returned promise's error.
    /// - Returns: A promise that settles as the one `body` returns.
    @discardableResult
    public final func then<NewValue: Sendable>(
        onMain body: @escaping @MainActor @Sendable (Value) throws -> Promise<NewValue>
    ) -> Promise<NewValue> {
        then(on: .main) { (value: Value) throws -> Promise<NewValue> in try MainActor.assumeIsolated { try body(value) } }
    }

    /// As `handle(on:_:)`, on the main actor.
    /// - Parameter body: Takes the error. What it throws takes the error's place.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func handle(onMain body: @escaping @MainActor @Sendable (any Error) throws -> Void) -> Promise<Value> {
        handle(on: .main) { error in try MainActor.assumeIsolated { try body(error) } }
    }

    /// As `recover(on:_:)`, on the main actor.
    /// - Parameter body: Takes the error and returns a value. What it throws is the returned promise's error.
    /// - Returns: A promise of this one's value, or of what `body` returns.
    @discardableResult
    public final func recover(onMain body: @escaping @MainActor @Sendable (any Error) throws -> Value) -> Promise<Value> {
        recover(on: .main) { (error: any Error) throws -> Value in try MainActor.assumeIsolated { try body(error) } }
    }

    /// As `finally(on:_:)`, on the main actor.
    /// - Parameter body: Takes the value, or nil, and the error, or nil. What it throws takes the outcome's place.
    /// - Returns: A promise with the same value or error as this one.
    @discardableResult
    public final func finally(
        onMain body: @escaping @MainActor @Sendable (Value?, (any Error)?) throws -> Void
    ) -> Promise<Value> {
        finally(on: .main) { value, error in try MainActor.assumeIsolated { try body(value, error) } }
    }
}
