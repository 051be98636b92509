import Foundation

/// The exchanges in flight that callers may join, by identity. Reads can also be found by target.
struct ExchangeTable: Sendable {
    private var exchanges: [RequestIdentity: (exchange: SharedExchange, isRead: Bool)] = [:]
    /// The reads by the hash of their target. Few targets have more than one, so the first needs no array.
    private var reads: [Int: (first: RequestIdentity, others: [RequestIdentity])] = [:]

    /// Returns the exchange that an equal request may join.
    func running(_ identity: RequestIdentity) -> SharedExchange? {
        guard let exchange = exchanges[identity]?.exchange, exchange.isOpen else { return nil }
        return exchange
    }

    /// Adds an exchange. Returns false if the exchange in flight is no longer `old`.
    mutating func insert(
        _ exchange: SharedExchange, isRead: Bool, for identity: RequestIdentity, replacing old: SharedExchange?
    ) -> Bool {
        guard running(identity) === old else { return false }
        forget(identity)
        exchanges[identity] = (exchange, isRead)
        if isRead { addRead(identity) }
        return true
    }

    /// Removes an exchange, unless another one has replaced it.
    mutating func remove(_ exchange: SharedExchange, for identity: RequestIdentity) {
        if exchanges[identity]?.exchange === exchange { forget(identity) }
    }

    private mutating func forget(_ identity: RequestIdentity) {
        guard exchanges.removeValue(forKey: identity)?.isRead == true else { return }
        removeReads(identity.target.hashValue) { $0 == identity }
    }

    private mutating func addRead(_ identity: RequestIdentity) {
        let hash = identity.target.hashValue
        // Not changed in place: that would take two allocations for the dictionary's coroutines.
        let known = reads[hash]
        reads[hash] = known.map { ($0.first, $0.others + [identity]) } ?? (identity, [])
    }

    /// Removes reads from those whose target has a hash.
    /// - Parameter isRemoved: Decides on one of them. It is asked once about each.
    private mutating func removeReads(_ hash: Int, where isRemoved: (RequestIdentity) -> Bool) {
        guard let (first, others) = reads.removeValue(forKey: hash) else { return }
        if !isRemoved(first) { addRead(first) }
        for other in others where !isRemoved(other) { addRead(other) }
    }

    /// Closes the reads of a target to new callers. Callers who have joined keep waiting.
    mutating func closeReads(of url: URL) {
        if reads.isEmpty { return }
        let target = RequestIdentity.normalized(url)
        var closed: [RequestIdentity] = []
        removeReads(target.hashValue) { identity in
            guard identity.target == target else { return false }
            closed.append(identity)
            return true
        }
        for identity in closed { exchanges[identity] = nil }
    }
}
