import Foundation

/// How many requests may begin in a time: a token bucket.
public struct ThrottleLimit: Sendable, Hashable {
    /// What shares one bucket.
    public enum Scope: Sendable, Hashable {
        /// All requests of the manager.
        case manager
        /// The requests to one origin.
        case host
    }

    /// Requests a second, in the long run.
    package var rate: Double
    /// How many may begin at once after a pause.
    package var burst: Int
    /// What shares one bucket.
    package var scope: Scope

    /// Makes a limit.
    /// - Parameters:
    ///   - rate: Requests a second, in the long run. Not positive, or not finite, is no limit.
    ///   - burst: How many may begin at once after a pause; one at least.
    ///   - scope: What shares one bucket.
    public init(rate: Double, burst: Int = 1, scope: Scope = .manager) {
        self.rate = rate
        self.burst = burst
        self.scope = scope
    }
}

/// Has requests wait until a `ThrottleLimit` lets them begin, first come, first served.
final class Throttle: OptionalStage {
    private struct State: Sendable {
        var buckets: [String: ThrottleBucket] = [:]
        /// How many there may be before those that no one needs are forgotten.
        var mostBuckets = 1_000
    }

    private let limit: ThrottleLimit
    private let clock: Timekeeper
    private let state = Lock(State())

    init(_ limit: ThrottleLimit, clock: Timekeeper) {
        self.limit = limit
        self.clock = clock
    }

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool {
        limit.rate > 0 && limit.rate.isFinite && !request[BypassesThrottle.self]
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        // One that was dropped on its way takes no token.
        try Task.checkCancellation()
        try await enter(limit.scope == .host ? HostQueue.origin(of: request.url) : "")?.wait()
        return try await next(request)
    }

    /// Who still waits was dropped before, and leaves by itself.
    func reset() async { state.withLock { $0 = State() } }

    /// Under the lock all the way: a bucket that is being entered must not be forgotten, or there would be a second one.
    private func enter(_ key: String) -> Waiter? {
        state.withLock { state in
            if let bucket = state.buckets[key] { return bucket.enter() }
            if state.buckets.count >= state.mostBuckets {
                state.buckets = state.buckets.filter { !$0.value.isFull }
                state.mostBuckets = max(1_000, 2 * state.buckets.count)
            }
            let bucket = ThrottleBucket(limit, clock: clock)
            state.buckets[key] = bucket
            return bucket.enter()
        }
    }
}

/// Whether a request waits for nothing before it is sent.
enum BypassesThrottle: RequestOptionKey { static let defaultValue = false }
