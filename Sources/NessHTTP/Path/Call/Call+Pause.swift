extension Call {
    /// The error with which a paused call leaves its flight.
    struct Paused: Error {}

    /// True while the call is paused.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// True if a pause has ended the call's part in its last flight, and the attempt has not waited for the resume yet.
    var isInterrupted: Bool { isPausable && state.withLock { $0.hasNewPause && $0.active?.isInterrupted == true } }

    /// Pauses the call: it leaves its flight, and its attempt waits. The time of the pause does not count for the deadline.
    func pause() {
        let now = clock.elapsed()
        guard let pause = state.withLock({ $0.pause(Waiter {}, at: now) }) else { return }
        pause.deadlineTimer?.cancel()
        observation?.attemptDidEnd()
        observation?.notifyElsewhere { [request] in $0.requestDidPause(request) }
        for member in pause.others where !member.context.isLoaderMade { member.leave(becauseOf: Paused()) }
        switch pause.wait {
        case .flight(let member): member.leave(becauseOf: Paused())
        case .delay(let sleep): sleep.cancel()
        case .none, .pause: break
        }
    }

    /// Resumes the call: its attempt continues, in a new flight or in one that it joins.
    func resume() {
        guard let (waiter, timeLeft) = state.withLock({ $0.resume() }) else { return }
        // A credential may have expired during the pause.
        restoreRenewals()
        if let timeLeft { startDeadline(after: max(timeLeft, .zero)) }
        observation?.notifyElsewhere { [request] in $0.requestDidResume(request) }
        waiter.resume()
    }

    /// Waits before the next attempt. A pause ends the wait: the attempt then follows the resume.
    /// - Throws: `CancellationError` after the end of the call.
    func wait(_ delay: Duration) async throws {
        // A drop during the wait cancels the sleep, and the `CancellationError` counts as a drop.
        if isPausable { try await sleepUnlessPaused(delay) } else { try await clock.sleep(delay) }
        try Task.checkCancellation()
    }

    @inline(never)
    private func sleepUnlessPaused(_ delay: Duration) async throws {
        let sleep = Task { [clock] in try await clock.sleep(delay) }
        if !state.withLock({ $0.startDelay(sleep) }) { sleep.cancel() }
        let outcome = await withTaskCancellationHandler {
            await sleep.result
        } onCancel: {
            sleep.cancel()
        }
        state.withLock { $0.endDelay() }
        if try await waitWhilePaused() { return }
        try outcome.get()
    }

    /// Waits until the call is resumed.
    /// - Returns: True if the call was paused since the last time that this method returned.
    func waitWhilePaused() async throws -> Bool {
        let (isNew, waiter) = state.withLock { $0.noticePause() }
        try await waiter?.wait()
        return isNew
    }
}
