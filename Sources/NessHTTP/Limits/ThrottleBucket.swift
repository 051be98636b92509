import NessLock

/// A token bucket, with a first-in, first-out queue of requests that wait for a token.
///
/// A waiting request holds no token. When it is dropped it leaves the queue, and the requests after it move up. One task sleeps, for the
/// first waiter.
final class ThrottleBucket: Sendable {
    private struct State: Sendable {
        /// The time at which the bucket will be full again. The number of tokens follows from it.
        var fullAt = Duration.zero
        var pace: Pace
        var waiting = WaiterQueue<Waiter>()
        /// The task that sleeps until the first waiter may go; `nil` if no request waits.
        var timer: Task<Void, Never>?
    }

    /// The speed of a bucket.
    private struct Pace: Sendable, Equatable {
        /// The time between two tokens.
        let interval: Duration
        /// The bucket has a token if it will be full within this time.
        let slack: Duration

        init(_ limit: ThrottleLimit) {
            interval = .seconds(min(1 / limit.rate, 1e9))
            // Limited, because a larger burst would overflow the duration.
            slack = interval * (min(max(limit.burst, 1), 1_000_000_000) - 1)
        }
    }

    private let clock: PipelineClock
    private let state: Lock<State>

    /// Makes a full bucket.
    /// - Parameters:
    ///   - limit: The rate, which must be positive, and the burst.
    ///   - clock: The clock that measures the rate.
    init(_ limit: ThrottleLimit, clock: PipelineClock) {
        state = Lock(State(pace: Pace(limit)))
        self.clock = clock
    }

    /// A Boolean value that indicates whether the bucket has all its tokens, so that it equals a new bucket.
    var isFull: Bool {
        let now = clock.elapsed()
        return state.withLock { $0.waiting.isEmpty && $0.fullAt <= now }
    }

    /// The number of requests that wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a token.
    /// - Parameter limit: The rate and the burst from now on, which the requests that wait share.
    /// - Returns: A waiter in the queue; `nil` if there was a token. A canceled waiter leaves the queue.
    func enter(_ limit: ThrottleLimit) -> Waiter? {
        let now = clock.elapsed()
        change(to: Pace(limit), at: now)
        return state.withLock { state in
            let wait = wait(state, now)
            if state.waiting.isEmpty && wait <= .zero {
                take(&state, now)
                return nil
            }
            let waiter = state.waiting.join { id in
                Waiter { [self] in leave(id) }
            }
            if state.timer == nil { state.timer = startTimer(at: now + wait.clampedForSleep) }
            return waiter
        }
    }

    /// Changes the speed. A bucket that lacks more tokens than its new burst has counts as empty.
    private func change(to pace: Pace, at now: Duration) {
        let timer: Task<Void, Never>? = state.withLock { state in
            if state.pace == pace { return nil }
            state.pace = pace
            state.fullAt = min(state.fullAt, now + pace.slack + pace.interval)
            return restartTimer(&state, now)
        }
        timer?.cancel()
    }

    private func leave(_ id: WaiterQueue<Waiter>.ID) {
        let timer: Task<Void, Never>? = state.withLock { state in
            guard state.waiting.leave(id) != nil, state.waiting.isEmpty else { return nil }
            return state.timer.take()
        }
        // Outside the lock, because it runs code of the clock.
        timer?.cancel()
    }

    /// Returns the time until the next token.
    private func wait(_ state: State, _ now: Duration) -> Duration { max(state.fullAt, now) - now - state.pace.slack }

    private func take(_ state: inout State, _ now: Duration) { state.fullAt = max(state.fullAt, now) + state.pace.interval }

    /// Starts the sleep for the first waiter again.
    /// - Returns: The timer to cancel, outside the lock; `nil` if no request waits.
    private func restartTimer(_ state: inout State, _ now: Duration) -> Task<Void, Never>? {
        guard !state.waiting.isEmpty else { return nil }
        defer { state.timer = startTimer(at: now + wait(state, now).clampedForSleep) }
        return state.timer
    }

    private func startTimer(at time: Duration) -> Task<Void, Never> {
        Task { [self] in
            do {
                try await clock.sleepUntil(time)
                admit()
            } catch {
                fail(error)
            }
        }
    }

    /// Admits one waiter for each token, and starts a sleep for the next waiter.
    private func admit() {
        let now = clock.elapsed()
        let admitted: [Waiter] = state.withLock { state in
            // Checked under the lock: once this task is canceled, another timer may have taken its place.
            guard !Task.isCancelled else { return [] }
            state.timer = nil
            var admitted: [Waiter] = []
            while !state.waiting.isEmpty {
                let wait = wait(state, now)
                guard wait <= .zero else {
                    state.timer = startTimer(at: now + wait.clampedForSleep)
                    break
                }
                guard let next = state.waiting.takeFirst() else { break }
                take(&state, now)
                admitted.append(next)
            }
            return admitted
        }
        let refused = admitted.count { !$0.resume() }
        if refused > 0 { giveBack(refused) }
    }

    /// Takes back tokens that were not used, such as those of waiters that were dropped while they were admitted. The waiters after them
    /// are admitted sooner.
    func giveBack(_ count: Int) {
        let now = clock.elapsed()
        let timer: Task<Void, Never>? = state.withLock { state in
            state.fullAt -= state.pace.interval * count
            return restartTimer(&state, now)
        }
        timer?.cancel()
    }

    /// Fails every waiter, because the clock failed. Otherwise they would wait forever.
    private func fail(_ error: any Error) {
        let waiting: [Waiter] = state.withLock { state in
            guard !Task.isCancelled else { return [] }
            state.timer = nil
            return state.waiting.takeAll()
        }
        for waiter in waiting { waiter.resume(.failure(error)) }
    }
}
