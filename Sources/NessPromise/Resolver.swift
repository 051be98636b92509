/// Settles the promise with which it was made. It may be used from any thread. Only the first call counts.
///
/// A resolver that is released without having settled its promise rejects it with `PromiseError.abandoned`, so no promise waits for ever.
public final class Resolver<Value: Sendable>: Sendable {
    @usableFromInline
    let promise: Promise<Value>

    @usableFromInline
    init(_ promise: Promise<Value>) { self.promise = promise }

    deinit {
        promise.settleIfUnresolved()
    }

    /// Settles the promise with a value.
    /// - Parameter value: The value.
    @inlinable
    public func resolve(_ value: Value) { promise.fulfil(value, nil) }

    /// Settles the promise with an error.
    /// - Parameter error: The error.
    public func reject(_ error: any Error) { promise.reject(error, nil) }

    /// Settles the promise as another one settles. If the promise would then wait for itself, it is rejected with `PromiseError.cycle`.
    /// - Parameter other: The promise to follow.
    public func resolve(following other: Promise<Value>) { promise.follow(other, nil) }
}

extension AnyPromise {
    /// Rejects the promise if it is pending and does not follow another promise.
    fileprivate final func settleIfUnresolved() {
        guard beginSettling() else { return }
        if case .none = edges {
            finishSettling(PromiseError.abandoned, nil, by: nil)
        } else {
            unlock()
        }
    }
}

extension Promise where Value == Void {
    /// Makes a promise that is fulfilled with `Void`.
    public static func resolved() -> Promise<Void> { resolved(()) }
}

extension Promise {
    /// Makes a pending promise, and the resolver that settles it.
    /// - Parameter onDrop: Runs once if the promise is dropped before it settled, inside the call that drops it. It takes the drop's error.
    ///   Stop the work behind the promise here.
    /// - Returns: The promise and its resolver.
    @inlinable
    public static func pending(onDrop: (@Sendable (any Error) -> Void)? = nil) -> (Promise<Value>, Resolver<Value>) {
        let promise = Promise<Value>()
        if let onDrop {
            promise.whenDropped(onDrop)
        }
        return (promise, Resolver(promise))
    }

    /// Makes a promise that is fulfilled with a value.
    /// - Parameter value: The value.
    @inlinable
    public static func resolved(_ value: Value) -> Promise<Value> {
        let promise = Promise<Value>()
        promise.fulfil(value, nil)
        return promise
    }

    /// Makes a promise that is rejected with an error.
    /// - Parameter error: The error.
    public static func rejected(_ error: any Error) -> Promise<Value> {
        let promise = Promise<Value>()
        promise.reject(error, nil)
        return promise
    }
}
