import NessPromise

/// The tokens of one bucket, and who waits for one: first come, first served.
///
/// Nobody who waits holds a token: one who is dropped just leaves, and everyone behind moves up. One task sleeps, for whoever is first.
final class ThrottleBucket: Sendable {
    private struct State: Sendable {
        /// When the bucket will be full again: all that has to be remembered of its tokens.
        var fullAt = Duration.zero
        var waiting: [Int: Promise<Void>] = [:]
        /// The number of the one who has waited longest, or of one before who left.
        var first = 0
        /// The number of the next one to come.
        var next = 0
        /// Sleeps until the first may go. There is one while somebody waits.
        var timer: Task<Void, Never>?
    }

    /// The time in which a token comes in.
    private let interval: Duration
    /// How long before it is full the bucket has a token to give.
    private let slack: Duration
    private let clock: Timekeeper
    private let state = Lock(State())

    /// Makes a full bucket.
    /// - Parameters:
    ///   - limit: Rate and burst. The rate is positive.
    ///   - clock: What the rate goes by.
    init(_ limit: ThrottleLimit, clock: Timekeeper) {
        interval = .seconds(min(1 / limit.rate, 1e9))
        // As many as could ever matter: more would overflow.
        slack = interval * (min(max(limit.burst, 1), 1_000_000_000) - 1)
        self.clock = clock
    }

    /// Whether all tokens are there, so that another bucket would do as well.
    var isFull: Bool {
        let now = clock.elapsed()
        return state.withLock { $0.waiting.isEmpty && $0.fullAt <= now }
    }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a token.
    /// - Returns: What to wait for; nil where a token was there. Dropping it leaves the queue.
    func enter() -> Promise<Void>? {
        let now = clock.elapsed()
        let place: (turn: Promise<Void>, number: Int)? = state.withLock { state in
            let wait = wait(state, now)
            if state.waiting.isEmpty && wait <= .zero {
                take(&state, now)
                return nil
            }
            let place = (turn: Promise<Void>(), number: state.next)
            state.waiting[place.number] = place.turn
            state.next += 1
            if state.timer == nil { state.timer = startTimer(after: wait) }
            return place
        }
        guard let place else { return nil }
        place.turn.whenDropped { [self] _ in leave(place.number) }
        return place.turn
    }

    private func leave(_ number: Int) {
        state.withLock { state in
            state.waiting[number] = nil
            guard state.waiting.isEmpty else { return }
            state.timer?.cancel()
            state.timer = nil
        }
    }

    /// How long it takes until there is a token.
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

    /// Lets those go for whom there is a token, and sleeps for the next.
    private func admit() {
        let now = clock.elapsed()
        state.withLock { state in
            // Cancelled under the lock too: another timer may be there by now.
            guard !Task.isCancelled else { return }
            state.timer = nil
            while state.first < state.next {
                if let turn = state.waiting[state.first] {
                    let wait = wait(state, now)
                    guard wait <= .zero else {
                        state.timer = startTimer(after: wait)
                        return
                    }
                    state.waiting[state.first] = nil
                    // One who was dropped just now takes no token.
                    if turn.settle(.success(())) { take(&state, now) }
                }
                state.first += 1
            }
        }
    }

    /// The clock can't wait: nobody may hang on it.
    private func fail(_ error: any Error) {
        let waiting: [Promise<Void>] = state.withLock { state in
            guard !Task.isCancelled else { return [] }
            state.timer = nil
            let waiting = Array(state.waiting.values)
            state.waiting = [:]
            return waiting
        }
        for turn in waiting { turn.settle(.failure(error)) }
    }
}
