import NessLock
import NessPromise

/// Registers the requests and credential refreshes of a manager that are in flight, to end them and to wait until their work has ended.
final class RunningRequests: Sendable {
    struct State: Sendable {
        var nextID = 0
        /// The calls in flight. `isOfRefresh` is true for a request that a credential refresh makes.
        var running: [Int: (call: Call, isOfRefresh: Bool)] = [:]
        /// The refreshes of credentials, with their epochs. Dropping the requests does not end them.
        var refreshes: [Int: (refresh: RunningRefresh, epoch: Int)] = [:]
        /// The number of resets and shutdowns so far. A request that was made before the last of them may no longer send.
        var epoch = 0
        /// The exchanges and downloads that a reset has to wait for.
        var work: Set<Int> = []
        var isResetting = false
        var shutdown = Shutdown.none
        /// The callers of `shutDown`, which wait until no request runs.
        var untilEmpty = WaiterQueue<Waiter>()
        /// The resets and shutdowns that wait until no work is left.
        var untilIdle = WaiterQueue<Waiter>()
        /// The callers of `reset`, which wait for its end.
        var untilReset = WaiterQueue<Waiter>()

        /// Removes and returns the waiting callers of `shutDown`, if nothing is in flight.
        mutating func takeUntilEmpty() -> [Waiter] { running.isEmpty && refreshes.isEmpty ? untilEmpty.takeAll() : [] }

        mutating func beginWork() -> Int {
            nextID += 1
            work.insert(nextID)
            return nextID
        }
    }

    enum Shutdown: Sendable {
        case none
        /// Running requests may end. A new request may start only on their behalf, such as the request of a credential refresh.
        case ending
        /// No request may start or send.
        case over
    }

    let state = Lock(State())

    /// Registers a call.
    /// - Returns: The identifier for `remove(_:)`.
    func add(_ call: Call) -> Int {
        let isOfRefresh = HandlerScope.current != nil && !RunningRefresh.surrounding.isEmpty
        return state.withLock { state in
            state.nextID += 1
            state.running[state.nextID] = (call, isOfRefresh)
            return state.nextID
        }
    }

    /// Registers a refresh.
    /// - Parameter epoch: The epoch of the request that causes it.
    /// - Returns: The closure that removes the refresh; `nil` if it must not run, because the request is from before a reset.
    func add(_ refresh: RunningRefresh, _ epoch: Int?) -> (@Sendable () -> Void)? {
        let id: Int? = state.withLock { state in
            guard let epoch, !state.isResetting, state.epoch == epoch else { return nil }
            state.nextID += 1
            state.refreshes[state.nextID] = (refresh, epoch)
            return state.nextID
        }
        guard let id else { return nil }
        return { [self] in remove(id) }
    }

    /// Removes a call or a refresh that has ended.
    func remove(_ id: Int) {
        // The call or the refresh is released outside the lock.
        let (released, waiters) = state.withLock { state in
            let removed = (state.running.removeValue(forKey: id)?.call, state.refreshes.removeValue(forKey: id)?.refresh)
            return (removed, state.takeUntilEmpty())
        }
        for waiter in waiters { waiter.resume() }
        withExtendedLifetime(released) {}
    }

    /// Drops the requests that are in flight, or those of a group. A request that a refresh has made belongs to the refresh, and is only
    /// dropped with its group.
    func dropAll(in group: String?) {
        drop { call, isOfRefresh in group.map { call.options.groups.contains($0) } ?? !isOfRefresh }
    }

    private func drop(where isChosen: (Call, _ isOfRefresh: Bool) -> Bool) {
        let chosen = state.withLock { $0.running.values.filter(isChosen).map(\.call) }
        for call in chosen { call.drop() }
    }

    /// Ends the refreshes and drops the requests from before an epoch.
    func endAll(before epoch: Int) {
        // The refreshes first: the error of a request that is dropped must not become the error of its refresh.
        let refreshes = state.withLock { $0.refreshes.values.filter { $0.epoch < epoch }.map(\.refresh) }
        for refresh in refreshes { refresh.end(with: .failure(RunningRefresh.Abandoned())) }
        drop { call, _ in call.options.epoch.map { $0 < epoch } ?? true }
    }

    /// The epoch of a request that is made now. `nil` if none may be made, because the manager was shut down.
    var epoch: Int? {
        state.withLock { state in
            switch state.shutdown {
            case .none: state.epoch
            case .ending: HandlerScope.isInside ? state.epoch : nil
            case .over: nil
            }
        }
    }

