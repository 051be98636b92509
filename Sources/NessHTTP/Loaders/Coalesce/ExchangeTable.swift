/// The exchanges in flight that callers may join, by identity.
///
/// The cost of a request does not depend on the number of exchanges, not even if all are for one URL.
struct ExchangeTable: Sendable {
    private struct Entry: Sendable {
        let exchange: Exchange
        let isRead: Bool
        /// The number of the exchange, counted from 1.
        let number: Int
    }

    private var entries: [RequestIdentity: Entry] = [:]
    /// The number of exchanges so far.
    private var count = 0
    /// The numbers of the last exchanges before the last writes, by the hash of the writes' targets. If two targets have one hash, a read
    /// may be sent without need.
    private var lastBeforeWrite: [Int: Int] = [:]
    /// The number of writes at which those are forgotten that close no read in flight.
    private var writeLimit = ExchangeTable.leastWriteLimit
    private static let leastWriteLimit = 16

    /// The number of writes that are remembered. Tests verify with it that it does not grow.
    var writeCount: Int { lastBeforeWrite.count }

    /// Returns the exchange that an equal request may join.
    func running(_ identity: RequestIdentity) -> Exchange? {
        guard let entry = entries[identity], entry.exchange.isOpen else { return nil }
        let isClosed = entry.isRead && !lastBeforeWrite.isEmpty && entry.number <= lastBeforeWrite[identity.target.hashValue] ?? 0
        return isClosed ? nil : entry.exchange
    }

    /// Adds an exchange. Returns false if the exchange in flight is no longer `old`.
    mutating func insert(_ exchange: Exchange, replacing old: Exchange?) -> Bool {
        guard let identity = exchange.identity, running(identity) === old else { return false }
        count += 1
        entries[identity] = Entry(exchange: exchange, isRead: exchange.request.method.isSafe, number: count)
        return true
    }

    /// Removes an exchange, unless another one has replaced it.
    mutating func remove(_ exchange: Exchange) {
        guard let identity = exchange.identity, entries[identity]?.exchange === exchange else { return }
        entries[identity] = nil
        if entries.isEmpty, !lastBeforeWrite.isEmpty { forgetWrites() }
    }

    /// Closes the reads of a target to new callers. Callers who have joined keep waiting.
    /// - Parameter target: The URL of a write, in its normal form.
    mutating func closeReads(of target: ExactText) {
        if entries.isEmpty { return }
        lastBeforeWrite[target.hashValue] = count
        if lastBeforeWrite.count > writeLimit { forgetWrites() }
    }

    /// Forgets the writes that close no read in flight.
    private mutating func forgetWrites() {
        var oldestReads: [Int: Int] = [:]
        for (identity, entry) in entries where entry.isRead {
            oldestReads[identity.target.hashValue] = min(entry.number, oldestReads[identity.target.hashValue] ?? .max)
        }
        lastBeforeWrite = lastBeforeWrite.filter { hash, number in oldestReads[hash].map { $0 <= number } ?? false }
        // As many writes as exchanges have to pass before the next search, so that a write costs the same however many exchanges there are.
        writeLimit = max(Self.leastWriteLimit, 2 * lastBeforeWrite.count, entries.count)
    }
}
