/// The tokens of one bucket, and the requests that wait for one: first in, first out.
///
/// A request that waits holds no token: a dropped one just leaves, and the requests behind it move up. One task sleeps, for the first.
final class ThrottleBucket: Sendable {
    private struct State: Sendable {
        /// The time at which the bucket will be full again. It stands for the number of tokens.
        var fullAt = Duration.zero
        var waiting = WaiterQueue<Waiter>()
        /// Sleeps until the first waiter may go. There is one while somebody waits.
        var timer: Task<Void, Never>?
    }

    /// The time between two tokens.
    private let interval: Duration
    /// The longest time before it is full at which the bucket has a token.
    private let slack: Duration
    private let clock: Timekeeper
    private let state = Lock(State())

    /// Makes a full bucket.
    /// - Parameters:
    ///   - limit: Rate and burst. The rate is positive.
    ///   - clock: The clock that measures the rate.
    init(_ limit: ThrottleLimit, clock: Timekeeper) {
        interval = .seconds(min(1 / limit.rate, 1e9))
        // As many as could ever matter: more would overflow.
        slack = interval * (min(max(limit.burst, 1), 1_000_000_000) - 1)
        self.clock = clock
    }

    /// A Boolean value that indicates whether all tokens are there, so that a new bucket would do as well.
    var isFull: Bool {
        let now = clock.elapsed()
        return state.withLock { $0.waiting.isEmpty && $0.fullAt <= now }
    }

    /// The number of requests that wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a token.
    /// - Returns: The waiter to wait by; `nil` if there was a token. Its cancellation leaves the queue.
    func enter() -> Waiter? {
        let now = clock.elapsed()
        return state.withLock { state in
            let wait = wait(state, now)
            if state.waiting.isEmpty && wait <= .zero {
                take(&state, now)
                return nil
            }
            let waiter = state.waiting.join { id in
                Waiter { [self] in leave(id) }
            }
            if state.timer == nil { state.timer = startTimer(after: wait) }
            return waiter
        }
    }

    private func leave(_ id: WaiterQueue<Waiter>.ID) {
        state.withLock { state in
            guard state.waiting.leave(id) != nil, state.waiting.isEmpty else { return }
            state.timer?.cancel()
            state.timer = nil
        }
    }

    /// Returns the time until there is a token.
    private func wait(_ state: State, _ now: Duration) -> Duration { max(state.fullAt, now) - now - slack }

    private func take(_ state: inout State, _ now: Duration) { state.fullAt = max(state.fullAt, now) + interval }

    private func startTimer(after wait: Duration) -> Task<Void, Never> {
        Task { [self] in
            do {
                try await clock.sleep(wait)
                admit()
            } catch {
                fail(error)
            }
        }
    }

    /// Admits the waiters that there is a token for, and sleeps for the next.
    private func admit() {
        let now = clock.elapsed()
        let admitted: [Waiter] = state.withLock { state in
            // Cancelled under the lock too: another timer may be there by now.
            guard !Task.isCancelled else { return [] }
            state.timer = nil
            var admitted: [Waiter] = []
            while !state.waiting.isEmpty {
                let wait = wait(state, now)
                guard wait <= .zero else {
                    state.timer = startTimer(after: wait)
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

    /// Takes back the tokens of waiters that were dropped while they were admitted. The waiters behind them come sooner.
    private func giveBack(_ count: Int) {
        let now = clock.elapsed()
        state.withLock { state in
            state.fullAt -= interval * count
            guard !state.waiting.isEmpty else { return }
            state.timer?.cancel()
            state.timer = startTimer(after: wait(state, now))
        }
    }

    /// Fails every waiter: the clock cannot wait, and nobody may hang on it.
    private func fail(_ error: any Error) {
        let waiting: [Waiter] = state.withLock { state in
            guard !Task.isCancelled else { return [] }
            state.timer = nil
            return state.waiting.takeAll()
        }
        for waiter in waiting { waiter.resume(.failure(error)) }
    }
}
