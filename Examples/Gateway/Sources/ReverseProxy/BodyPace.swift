import Synchronization

/// Measures how long a client lets the proxy wait for its body. The time in which the upstream takes no bytes does not count.
final class BodyPace: Sendable {
    private struct State {
        var bytes = 0
        var waited = Duration.zero
        /// The start of the current wait; `nil` while the proxy does not wait for the client.
        var start: Duration?
    }

    private let state = Mutex(State())
    private let rate: BodyRate
    private let elapsed: @Sendable () -> Duration

    init(_ rate: BodyRate, on clock: any Clock<Duration>) {
        self.rate = rate
        elapsed = Self.stopwatch(clock)
    }

    private static func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// The proxy waits for the client.
    func beginWait() {
        let now = elapsed()
        state.withLock { $0.start = now }
    }

    /// The client has sent a number of bytes.
    /// - Returns: False if the client is too slow.
    func endWait(_ bytes: Int) -> Bool {
        let now = elapsed()
        return state.withLock { state in
            state.bytes += bytes
            if let start = state.start.take() { state.waited += now - start }
            return state.waited <= rate.time(for: state.bytes)
        }
    }
}
