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

extension ThrottleLimit {
    /// False for a rate that means no limit.
    var isLimit: Bool { rate > 0 && rate.isFinite }
}

/// Delays requests until a `ThrottleLimit` lets them start, first in, first out.
final class Throttle: Sendable {
    private struct State: Sendable {
        var buckets: [LimitKey: ThrottleBucket] = [:]
        /// The number of buckets at which full buckets are removed. A full bucket equals a new one.
        var bucketLimit = 1_000
    }

    private let limit: ThrottleLimit?
    private let clock: PipelineClock
    private let state = Lock(State())

    /// Makes a throttle.
    /// - Parameters:
    ///   - limit: The limit of requests whose group has no rate; `nil` for none.
    ///   - clock: The clock that measures the rates.
    init(_ limit: ThrottleLimit?, clock: PipelineClock) {
        self.limit = limit
        self.clock = clock
    }

    /// Takes a token.
    /// - Parameters:
    ///   - request: The request.
    ///   - group: The request's group, which may have a rate; `nil` for none.
    /// - Returns: The bucket, to give the token back if the request is not sent; and the wait for the token, or `nil` if a token was
    ///   available. `nil` if nothing limits the request.
    /// - Throws: `CancellationError` if the request was dropped before. It takes no token.
    @inline(never)
    func enter(_ request: HTTPRequest, _ group: GroupMembership?) throws -> (bucket: ThrottleBucket, waiter: Waiter?)? {
        if request.settings.bypassesQueues { return nil }
        let groupLimit = group?.throttle
        guard let limit = groupLimit ?? limit, limit.isLimit else { return nil }
        try Task.checkCancellation()
        let key: LimitKey =
            if let group, groupLimit != nil { .group(group.key) } else { limit.scope == .host ? .origin(request.origin) : .manager }
        // Under the lock throughout: if a bucket were removed while a request enters it, a second bucket with the same key would exist.
        return state.withLock { state in
            if let bucket = state.buckets[key] { return (bucket, bucket.enter(limit)) }
            if state.buckets.count >= state.bucketLimit {
                state.buckets = state.buckets.filter { !$0.value.isFull }
                state.bucketLimit = max(1_000, 2 * state.buckets.count)
            }
            let bucket = ThrottleBucket(limit, clock: clock)
            state.buckets[key] = bucket
            return (bucket, bucket.enter(limit))
        }
    }

    /// The number of buckets.
    var bucketCount: Int { state.withLock { $0.buckets.count } }

    /// Discards the buckets. Requests that still wait in them were dropped before the reset, and leave their queues by themselves.
    func reset() { state.withLock { $0 = State() } }
}
