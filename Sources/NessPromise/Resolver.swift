/// Settles the promise it came with. Only the first call counts; any later one, from any thread, is ignored.
///
/// A resolver that is released without having settled its promise rejects it with `PromiseError.abandoned`, so that no promise
/// waits for ever.
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

    /// Settles the promise as another one settles. A promise that would wait for itself is rejected with `PromiseError.cycle`.
    /// - Parameter other: The promise to follow.
    public func resolve(following other: Promise<Value>) { promise.follow(other, nil) }
}

extension AnyPromise {
    /// Rejects the promise if nothing has settled it and it follows nothing.
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
    /// A promise that has already settled, with nothing.
    public static func resolved() -> Promise<Void> { resolved(()) }
}

extension Promise {
    /// A promise and what settles it.
    /// - Parameter onDrop: Called once if the promise is dropped before it settled, inside the call that drops it, with the error
    ///   it was dropped with: the place to stop the work behind it.
    /// - Returns: The promise, and its resolver.
    @inlinable
    public static func pending(onDrop: (@Sendable (any Error) -> Void)? = nil) -> (Promise<Value>, Resolver<Value>) {
        let promise = Promise<Value>()
        if let onDrop {
            promise.whenDropped(onDrop)
        }
        return (promise, Resolver(promise))
    }

    /// A promise that has already settled with a value.
    /// - Parameter value: The value.
    @inlinable
    public static func resolved(_ value: Value) -> Promise<Value> {
        let promise = Promise<Value>()
        promise.fulfil(value, nil)
        return promise
    }

    /// A promise that has already settled with an error.
    /// - Parameter error: The error.
    public static func rejected(_ error: any Error) -> Promise<Value> {
        let promise = Promise<Value>()
        promise.reject(error, nil)
        return promise
    }
}
