import NessPromise

extension RunningRequests {
    /// Admits no more requests, lets the running ones end within a time limit, drops the rest, and waits until all work has ended.
    /// - Parameters:
    ///   - limit: The time limit.
    ///   - clock: The manager's clock.
    ///   - end: Runs when all work has ended.
    func shutDown(within limit: Duration, _ clock: PipelineClock, _ end: @escaping @Sendable () async -> Void) async {
        state.withLock { if $0.shutdown == .none { $0.shutdown = .ending } }
        if HandlerScope.surrounding(InFlightWork.self).contains(where: { $0.running === self }) {
            // The caller is part of the work that the shutdown waits for, so it must not wait for the shutdown. The rest runs in a detached
            // task, which is part of no work.
            Task.detached { [self] in await finish(within: limit, clock, end) }
        } else {
            await finish(within: limit, clock, end)
        }
    }

    /// Removes a waiter when the time limit has passed or its task was canceled.
    private func leaveUntilEmpty(_ id: WaiterQueue<Waiter>.ID) { state.withLock { _ = $0.untilEmpty.leave(id) } }

    private func finish(within limit: Duration, _ clock: PipelineClock, _ end: @Sendable () async -> Void) async {
        let waiter: Waiter? = state.withLock { state in
            if state.running.isEmpty, state.refreshes.isEmpty { return nil }
            return state.untilEmpty.join { id in Waiter { [self] in leaveUntilEmpty(id) } }
        }
        if let waiter {
            let cancel = clock.startTimer(after: limit) { waiter.cancel() }
            try? await waiter.wait()
            cancel()
        }
        let epoch = state.withLock { state in
            state.shutdown = .over
            // Requests that were admitted before can no longer send.
            state.epoch += 1
            return state.epoch
        }
        endAll(before: epoch)
        await waitUntilIdle()
        await end()
    }
}
