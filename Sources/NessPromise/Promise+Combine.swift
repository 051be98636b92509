import NessLock

extension Promise {
    /// Waits for several promises of any types.
    /// - Parameters:
    ///   - promises: Any number of promises.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of all values. It fails with the first error, and then drops the other promises, unless they have another
    ///   waiter.
    public static func all<each Element: Sendable>(
        _ promises: repeat Promise<each Element>, file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<(repeat each Element)> where Value == (repeat each Element) {
        var nodes: [AnyPromise] = []
        repeat nodes.append(each promises)
        return combine(nodes, file, line) { (repeat try (each promises).settledValue()) }
    }

    /// Waits for several promises.
    /// - Parameters:
    ///   - promises: Any number of promises. Without promises, the value is `[]`.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of all values, in the order of `promises`. It fails with the first error, and then drops the other promises,
    ///   unless they have another waiter.
    public static func all<Element: Sendable>(
        _ promises: [Promise<Element>], file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<[Element]> where Value == [Element] {
        combine(promises, file, line) { try promises.map { try $0.settledValue() } }
    }

    /// Waits until several promises of any types have settled.
    /// - Parameters:
    ///   - promises: Any number of promises.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of all outcomes. It fails only by a drop, and then drops the promises that are pending, unless they have
    ///   another waiter.
    public static func allSettled<each Element: Sendable>(
        _ promises: repeat Promise<each Element>, file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<(repeat Result<each Element, any Error>)> where Value == (repeat Result<each Element, any Error>) {
        var nodes: [AnyPromise] = []
        repeat nodes.append(each promises)
        return combine(nodes, failsFast: false, file, line) { (repeat (each promises).settledResult) }
    }

    /// Waits until several promises have settled.
    /// - Parameters:
    ///   - promises: Any number of promises. Without promises, the value is `[]`.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the outcomes, in the order of `promises`. It fails only by a drop, and then drops the promises that are
    ///   pending, unless they have another waiter.
    public static func allSettled<Element: Sendable>(
        _ promises: [Promise<Element>], file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<[Result<Element, any Error>]> where Value == [Result<Element, any Error>] {
        combine(promises, failsFast: false, file, line) { promises.map(\.settledResult) }
    }

    /// Waits until several promises have settled.
    ///
    /// Canceling the waiting task drops the promises that are pending, unless they have another waiter.
    /// - Parameter promises: Any number of promises.
    /// - Returns: The outcomes, in the order of `promises`.
    public static func allSettled(_ promises: [Promise<Value>]) async -> [Result<Value, any Error>] {
        var outcomes: [Result<Value, any Error>] = []
        for promise in promises { outcomes.append(await promise.settled) }
        return outcomes
    }

    /// Collects the values of several promises.
    /// - Parameter failsFast: True to fail with the first error; false to wait until every promise has settled.
    private static func combine(
        _ promises: [AnyPromise], failsFast: Bool = true, _ file: StaticString, _ line: UInt,
        _ collect: @escaping @Sendable () throws -> Value
    ) -> Promise<Value> {
        let combined = Promise().notePlace(file, line)
        let missing = Lock(promises.count)
        let finish: @Sendable (AnyPromise?, Runner?) -> Void = { link, runner in
            combined.settle(Result { try collect() }, runner, by: link)
        }
        if promises.isEmpty {
            finish(nil, nil)
        } else {
            combined.wait(on: promises) { _, link, error, runner in
                if let error, failsFast {
                    combined.reject(error, runner, by: link)
                    return
                }
                let isLast = missing.withLock { count in
                    count -= 1
                    return count == 0
                }
                if isLast { finish(link, runner) }
            }
        }
        return combined
    }

    /// Takes the outcome of the promise that settles first: a value or an error.
    /// - Parameters:
    ///   - promises: At least one promise. Without one, the result fails with `PromiseError.noPromises`.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise that settles like the first of `promises`. It then drops the others, unless they have another waiter.
    public static func race(_ promises: [Promise<Value>], file: StaticString = #fileID, line: UInt = #line) -> Promise<Value> {
        first(of: promises, file, line) { true }
    }

    /// Takes the outcome of the promise that settles first: a value or an error. For promises of several types, map each to one type
    /// before.
    /// - Parameters:
    ///   - promises: At least one promise. Without one, the result fails with `PromiseError.noPromises`.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise that settles like the first of `promises`. It then drops the others, unless they have another waiter.
    public static func race(_ promises: Promise<Value>..., file: StaticString = #fileID, line: UInt = #line) -> Promise<Value> {
        first(of: promises, file, line) { true }
    }

    /// Takes the value of the first promise that has one. Errors count only if every promise fails.
    /// - Parameters:
    ///   - promises: At least one promise. Without one, the result fails with `PromiseError.noPromises`.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the first value, or of the last error if all fail. It then drops the others, unless they have another
    ///   waiter.
    public static func any(_ promises: [Promise<Value>], file: StaticString = #fileID, line: UInt = #line) -> Promise<Value> {
        let missing = Lock(promises.count)
        return first(of: promises, file, line) {
            missing.withLock { count in
                count -= 1
                return count == 0
            }
        }
    }

    /// Takes the first value, or an error at which `countError` returns true.
    private static func first(
        of promises: [Promise<Value>], _ file: StaticString, _ line: UInt, countError: @escaping @Sendable () -> Bool
    ) -> Promise<Value> {
        guard !promises.isEmpty else { return rejected(PromiseError.noPromises, file: file, line: line) }
        let winner = Promise().notePlace(file, line)
        winner.wait(on: promises) { parent, link, error, runner in
            if let error {
                if countError() { winner.reject(error, runner, by: link) }
            } else if let value = unsafeDowncast(parent, to: Promise<Value>.self).stored {
                winner.fulfil(value, runner, by: link)
            }
        }
        return winner
    }

    /// Calls a closure with the outcome of each of several promises. When this promise settles, it leaves those that are pending.
    private final func wait(on promises: [AnyPromise], _ body: @escaping Body) {
        let links = promises.map { _ in
            let link = AnyPromise.link(for: self)
            link.body = { parent, link, error, runner in
                link.noteErrorHandled()
                body(parent, link, error, runner)
            }
            return link
        }
        // The combination fails with at most one of the errors. No promise is left to fail with the others, so all count as read.
        for promise in promises { promise.noteErrorRead() }
        state.withLock { $0.edges = .many(zip(promises, links).map { Edge(parent: $0, link: $1) }) }
        for (promise, link) in zip(promises, links) { promise.register(link) }
    }
}
