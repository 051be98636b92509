/// Settles the promise with which it was made. It may be used from any thread. Only the first value or error counts.
///
/// A resolver that is released without having settled its promise rejects it with `PromiseError.abandoned`, so no promise waits forever.
public final class Resolver<Value: Sendable>: Sendable {
    @usableFromInline
    let promise: Promise<Value>

    @usableFromInline
    init(_ promise: Promise<Value>) { self.promise = promise }

    deinit { promise.reject(PromiseError.abandoned, nil) }

    /// Settles the promise with a value.
    /// - Parameter value: The value.
    @inlinable
    public func resolve(_ value: Value) { promise.fulfil(value, nil) }

    /// Settles the promise with an error.
    /// - Parameter error: The error.
    public func reject(_ error: any Error) { promise.reject(error, nil) }

    /// Settles the promise with the outcome of a callback that takes a `Result`.
    ///
    /// ```swift
    /// // For a callback that takes a `Result`, or a value and an error.
    /// store.load(completion: resolver.settle)
    /// ```
    /// - Parameter result: The value or the error.
    public func settle<Failure>(_ result: Result<Value, Failure>) {
        switch result {
        case .success(let value): promise.fulfil(value, nil)
        case .failure(let error): promise.reject(error, nil)
        }
    }

    /// Settles the promise with the outcome of a callback that takes a value and an error.
    /// - Parameters:
    ///   - value: The value. It does not count if there is an error.
    ///   - error: The error. Without a value and an error, the promise fails with `PromiseError.noValue`.
    public func settle(_ value: Value?, _ error: (any Error)?) {
        if let value, error == nil {
            promise.fulfil(value, nil)
        } else {
            promise.reject(error ?? PromiseError.noValue, nil)
        }
    }
}

extension Resolver where Value == Void {
    /// Settles the promise with the outcome of a callback that takes only an error.
    /// - Parameter error: The error; `nil` for success.
    public func settle(_ error: (any Error)?) { settle((), error) }
}

extension Promise {
    /// Makes a pending promise, and the resolver that settles it.
    ///
    /// Its error is not reported as an `UnhandledError` if the promise has no handlers: code that makes a promise need not use it.
    /// - Parameter onDrop: Runs once if the promise is dropped before it settled, inside the call that drops it. It takes the drop's error.
    ///   Stop the work behind the promise here.
    /// - Returns: The promise and its resolver.
    @inlinable
    public static func pending(
        onDrop: (@Sendable (any Error) -> Void)? = nil
    ) -> (promise: Promise<Value>, resolver: Resolver<Value>) {
        let promise = Promise<Value>()
        if let onDrop {
            promise.onSettle { error in
                if let error { onDrop(error) }
            }
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
    /// - Parameters:
    ///   - error: The error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    public static func rejected(_ error: any Error, file: StaticString = #fileID, line: UInt = #line) -> Promise<Value> {
        let promise = Promise<Value>().notePlace(file, line)
        promise.reject(error, nil)
        return promise
    }
}
