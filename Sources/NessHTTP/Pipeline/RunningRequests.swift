import NessPromise

/// The requests of a manager that are in flight: to drop them, and to wait until their work has ended.
final class RunningRequests: Sendable {
    fileprivate struct Running: Sendable {
        let promise: AnyPromise
        let groups: Set<String>
    }

    fileprivate struct State: Sendable {
        var nextID = 0
        var running: [Int: Running] = [:]
        /// Raised by a reset. A request of an earlier epoch may no longer send.
        var epoch = 0
        /// The exchanges and downloads that a reset has to wait for.
        var work: Set<Int> = []
        var isResetting = false
        var shutdown = Shutdown.none
        /// The callers of a shutdown, while requests run.
        var untilEmpty = WaiterQueue<Waiter>()
        /// The reset, while it waits for the work.
        var untilIdle = WaiterQueue<Waiter>()
        /// The callers that wait for the reset.
        var untilReset = WaiterQueue<Waiter>()

        mutating func beginWork() -> Int {
            nextID += 1
            work.insert(nextID)
            return nextID
        }
    }

    fileprivate enum Shutdown: Sendable {
        case none
        /// Requests that run may end. Only requests that belong to them may begin.
        case ending
        /// No request may begin or send.
        case over
    }

    fileprivate let state = Lock(State())

