#if os(Linux)
import NessLock
import NessPromise

/// The number of exchanges in flight with each origin, on each engine of a transport.
///
/// An exchange goes to the first engine that has less than its share of exchanges with the origin. When each has its share, the exchange
/// goes to the one with the fewest. Each origin starts at a different engine, so that origins do not slow each other down.
///
/// An engine gets a further exchange only if the engines before it have their shares. So together the engines open no more connections to
/// an origin than there were exchanges concurrently in flight with it: a limit on exchanges also limits the connections.
final class CurlShares: Sendable {
    private let counts: Lock<[[ParsedURL.Origin: Int]]>

    /// Makes the shares of a number of engines, which is at least 1.
    init(engineCount: Int) { counts = Lock(Array(repeating: [:], count: max(1, engineCount))) }

    /// Chooses the engine of an exchange, and counts the exchange.
    /// - Parameters:
    ///   - origin: The origin of the exchange.
    ///   - share: The number of exchanges with the origin that an engine takes before the next engine is used.
    /// - Returns: The index of the engine.
    func enter(_ origin: ParsedURL.Origin, share: Int) -> Int {
        counts.withLock { counts in
            guard counts.count > 1 else { return 0 }
            let first = Int(UInt(bitPattern: origin.hashValue) % UInt(counts.count))
            var chosen = first, fewest = Int.max
            for offset in counts.indices {
                let index = (first + offset) % counts.count, count = counts[index][origin] ?? 0
                if count < fewest { (chosen, fewest) = (index, count) }
                if count < share { break }
            }
            counts[chosen][origin] = fewest + 1
            return chosen
        }
    }

    /// Removes an exchange that uses no connection any more.
    /// - Parameters:
    ///   - origin: The origin of the exchange.
    ///   - index: The index of its engine.
    func leave(_ origin: ParsedURL.Origin, at index: Int) {
        counts.withLock { counts in
            guard let count = counts[index][origin] else { return }
            counts[index][origin] = count > 1 ? count - 1 : nil
        }
    }
}
#endif
