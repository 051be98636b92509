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
/// All members may be called from any thread. `@unchecked Sendable`: `stored` is written once, under the lock of `AnyPromise`, before
/// the promise counts as settled, and read only after.
open class Promise<Value: Sendable>: AnyPromise, @unchecked Sendable {
    @usableFromInline @exclusivity(unchecked)
    final var stored: Value?

    /// A pending promise that the library settles.
    @inlinable
    package init(makeDropError: (@Sendable () -> any Error)? = nil) { super.init(promiseMaking: makeDropError) }

    /// A promise that a handler of `parent` will settle.
    @inlinable
    init(after parent: AnyPromise, on queue: DispatchQueue?, seesDrop: Bool, body: @escaping Body) {
        super.init(linkedTo: parent, on: queue, seesDrop: seesDrop, body: body)
        parent.register(self)
    }

    /// The value or the error, or nil while the promise is pending.
    public final var outcome: Result<Value, any Error>? {
        guard isCompleted else { return nil }
        if let failure { return .failure(failure) }
        return stored.map(Result.success)
    }

    /// The value, or nil while there is none.
    public final var result: Value? { isCompleted ? stored : nil }

    /// Fulfils the promise if it is pending. Returns whether this call did.
    @discardableResult @inlinable
    final func fulfil(_ value: Value, _ runner: Runner?, by link: AnyPromise? = nil) -> Bool {
        guard beginSettling() else { return false }
        stored = value
        finishSettling(nil, runner, by: link)
        return true
    }

    /// Settles the promise if it is pending.
    /// - Parameter outcome: The value or the error.
    /// - Returns: Whether this call settled it.
    @discardableResult
    package final func settle(_ outcome: Result<Value, any Error>) -> Bool { settle(outcome, nil) }

    @discardableResult
    final func settle(_ outcome: Result<Value, any Error>, _ runner: Runner?, by link: AnyPromise? = nil) -> Bool {
        switch outcome {
        case .success(let value): fulfil(value, runner, by: link)
        case .failure(let error): reject(error, runner, by: link)
        }
    }

    /// Settles as another promise does.
    @usableFromInline
    final func follow(_ promise: Promise<Value>, _ runner: Runner?) {
        let link = AnyPromise.link(for: self)
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
