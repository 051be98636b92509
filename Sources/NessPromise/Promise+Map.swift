import NessLock

/// Work on each of many values, and values that may be missing.
extension Promise {
    /// Maps the value, and fails if the result is `nil`.
    ///
    /// ```swift
    /// let age = name.compactMap { Int($0) }   // fails if the text is not a number
    /// ```
    /// - Parameters:
    ///   - context: The queue on which the closure runs. The default is the global concurrent queue.
    ///   - body: Takes the value and returns the next one. If it returns `nil`, the returned promise fails with `PromiseError.noValue`. An
    ///     error that it throws becomes the returned promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the value that `body` returns.
    @discardableResult
    public final func compactMap<NewValue: Sendable>(
        on context: some HandlerContext = .default, _ body: @escaping @Sendable (Value) throws -> NewValue?,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<NewValue> {
        step(on: context.handlerQueue, seesDrop: false, file, line) { parent, child, error, runner in
            guard let value = parent.stored, error == nil else { return child.pass(error, nil, runner) }
            guard let mapped = try body(value) else { throw PromiseError.noValue }
            child.fulfil(mapped, runner, by: child)
        }
    }

    /// Runs a closure with each item, a limited number of them concurrently, and waits for the promises that it returns.
    ///
    /// ```swift
    /// let pages = Promise.all(1...100, atOnce: 4) { page in
    ///     ness.get("list", page).dataRequest()
    /// }
    /// ```
    ///
    /// The next item starts when an earlier one has its value. The closure runs in tasks that inherit the caller's task-local values, off
    /// the main thread.
    /// - Parameters:
    ///   - items: The items. Without items, the value is `[]`.
    ///   - limit: The largest number of concurrent items. A limit below 1 counts as 1.
    ///   - body: Takes an item and returns the promise to wait for. An error that it throws counts like that promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of all values, in the order of `items`. It fails with the first error. Then, and when it is dropped, no further
    ///   item starts, and the pending promises are dropped, unless they have another waiter.
    public static func all<Item: Sendable, Element: Sendable>(
        _ items: some Sequence<Item>, atOnce limit: Int, _ body: @escaping @Sendable (Item) throws -> Promise<Element>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<[Element]> where Value == [Element] {
        ItemRun(items, { try await body($0).value }).start(limit, file, line)
    }

    /// Runs an asynchronous closure with each item, a limited number of them concurrently.
    ///
    /// ```swift
    /// let images = try await Promise.all(urls, atOnce: 4) { url in
    ///     try await load(url)
    /// }.value
    /// ```
    ///
    /// The next item starts when an earlier one has its value. The closure runs in tasks that inherit the caller's task-local values,
    /// without an actor.
    /// - Parameters:
    ///   - items: The items. Without items, the value is `[]`.
    ///   - limit: The largest number of concurrent items. A limit below 1 counts as 1.
    ///   - body: Takes an item and returns its value.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of all values, in the order of `items`. It fails with the first error. Then, and when it is dropped, no further
    ///   item starts, and the running tasks are canceled. The promise does not wait for them.
    public static func all<Item: Sendable, Element: Sendable>(
        _ items: some Sequence<Item>, atOnce limit: Int, _ body: @escaping @Sendable (Item) async throws -> Element,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<[Element]> where Value == [Element] {
        ItemRun(items, body).start(limit, file, line)
    }
}

extension Promise where Value: Sequence, Value.Element: Sendable {
    /// Runs a closure with each element of the value, and waits for the promises that it returns.
    ///
    /// ```swift
    /// let users = ids.thenMap(atOnce: 4) { id in
    ///     ness.get("users", id).dataRequest(decoding: User.self)
    /// }
    /// ```
    /// - Parameters:
    ///   - limit: The largest number of concurrent elements. By default there is no limit.
    ///   - body: Takes an element and returns the promise to wait for. It runs in tasks, off the main thread. An error that it throws
    ///     counts like that promise's error.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of all values, in the order of the elements: see `all(_:atOnce:_:)`.
    @discardableResult
    public final func thenMap<Element: Sendable>(
        atOnce limit: Int = .max, _ body: @escaping @Sendable (Value.Element) throws -> Promise<Element>,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<[Element]> {
        thenContinue(
            on: .default, { ItemRun($0, { try await body($0).value }).start(limit, file, line) }, file: file, line: line)
    }

    /// Runs an asynchronous closure with each element of the value.
    /// - Parameters:
    ///   - limit: The largest number of concurrent elements. By default there is no limit.
    ///   - body: Takes an element and returns its value. It runs in tasks, without an actor.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of all values, in the order of the elements: see `all(_:atOnce:_:)`.
    @discardableResult
    public final func thenMap<Element: Sendable>(
        atOnce limit: Int = .max, _ body: @escaping @Sendable (Value.Element) async throws -> Element,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<[Element]> {
        thenContinue(on: .default, { ItemRun($0, body).start(limit, file, line) }, file: file, line: line)
    }
}

/// The state of `all(_:atOnce:_:)`: several workers take items in turn.
private final class ItemRun<Item: Sendable, Element: Sendable>: Sendable {
    private struct State: Sendable {
        var next = 0
        var values: [Element?]
    }

    private let items: [Item]
    private let body: @Sendable (Item) async throws -> Element
    private let state: Lock<State>

    init(_ items: some Sequence<Item>, _ body: @escaping @Sendable (Item) async throws -> Element) {
        self.items = Array(items)
        self.body = body
        state = Lock(State(values: Array(repeating: nil, count: self.items.count)))
    }

    func start(_ limit: Int, _ file: StaticString, _ line: UInt) -> Promise<[Element]> {
        // An error of one worker drops the other workers. A drop cancels a worker's task, and drops the promise that the task waits for.
        let workers = (0..<min(max(1, limit), items.count)).map { _ in
            Promise<Void> { [self] in
                while true {
                    // A worker may start after the drop.
                    try Task.checkCancellation()
                    guard let index = takeNext() else { return }
                    let value = try await body(items[index])
                    state.withLock { $0.values[index] = value }
                }
            }
        }
        return Promise<[Void]>.all(workers).then(
            on: .immediate, { [self] _ in state.withLock { $0.values.compactMap { $0 } } }, file: file, line: line)
    }

    private func takeNext() -> Int? {
        state.withLock { state in
            guard state.next < items.count else { return nil }
            state.next += 1
            return state.next - 1
        }
    }
}
