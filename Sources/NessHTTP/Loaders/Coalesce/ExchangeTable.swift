import Foundation

/// The exchanges in flight that callers may join, by identity. Reads can also be found by target.
struct ExchangeTable: Sendable {
    private var exchanges: [RequestIdentity: (exchange: SharedExchange, isRead: Bool)] = [:]
    /// The reads by the hash of their target. Few targets have more than one.
    private var reads: [Int: [RequestIdentity]] = [:]

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
        if isRead { reads[identity.target.hashValue, default: []].append(identity) }
        return true
    }

    /// Removes an exchange, unless another one has replaced it.
    mutating func remove(_ exchange: SharedExchange, for identity: RequestIdentity) {
        if exchanges[identity]?.exchange === exchange { forget(identity) }
    }

    private mutating func forget(_ identity: RequestIdentity) {
        guard exchanges.removeValue(forKey: identity)?.isRead == true else { return }
        let hash = identity.target.hashValue
        guard var others = reads.removeValue(forKey: hash) else { return }
        others.removeAll { $0 == identity }
        if !others.isEmpty { reads[hash] = others }
    }

    /// Closes the reads of a target to new callers. Callers who have joined keep waiting.
    mutating func closeReads(of url: URL) {
        if reads.isEmpty { return }
        let target = RequestIdentity.normalized(url)
        guard let all = reads.removeValue(forKey: target.hashValue) else { return }
        for identity in all where identity.target == target { exchanges[identity] = nil }
        let others = all.filter { $0.target != target }
        if !others.isEmpty { reads[target.hashValue] = others }
    }
}
