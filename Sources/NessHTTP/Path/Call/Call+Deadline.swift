/// The deadline of a call.
extension Call {
    /// The longest time that the application's loaders get, after the deadline, for a stored response that replaces the one that is late.
    private static let timeForReplacement = Duration.seconds(1)

    /// The time of the deadline, on the manager's clock; `nil` for none.
    var deadlineEnd: Duration? { state.withLock { $0.deadlineEnd } }

    /// Starts the deadline, or continues it after a pause. During a pause it waits for the resume.
    func startDeadline(after time: Duration) {
        let end = clock.elapsed() + time.clampedForSleep
        let timer = clock.startTimer(after: time, for: self)
        if !state.withLock({ $0.startDeadline(timer, after: time, end: end) }) { timer.cancel() }
    }

    /// Runs work whose result can be replaced, such as by a stale response. At the deadline the work fails with the deadline's error, and
    /// the call continues for a moment.
    /// - Returns: The value of the operation.
    /// - Throws: The error of the operation; `NessError.Kind.timedOut` at the deadline.
    @inline(never)
    func untilDeadline<Value: Sendable>(_ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        // After the deadline the work that a loader repeats has no further time.
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
