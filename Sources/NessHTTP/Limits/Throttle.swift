import Foundation
import NessLock

/// The largest rate at which requests may start, as a token bucket.
public struct ThrottleLimit: Sendable, Hashable {
    /// The requests that share one bucket.
    public enum Scope: Sendable, Hashable {
        /// All requests of the manager.
        case manager
        /// The requests to one origin.
        case host
    }

    /// The average number of requests per second. A rate that is not positive, or not finite, means no limit.
    public var rate: Double
    /// The number of requests that may start together after a pause. A number below 1 means 1.
    public var burst: Int
    /// The requests that share one bucket.
    public var scope: Scope

    /// Makes a limit.
    /// - Parameters:
    ///   - rate: The average number of requests per second. A rate that is not positive, or not finite, means no limit.
    ///   - burst: The number of requests that may start together after a pause, at least one.
    ///   - scope: The requests that share one bucket.
    public init(rate: Double, burst: Int = 1, scope: Scope = .manager) {
        self.rate = rate
        self.burst = burst
        self.scope = scope
    }
}

/// Delays requests until a `ThrottleLimit` lets them start, first in, first out.
final class Throttle: Sendable {
    private struct State: Sendable {
        var buckets: [ParsedURL.Origin?: ThrottleBucket] = [:]
        /// The number of buckets at which full buckets are removed. A full bucket equals a new one.
        var bucketLimit = 1_000
    }

    private let limit: ThrottleLimit
    private let clock: PipelineClock
    private let state = Lock(State())

    /// Makes a throttle; `nil` for a rate that means no limit.
    init?(_ limit: ThrottleLimit, clock: PipelineClock) {
        guard limit.rate > 0, limit.rate.isFinite else { return nil }
        self.limit = limit
        self.clock = clock
    }

    /// Takes a token.
    /// - Returns: The wait for the token; `nil` if there was one, or if the request bypasses the limits.
    /// - Throws: `CancellationError` if the request was dropped before. It takes no token.
    @inline(never)
    func enter(_ request: HTTPRequest) throws -> Waiter? {
        if request[BypassesThrottle.self] { return nil }
        try Task.checkCancellation()
        let origin = origin(of: request)
        // Under the lock throughout: if a bucket were removed while a request enters it, a second bucket with the same key would exist.
        return state.withLock { state in
            if let bucket = state.buckets[origin] { return bucket.enter() }
            if state.buckets.count >= state.bucketLimit {
                state.buckets = state.buckets.filter { !$0.value.isFull }
                state.bucketLimit = max(1_000, 2 * state.buckets.count)
            }
            let bucket = ThrottleBucket(limit, clock: clock)
            state.buckets[origin] = bucket
            return bucket.enter()
        }
    }

    /// Takes back the token of a request that was not sent.
    func giveBack(_ request: HTTPRequest) {
        if !request[BypassesThrottle.self] { state.withLock { $0.buckets[origin(of: request)] }?.giveBack(1) }
    }

    /// Returns the origin whose bucket a request uses; `nil` for the one of all origins.
    private func origin(of request: HTTPRequest) -> ParsedURL.Origin? { limit.scope == .host ? request.origin : nil }

    /// Discards the buckets. Requests that still wait in them were dropped before the reset, and leave their queues by themselves.
    func reset() { state.withLock { $0 = State() } }
}

/// A request option that indicates whether the request skips the throttle and both queues.
enum BypassesThrottle: RequestOptionKey { static let defaultValue = false }
