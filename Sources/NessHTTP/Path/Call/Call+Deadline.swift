/// The deadline of a call.
extension Call {
    /// The time after the deadline in which the cache and the loaders may replace the late response with a stored one.
    private static let timeForReplacement = Duration.seconds(1)

    /// The time of the deadline, on the manager's clock; `nil` for none.
    var deadlineEnd: Duration? { state.withLock { $0.deadlineEnd } }

    /// Starts the deadline, or continues it after a pause. During a pause it waits for the resume.
    func startDeadline(after time: Duration) {
        let end = clock.elapsed() + time.clampedForSleep
        let timer = clock.startTimer(after: time, for: self)
        if !state.withLock({ $0.startDeadline(timer, after: time, end: end) }) { timer.cancel() }
    }

    /// Runs work that a stored response can replace. At the deadline only this work fails, with the deadline's error. The call gets a
    /// moment more to use the stored response.
    /// - Returns: The value of the operation.
    /// - Throws: The error of the operation; `NessError.Kind.timedOut` at the deadline.
    @inline(never)
    func untilDeadline<Value: Sendable>(_ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        // A loader may repeat the work after the deadline. It then runs until the call ends.
        guard let end = deadlineEnd, clock.elapsed() < end else { return try await operation() }
        defer { state.withLock { $0.setAbandon(nil) } }
        return try await AbandonableWork.run(stoppedBy: { stop in state.withLock { $0.setAbandon(stop) } }, operation)
    }
}

extension Call: TimerTarget {
    func timerDidFire() {
        let reason = "the deadline of \(request[SharedDeadline.self] ?? request.deadline ?? .zero) has passed"
        let failure = endError(.timedOut, reason, response: responseSoFar)
        switch state.withLock({ $0.passDeadline() }) {
        case nil: break
        case .end?: end(with: .failure(failure))
        case .abandon(let abandon)?:
            let timer = clock.startTimer(after: Self.timeForReplacement, for: self)
            if !state.withLock({ $0.prolongDeadline(timer) }) { timer.cancel() }
            abandon(failure)
        }
    }
}