    /// Keeps a promise until it settles.
    /// - Returns: The closure that forgets it.
    func add(_ promise: AnyPromise, groups: Set<String>) -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.nextID += 1
            state.running[state.nextID] = Running(promise: promise, groups: groups)
            return state.nextID
        }
        return { [self] in remove(id) }
    }

    private func remove(_ id: Int) {
        // The promise is released outside the lock.
        let (_, waiters): (Running?, [Waiter]) = state.withLock { state in
            let removed = state.running.removeValue(forKey: id)
            return (removed, state.running.isEmpty ? state.untilEmpty.takeAll() : [])
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Drops the requests that are in flight, or those of a group.
    func dropAll(in group: String?) {
        let chosen = state.withLock { state in
            state.running.values.filter { running in group.map { running.groups.contains($0) } ?? true }.map(\.promise)
        }
        for promise in chosen { promise.drop() }
    }

    /// The epoch of requests that are made now.
    var epoch: Int { state.withLock { $0.epoch } }

    /// The reason why a request of this epoch may not begin; nil if it may: no reset runs, none came between, and there was no shutdown.
    func refusal(of epoch: Int?) -> String? {
        state.withLock { state in
            switch state.shutdown {
            case .ending where !HandlerScope.isInside, .over: "the manager was shut down"
            case .none, .ending: !state.isResetting && state.epoch == epoch ? nil : "the manager is being reset"
            }
        }
    }

    // MARK: work

    /// Runs an operation that a reset has to wait for, because it may send.
    /// - Parameter epoch: The epoch of the request.
    /// - Throws: `CancellationError` if the request is from before a reset; the operation's error.
    func work<Value: Sendable>(_ epoch: Int?, _ operation: @Sendable () async throws -> Value) async throws -> Value {
        let id: Int? = state.withLock { $0.epoch == epoch ? $0.beginWork() : nil }
        guard let id else { throw CancellationError() }
        defer { endWork(id) }
        return try await HandlerScope.with(InFlightWork(running: self, id: id), operation)
    }

    private func endWork(_ id: Int) {
        let waiters = state.withLock { state in
            state.work.remove(id)
            return state.work.isEmpty ? state.untilIdle.takeAll() : []
        }
        for waiter in waiters { waiter.resume() }
    }

    fileprivate func isAtWork(_ id: Int) -> Bool { state.withLock { $0.work.contains(id) } }

    // MARK: reset

    /// Drops every request, waits until all work has ended, and runs a closure before requests are admitted again. If a reset runs already,
    /// waits for the end of that one.
    ///
    /// The reset runs in a task of its own, because its caller may stand in the way of its end: a stage, or a transport, that awaits the
    /// reset inside the work that the reset waits for. Such a caller does not wait.
    /// - Parameter forget: Has every stage forget what it keeps.
    func reset(_ forget: @escaping @Sendable () async -> Void) async {
        let surrounding = HandlerScope.surrounding(InFlightWork.self)
        let isInside = surrounding.contains { $0.running === self }
        let (isFirst, waiter): (Bool, Waiter?) = state.withLock { state in
            let isFirst = !state.isResetting
            if isFirst {
                state.isResetting = true
                state.epoch += 1
            }
            if isInside { return (isFirst, nil) }
            let waiter = state.untilReset.join { id in
                // Inside the work of another manager cancellation ends the wait: two managers whose exchanges reset each other would wait for
                // each other otherwise. Elsewhere it does not: once the caller goes on, nothing from before may send.
                surrounding.isEmpty ? Waiter() : Waiter { [self] in abandonReset(id) }
            }
            return (isFirst, waiter)
        }
        if isFirst {
            dropAll(in: nil)
            Task { await run(forget) }
        }
        try? await waiter?.wait()
    }

    private func run(_ forget: @escaping @Sendable () async -> Void) async {
        await waitUntilIdle()
        // As work: a loader whose own `reset()` awaits this reset must not wait for itself.
        try? await work(epoch) { await forget() }
        let waiters = state.withLock { state in
            // In one step: a caller that came between would wait for a reset that is over, or not have dropped what was let in.
            state.isResetting = false
            return state.untilReset.takeAll()
        }
        for waiter in waiters { waiter.resume() }
    }

    fileprivate func waitUntilIdle() async {
        let waiter: Waiter? = state.withLock { state in
            state.work.isEmpty ? nil : state.untilIdle.join { _ in Waiter() }
        }
        try? await waiter?.wait()
    }

    private func abandonReset(_ id: WaiterQueue<Waiter>.ID) { state.withLock { _ = $0.untilReset.leave(id) } }
}

// MARK: shutdown

extension RunningRequests {
    /// Admits no more requests, lets what runs end within a time, drops the rest, and waits until all work has ended.
    /// - Parameters:
    ///   - limit: The time.
    ///   - clock: The manager's clock.
    ///   - end: Runs then.
    func shutDown(within limit: Duration, _ clock: PipelineClock, _ end: @escaping @Sendable () async -> Void) async {
        state.withLock { if $0.shutdown == .none { $0.shutdown = .ending } }
        if HandlerScope.surrounding(InFlightWork.self).contains(where: { $0.running === self }) {
            // The caller stands in the way of the end. Detached: the rest belongs to no work.
            Task.detached { [self] in await finish(within: limit, clock, end) }
        } else {
            await finish(within: limit, clock, end)
        }
    }

    private func leaveUntilEmpty(_ id: WaiterQueue<Waiter>.ID) { state.withLock { _ = $0.untilEmpty.leave(id) } }

    private func finish(within limit: Duration, _ clock: PipelineClock, _ end: @Sendable () async -> Void) async {
        let waiter: Waiter? = state.withLock { state in
            state.running.isEmpty ? nil : state.untilEmpty.join { id in Waiter { [self] in leaveUntilEmpty(id) } }
        }
        if let waiter {
            let cancel = clock.startTimer(after: limit) { waiter.cancel() }
            try? await waiter.wait()
            cancel()
        }
        state.withLock { state in
            state.shutdown = .over
            // Requests that were admitted send nothing any more.
            state.epoch += 1
        }
        dropAll(in: nil)
        await waitUntilIdle()
        await end()
    }
}

/// An exchange or a download that the present code runs in, or was started from.
private struct InFlightWork: ScopeMember {
    let running: RunningRequests
    let id: Int

    var isLive: Bool { running.isAtWork(id) }
}
