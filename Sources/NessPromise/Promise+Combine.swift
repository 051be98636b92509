extension Promise {
    /// Waits for all of several promises, of any types.
    /// - Parameter promises: Any number of promises.
    /// - Returns: A promise of all the values; it fails with the first error, and then drops the others unless someone else waits on them.
    public static func all<each Element: Sendable>(
        _ promises: repeat Promise<each Element>
    ) -> Promise<(repeat each Element)> where Value == (repeat each Element) {
        var nodes: [any Waitable] = []
        repeat nodes.append(each promises)
        return combine(nodes) { (repeat try (each promises).settledValue()) }
    }

    /// Waits for all of several promises.
    /// - Parameter promises: Any number of promises; the result of none is `[]`.
    /// - Returns: A promise of all the values in the order of `promises`; it fails with the first error, and then drops the others
    ///   unless someone else waits on them.
    public static func all<Element: Sendable>(_ promises: [Promise<Element>]) -> Promise<[Element]> where Value == [Element] {
        combine(promises) { try promises.map { try $0.settledValue() } }
    }

    private static func combine(_ promises: [any Waitable], _ collect: @escaping @Sendable () throws -> Value) -> Promise<Value> {
        let combined = Promise()
        let missing = Lock(promises.count)
        let finish: @Sendable (AnyLink?, Runner?) -> Void = { link, runner in
            combined.settle(Result { try collect() }, runner, by: link)
        }
        if promises.isEmpty {
            finish(nil, nil)
        } else {
            combined.wait(on: promises) { error, link, runner in
                if let error { return _ = combined.settle(.failure(error), runner, by: link) }
                let isLast = missing.withLock { count in
                    count -= 1
                    return count == 0
                }
                if isLast { finish(link, runner) }
            }
        }
        return combined
    }

    /// Takes the first outcome of several promises, be it a value or an error.
    /// - Parameter promises: At least one promise, or the result fails with `PromiseError.noPromises`.
    /// - Returns: A promise that settles as the first does, and then drops the others unless someone else waits on them.
    public static func race(_ promises: [Promise<Value>]) -> Promise<Value> {
        first(of: promises) { outcome, _ in outcome }
    }

    /// Takes the first value of several promises; errors count only if there is nothing else.
    /// - Parameter promises: At least one promise, or the result fails with `PromiseError.noPromises`.
    /// - Returns: A promise of the first value, or of the last error if all fail. The others are dropped unless someone else waits on them.
    public static func any(_ promises: [Promise<Value>]) -> Promise<Value> {
        let missing = Lock(promises.count)
        return first(of: promises) { outcome, _ in
            if case .success = outcome { return outcome }
            let isLast = missing.withLock { count in
                count -= 1
                return count == 0
            }
            return isLast ? outcome : nil
        }
    }

    private static func first(
        of promises: [Promise<Value>], _ decide: @escaping @Sendable (Outcome, AnyLink) -> Outcome?
    ) -> Promise<Value> {
        guard !promises.isEmpty else { return rejected(PromiseError.noPromises) }
        let winner = Promise()
        let links = promises.map { _ in
            ClosureLink<Value>(target: winner) { outcome, link, runner in
                if let outcome = decide(outcome, link) { winner.settle(outcome, runner, by: link) }
            }
        }
        winner.setEdges(zip(promises, links).map { Edge(node: $0, link: $1) })
        for (promise, link) in zip(promises, links) { promise.register(link) }
        return winner
    }

    /// Waits until every one of several promises has settled.
    ///
    /// Cancelling the task that waits drops those that have not.
    /// - Parameter promises: Any number of promises.
    /// - Returns: Their outcomes in the order of `promises`.
    public static func allSettled(_ promises: [Promise<Value>]) async -> [Result<Value, any Error>] {
        var outcomes: [Result<Value, any Error>] = []
        for promise in promises {
            do {
                outcomes.append(.success(try await promise.value))
            } catch {
                outcomes.append(.failure(error))
            }
        }
        return outcomes
    }

    /// The value of a promise that has settled with one.
    fileprivate final func settledValue() throws -> Value {
        guard let outcome else { throw PromiseError.abandoned }
        return try outcome.get()
    }

    final func setEdges(_ edges: [Edge]) { lock.withLock { $0.edges = .many(edges) } }

    /// Has a closure told how each of several promises of any type ends.
    private final func wait(on promises: [any Waitable], _ body: @escaping @Sendable ((any Error)?, AnyLink, Runner) -> Void) {
        let waits = promises.map { $0.makeWait(for: self, body) }
        setEdges(waits.map(\.edge))
        for wait in waits { wait.register() }
    }
}

/// A promise whose type does not matter to who waits.
private protocol Waitable: PromiseNode {
    func makeWait(
        for target: any PromiseNode, _ body: @escaping @Sendable ((any Error)?, AnyLink, Runner) -> Void
    ) -> (edge: Edge, register: @Sendable () -> Void)
}

extension Promise: Waitable {
    fileprivate final func makeWait(
        for target: any PromiseNode, _ body: @escaping @Sendable ((any Error)?, AnyLink, Runner) -> Void
    ) -> (edge: Edge, register: @Sendable () -> Void) {
        let link = ClosureLink<Value>(target: target) { outcome, link, runner in
            switch outcome {
            case .success: body(nil, link, runner)
            case .failure(let error): body(error, link, runner)
            }
        }
        return (Edge(node: self, link: link), { [self] in register(link) })
    }
}
