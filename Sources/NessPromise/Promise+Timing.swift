extension Promise {
    /// Delays a value. Errors pass immediately.
    /// - Parameters:
    ///   - duration: The delay, counted from the arrival of the value. Zero or less means no delay.
    ///   - clock: The clock for the delay.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the same value or error.
    public final func delayed(
        by duration: Duration, clock: any Clock<Duration> = ContinuousClock(), file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        // If the returned promise is dropped, it fails with the drop error of this one.
        let late = Promise<Value>(makeDropError: makeDropError).notePlace(file, line)
        let link = AnyPromise.link(for: late)
        link.noteErrorPassed()
        link.body = { parent, link, error, runner in
            if let error {
                late.reject(error, runner, by: link)
                return
            }
            late.startTimer(duration, clock, unsafeDowncast(parent, to: Promise<Value>.self).settledResult)
        }
        late.follow(self, by: link, nil)
        return late
    }

    /// Fails with `PromiseError.timedOut` if this promise has not settled in time. This promise is then dropped, unless it has another
    /// waiter.
    /// - Parameters:
    ///   - duration: The time limit, counted from now. Zero or less has passed immediately.
    ///   - clock: The clock for the limit.
    ///   - file: The file of this call, for an `UnhandledError`.
    ///   - line: The line of this call.
    /// - Returns: A promise of the same value or error, or of the timeout error.
    public final func timeout(
        after duration: Duration, clock: any Clock<Duration> = ContinuousClock(), file: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
        let timed = Promise<Value>(makeDropError: makeDropError).notePlace(file, line)
        timed.follow(self, nil)
        if !timed.isCompleted { timed.startTimer(duration, clock, .failure(PromiseError.timedOut)) }
        return timed
    }

    /// Settles this promise when the time has passed. The timer is canceled when the promise settles earlier.
    private final func startTimer(_ duration: Duration, _ clock: any Clock<Duration>, _ outcome: Result<Value, any Error>) {
        let timer = Task { [weak self] in
            do {
                try await clock.sleep(for: duration.clampedForSleep)
                self?.settle(outcome)
            } catch {
                self?.settle(.failure(error))
            }
        }
        // False: already settled.
        if !onSettle({ _ in timer.cancel() }) { timer.cancel() }
    }
}

extension Duration {
    /// The duration, limited to the range from zero to about thirty years, which every clock can add to the current time without overflow.
    package var clampedForSleep: Duration { min(max(self, .zero), .seconds(1_000_000_000)) }
}
