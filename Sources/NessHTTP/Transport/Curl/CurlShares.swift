#if os(Linux)
import NessLock
import NessPromise

/// The number of exchanges in flight with each origin, on each engine of a transport.
///
/// An exchange goes to the first engine that has less than its share of exchanges with the origin. When each has its share, the exchange
/// goes to the one with the fewest. Each new origin starts at the next engine, so that origins do not slow each other down.
///
/// Downloads and streams have separate shares, and start at another engine: a thread that is busy with a download serves others late.
///
/// An engine gets a further exchange only if the engines before it have their shares. So for each of the two kinds, the engines together
/// open no more connections to an origin than it had concurrent exchanges: a limit on exchanges limits the connections.
final class CurlShares: Sendable {
    /// The exchanges that share engines.
    struct Group: Hashable, Sendable {
        let origin: ParsedURL.Origin
        /// True for downloads and streams.
        let isStreamed: Bool
    }

    /// The exchanges of one group.
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
        var groups: [Group: Counts] = [:]
        /// The number of groups beyond which those without exchanges are forgotten.
        var limit = 1_024
        /// The number of origins so far. One that was forgotten counts again.
        var originCount = 0

        /// Returns the index of the engine at which a new group starts, modulo the number of engines.
        mutating func first(of group: Group) -> Int {
            if let other = groups[Group(origin: group.origin, isStreamed: !group.isStreamed)] { return other.first + 1 }
            originCount += 1
            return originCount
        }
    }

    private let engineCount: Int
    private let state = Lock(State())

    /// Makes the shares of a number of engines, which is at least 1.
    init(engineCount: Int) { self.engineCount = max(1, engineCount) }

    /// Chooses the engine of an exchange, and counts the exchange.
    /// - Parameters:
    ///   - group: The group of the exchange.
    ///   - share: The number of the group's exchanges that an engine takes before the next engine is used.
    /// - Returns: The index of the engine.
    func enter(_ group: Group, share: Int) -> Int {
        if engineCount == 1 { return 0 }
        return state.withLock { state in
            if let known = state.groups[group]?.enter(share: share) { return known }
            var counts = Counts(first: state.first(of: group) % engineCount, counts: Array(repeating: 0, count: engineCount))
            let chosen = counts.enter(share: share)
            state.groups[group] = counts
            return chosen
        }
    }

    /// Removes an exchange that uses no connection any more.
    /// - Parameters:
    ///   - group: The group of the exchange.
    ///   - index: The index of its engine.
    func leave(_ group: Group, at index: Int) {
        state.withLock { state in
            state.groups[group]?.counts[index] -= 1
            guard state.groups.count > state.limit else { return }
            state.groups = state.groups.filter { $0.value.counts.contains { $0 > 0 } }
            state.limit = max(1_024, 2 * state.groups.count)
        }
    }

    /// The number of groups that are remembered.
    var groupCount: Int { state.withLock { $0.groups.count } }
}
#endif
