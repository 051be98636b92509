import Dispatch

/// A value that arrives later, or the error that came instead.
///
/// A promise settles once. Handlers are added with `then`, `handle`, `recover` and `finally`, each of which returns the promise of
/// its own result; they run on the global concurrent queue unless told otherwise, never inside the call that adds them
/// (Promises/A+ 2.2.4), and in the order in which they were added. A chain whose handlers share a queue hops to it once.
///
/// ```swift
/// request.dataRequest()
///     .then { result in try result.message.parseJSONBody() as User }
///     .then(on: .main) { user in show(user) }
///     .handle { error in print(error) }
/// ```
///
/// `drop()` ends a promise early. It travels up to whatever only this promise was waiting for, and never sideways.
///
/// All members may be called from any thread. `@unchecked Sendable`: `lock` guards all that changes.
open class Promise<Value: Sendable>: @unchecked Sendable {
    typealias Outcome = Result<Value, any Error>

    struct State: Sendable {
        var outcome: Outcome?
        var links = LinkList<Value>()
        /// What this promise waits on; kept until nothing that hangs on this promise has a handler to run.
        var edges = Edges.none
        /// Told once when the promise settles: with the error if it was dropped, with nil if it was not.
        var onSettle: (@Sendable ((any Error)?) -> Void)?

        mutating func takeEdges() -> Edges {
            let taken = edges
            edges = .none
            return taken
        }
    }

    let lock = Lock(State())
    /// Makes the error of a `drop()` without a reason; a chain has that of the promise it began with.
    let makeDropError: (@Sendable () -> any Error)?

    /// A pending promise that the library settles.
    package init(makeDropError: (@Sendable () -> any Error)? = nil) { self.makeDropError = makeDropError }

    // MARK: what is known

    /// The value or the error, or nil while the promise is pending.
    public final var outcome: Result<Value, any Error>? { lock.withLock { $0.outcome } }

    /// Whether the promise has settled.
    public final var isCompleted: Bool { outcome != nil }

    /// The value, or nil while there is none.
    public final var result: Value? { try? outcome?.get() }

    /// The error, or nil while there is none.
    public final var error: (any Error)? {
        guard case .failure(let error) = outcome else { return nil }
        return error
    }

    // MARK: dropping

    /// Ends this promise with an error at once, unless it has settled, and whatever only it was waiting for.
    ///
    /// A promise that has settled keeps its outcome, but handlers that have not begun see the error instead of it.
    public final func drop() { drop(becauseOf: nil) }

    /// As `drop()`, with a reason.
    /// - Parameter error: The error that this promise, and what is dropped with it, fails with.
    public final func drop(becauseOf error: any Error) { drop(becauseOf: Optional(error)) }

    private func drop(becauseOf error: (any Error)?) {
        var walk = DropWalk()
        walk.visit(self, becauseOf: error)
        walk.finish()
    }

    // MARK: settling, from the library

    /// Settles the promise if it is pending.
    /// - Parameter outcome: The value or the error.
    /// - Returns: Whether this call settled it.
    @discardableResult
    package final func settle(_ outcome: Result<Value, any Error>) -> Bool { settle(outcome, nil) }

    /// Sets what is told once when the promise settles: the error if it was dropped, nil if it was not.
    /// - Returns: False if it has settled; then nothing is kept.
    @discardableResult
    package final func onSettle(_ body: @escaping @Sendable ((any Error)?) -> Void) -> Bool {
        lock.withLock { state in
            guard state.outcome == nil else { return false }
            state.onSettle = body
            return true
        }
    }
}