    /// Returns the reason why a request may not start; `nil` if it may. A request may start if no reset runs, and if neither a reset nor
    /// the end of a shutdown came after the request was made.
    /// - Parameter epoch: The epoch in which the request was made.
    func refusal(of epoch: Int?) -> String? {
        state.withLock { state in
            if !state.isResetting, state.epoch == epoch { return nil }
            return state.shutdown == .none ? "the manager is being reset" : "the manager was shut down"
        }
    }

    // MARK: work

    /// Runs an operation that may send bytes. A reset waits for its end.
    /// - Parameter epoch: The epoch of the request.
    /// - Throws: `CancellationError` if the request is from before a reset; the operation's error.
    func work<Value: Sendable>(_ epoch: Int?, _ operation: @Sendable () async throws -> Value) async throws -> Value {
        try await work(as: beginWork(epoch), operation)
    }

    private func work<Value: Sendable>(as id: Int, _ operation: @Sendable () async throws -> Value) async rethrows -> Value {
        defer { endWork(id) }
        return try await HandlerScope.with(InFlightWork(running: self, id: id), operation)
    }

    /// Starts work that awaits no code of the application. A request that started before a reset sends nothing after it.
    /// - Parameter epoch: The epoch of the request.
    /// - Returns: The identifier for `endWork(_:)`.
    /// - Throws: `CancellationError` if the request is from before a reset.
    @inline(never)
    func beginWork(_ epoch: Int?) throws -> Int {
        let id: Int? = state.withLock { $0.epoch == epoch ? $0.beginWork() : nil }
        guard let id else { throw CancellationError() }
        return id
    }

    /// Starts work that sends nothing, such as the notification of observers after a drop.
    /// - Returns: The identifier for `endWork(_:)`.
    func beginNotification() -> Int { state.withLock { $0.beginWork() } }

    /// Ends work. A reset that waited for it continues.
    @inline(never)
    func endWork(_ id: Int) {
        let waiters = state.withLock { state in
            state.work.remove(id)
            return state.work.isEmpty ? state.untilIdle.takeAll() : []
        }
        for waiter in waiters { waiter.resume() }
    }

    func isAtWork(_ id: Int) -> Bool { state.withLock { $0.work.contains(id) } }

    // MARK: reset

    /// Drops every request, waits until all work has ended, and runs a closure before requests are admitted again. If a reset runs already,
    /// waits for the end of that one.
    ///
    /// The reset runs in a separate task, because a loader or a transport may await it inside the work that the reset waits for. Such a
    /// caller does not wait for the end: the reset and the caller would wait for each other.
    /// - Parameter forget: Clears the state that the pipeline keeps between requests.
    func reset(_ forget: @escaping @Sendable () async -> Void) async {
        let surrounding = HandlerScope.surrounding(InFlightWork.self)
        let isInside = surrounding.contains { $0.running === self }
        let (isFirst, epoch, waiter): (Bool, Int, Waiter?) = state.withLock { state in
            let isFirst = !state.isResetting
            if isFirst {
                state.isResetting = true
                state.epoch += 1
            }
            if isInside { return (isFirst, state.epoch, nil) }
            let waiter = state.untilReset.join { id in
                // Cancellation ends the wait only inside the work of another manager. Two managers whose exchanges reset each other would
                // otherwise wait for each other. Any other caller waits until no request from before the reset can send.
                surrounding.isEmpty ? Waiter() : Waiter { [self] in abandonReset(id) }
            }
            return (isFirst, state.epoch, waiter)
        }
        // A second caller drops the requests as well, because the first one may not have reached this caller's request yet. The epoch
        // spares requests that were made after the first reset had ended.
        endAll(before: epoch)
        if isFirst { Task { await run(forget) } }
        try? await waiter?.wait()
    }

    private func run(_ forget: @escaping @Sendable () async -> Void) async {
        await waitUntilIdle()
        // The closure runs as work, so that a loader whose own `reset()` awaits this reset is recognized and does not wait for itself.
        await work(as: state.withLock { $0.beginWork() }) { await forget() }
        let waiters = state.withLock { state in
            // Both in one step. A caller between two steps would wait for a reset that has ended, or be resumed before its own reset has
            // dropped anything.
            state.isResetting = false
            return state.untilReset.takeAll()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until no work is left.
    func waitUntilIdle() async {
        let waiter: Waiter? = state.withLock { state in
            state.work.isEmpty ? nil : state.untilIdle.join { _ in Waiter() }
        }
        try? await waiter?.wait()
    }

    /// Removes the waiter of a canceled `reset`.
    private func abandonReset(_ id: WaiterQueue<Waiter>.ID) { state.withLock { _ = $0.untilReset.leave(id) } }
}

/// The exchange or download in which the calling code runs, or from which its task was started.
struct InFlightWork: ScopeMember {
    let running: RunningRequests
    let id: Int

    var isLive: Bool { running.isAtWork(id) }
}
