#if os(Linux)
import NessLock
import NessPromise

/// The number of exchanges in flight with each origin, on each engine of a transport.
///
/// An exchange goes to the first engine that has less than its share of exchanges with the origin. When each has its share, the exchange
/// goes to the one with the fewest. Each origin starts at a different engine, so that origins do not slow each other down.
///
/// An engine gets a further exchange only if the engines before it have their shares. So together the engines open no more connections to
/// an origin than it had concurrent exchanges: a limit on exchanges also limits the connections.
final class CurlShares: Sendable {
    /// The exchanges with one origin.
    private struct Counts: Sendable {
        /// The index of the engine that is used first.
        let first: Int
        /// The number of exchanges on each engine.
        var counts: [Int]

        mutating func enter(share: Int) -> Int {
            var chosen = first, fewest = Int.max
            for offset in counts.indices {
                let index = (first + offset) % counts.count
                if counts[index] < fewest { (chosen, fewest) = (index, counts[index]) }
                if counts[index] < share { break }
            }
            counts[chosen] += 1
            return chosen
        }
    }

    private struct State: Sendable {
        var origins: [ParsedURL.Origin: Counts] = [:]
        /// The number of origins beyond which those without exchanges are forgotten.
        var limit = 1_024
    }

    private let engineCount: Int
    private let state = Lock(State())

    /// Makes the shares of a number of engines, which is at least 1.
    init(engineCount: Int) { self.engineCount = max(1, engineCount) }

    /// Chooses the engine of an exchange, and counts the exchange.
    /// - Parameters:
    ///   - origin: The origin of the exchange.
    ///   - share: The number of exchanges with the origin that an engine takes before the next engine is used.
    /// - Returns: The index of the engine.
    func enter(_ origin: ParsedURL.Origin, share: Int) -> Int {
        if engineCount == 1 { return 0 }
        return state.withLock { $0.origins[origin, default: makeCounts(for: origin)].enter(share: share) }
    }

    /// Removes an exchange that uses no connection any more.
    /// - Parameters:
    ///   - origin: The origin of the exchange.
    ///   - index: The index of its engine.
    func leave(_ origin: ParsedURL.Origin, at index: Int) {
        state.withLock { state in
            state.origins[origin]?.counts[index] -= 1
            guard state.origins.count > state.limit else { return }
            state.origins = state.origins.filter { $0.value.counts.contains { $0 > 0 } }
            state.limit = max(1_024, 2 * state.origins.count)
        }
    }

    /// The number of origins that are remembered.
    var originCount: Int { state.withLock { $0.origins.count } }

    private func makeCounts(for origin: ParsedURL.Origin) -> Counts {
        Counts(
            first: Int(UInt(bitPattern: origin.hashValue) % UInt(engineCount)), counts: Array(repeating: 0, count: engineCount))
    }
}
#endif
