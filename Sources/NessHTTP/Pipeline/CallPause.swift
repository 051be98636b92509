import NessPromise

/// The pause of a call: a download whose flight has ended, and which waits to be resumed.
struct CallPause: Sendable {
    /// The wait of the call's task; `nil` while the call is not paused.
    fileprivate(set) var waiter: Waiter?
    /// True from a pause until the call's task has noticed it.
    fileprivate var isNew = false
    /// True once the call was paused.
    fileprivate(set) var hasBeen = false
    /// The wait before the next attempt, which a pause ends.
    fileprivate var sleep: Task<Void, any Error>?
    /// Forgets a wait that the end of the call has ended.
    mutating func end() { if hasBeen { waiter = nil } }

    /// The time that the deadline has left; `nil` while it runs, and without one.
    var timeLeft: Duration?
}

extension Call {
    /// The error of a flight that the call left because it was paused.
    struct Paused: Error {}

    /// True while the call is paused.
    var isPaused: Bool { state.withLock { $0.pause.waiter != nil } }

    /// True if the call was paused at some time.
    var hasBeenPaused: Bool { state.withLock { $0.pause.hasBeen } }

    /// Pauses the call: it leaves its flight, and its attempt waits. The time of the pause does not count for the deadline.
    func pause() {
        let now = clock.elapsed()
        let paused: (member: Flight.Member?, sleep: Task<Void, any Error>?, deadline: StartedTimer?)? = state.withLock { state in
            guard state.pause.waiter == nil, !state.hasEnded else { return nil }
            state.pause.waiter = Waiter {}
            (state.pause.isNew, state.pause.hasBeen) = (true, true)
            return (state.member, state.pause.sleep, state.suspendDeadline(at: now))
        }
        guard let paused else { return }
        paused.sleep?.cancel()
        paused.deadline?.cancel()
        // The task may not have started the call yet. Observers must receive the start first.
        observation?.begin(request)
        observation?.notify { [request] in $0.requestDidPause(request) }
        paused.member?.leave(becauseOf: Paused())
    }

    /// Resumes the call: its attempt continues, with a separate flight or with one that it joins.
    func resume() {
        let (waiter, timeLeft) = state.withLock { ($0.pause.waiter.take(), $0.pause.timeLeft.take()) }
        guard let waiter else { return }
        // A credential may have expired during the pause.
        restoreRenewals()
        if let timeLeft { startDeadline(after: max(timeLeft, .zero)) }
        observation?.notify { [request] in $0.requestDidResume(request) }
        waiter.resume()
    }

    /// Waits before the next attempt. A pause ends the wait: the attempt then follows the resume.
    func sleep(_ delay: Duration) async throws {
        guard policies.kind == .download else { return try await clock.sleep(delay) }
        let sleep = Task { [clock] in try await clock.sleep(delay) }
        let isPaused = state.withLock { state in
            state.pause.sleep = sleep
            return state.pause.isNew
        }
        if isPaused { sleep.cancel() }
        let outcome = await withTaskCancellationHandler {
            await sleep.result
        } onCancel: {
            sleep.cancel()
        }
        state.withLock { $0.pause.sleep = nil }
        if try await waitWhilePaused() { return }
        try outcome.get()
    }

    /// Waits until the call is resumed.
    /// - Returns: True if the call was paused since the last time that this method returned.
    func waitWhilePaused() async throws -> Bool {
        let (isNew, waiter) = state.withLock { state in
            defer { state.pause.isNew = false }
            return (state.pause.isNew, state.pause.waiter)
        }
        try await waiter?.wait()
        return isNew
    }
}
