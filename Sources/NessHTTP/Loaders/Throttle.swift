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
    public var rate: Double
    /// How many may begin at once after a pause.
    public var burst: Int
    /// What shares one bucket.
    public var scope: Scope

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

/// Has requests wait until a `ThrottleLimit` lets them begin, first come, first served. One that is dropped meanwhile leaves at once and
/// gives its place back.
final class Throttle: HTTPLoader {
    private let limit: ThrottleLimit
    private let clock: Timekeeper
    /// When each bucket would be full again: all that a token bucket has to remember.
    private let fullAt = Lock<[String: Duration]>([:])

    init(_ limit: ThrottleLimit, clock: Timekeeper) {
        self.limit = limit
        self.clock = clock
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard limit.rate > 0, limit.rate.isFinite else { return try await next(request) }
        let key = limit.scope == .host ? HostQueue.origin(of: request.url) : ""
        let interval = Duration.seconds(min(1 / limit.rate, 1e9))
        let wait = reserve(key, interval)
        if wait > .zero {
            do {
                try await clock.sleep(wait)
            } catch {
                fullAt.withLock { $0[key, default: .zero] -= interval }
                throw error
            }
        }
        return try await next(request)
    }

    func reset() async { fullAt.withLock { $0 = [:] } }

    /// Takes a token and returns how long to wait for it.
    private func reserve(_ key: String, _ interval: Duration) -> Duration {
        let now = clock.elapsed()
        let credit = interval * max(0, limit.burst - 1)
        return fullAt.withLock { fullAt in
            let full = max(fullAt[key] ?? now, now)
            fullAt[key] = full + interval
            // Buckets that are full are forgotten, so that the table does not grow with the hosts.
            if fullAt.count > 1_000 { fullAt = fullAt.filter { $0.value > now } }
            return max(.zero, full - now - credit)
        }
    }
}
