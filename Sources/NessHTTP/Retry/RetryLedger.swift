import NessLock

/// Counts requests and retries in a sliding window of ten slices. Its memory does not grow with the traffic.
final class RetryLedger: Sendable {
    private struct Slice: Sendable {
        var index: Int64 = .min
        var requests = 0
        var retries = 0
    }

    private let budget: RetryBudget
    private let clock: PipelineClock
    /// The length of a slice in seconds.
    private let slice: Double
    private let slices = Lock(Array(repeating: Slice(), count: 10))

    init(_ budget: RetryBudget, _ clock: PipelineClock) {
        self.budget = budget
        self.clock = clock
        slice = max(budget.window.seconds / 10, 0.001)
    }

    /// Counts a request.
    /// - Parameter time: The current time, on the manager's clock.
    func countRequest(at time: Duration) {
        let now = index(of: time)
        slices.withLock { slices in Self.current(now, &slices) { $0.requests += 1 } }
    }

    /// Takes a retry out of the budget. Returns false if the budget is used up.
    func takeRetry() -> Bool {
        let now = index(of: clock.elapsed())
        return slices.withLock { slices in
            let recent = slices.filter { $0.index > now - 10 && $0.index <= now }
            let requests = recent.reduce(0) { $0 + $1.requests }
            let retries = recent.reduce(0) { $0 + $1.retries }
            guard retries < budget.minimum || Double(retries) < budget.ratio * Double(requests) else { return false }
            Self.current(now, &slices) { $0.retries += 1 }
            return true
        }
    }

    /// The reason of the error of an extra request, which a loader sends before it has a response.
    static let refusalOfExtraRequest = "the retry budget of the manager allows no extra request now"

    func reset() { slices.withLock { $0 = Array(repeating: Slice(), count: 10) } }

    private static func current(_ index: Int64, _ slices: inout [Slice], _ change: (inout Slice) -> Void) {
        let slot = Int(index % 10)
        if slices[slot].index != index { slices[slot] = Slice(index: index) }
        change(&slices[slot])
    }

    private func index(of time: Duration) -> Int64 {
        // Limited, because a larger number would not fit the integer.
        Int64(min(max(0, time.seconds / slice), 1e18))
    }
}
