/// A flight that equal requests share.
protocol SharedFlight: AnyObject, Sendable {
    /// The parts that equal requests have in common; `nil` for a flight that no other request may join.
    var identity: RequestIdentity? { get }
    /// True for a request that changes nothing on the server.
    var isRead: Bool { get }
    /// True while a caller may join.
    var isOpen: Bool { get }
    /// The number of callers who have joined and not left.
    var callerCount: Int { get }
}

/// The flights that callers may join, by identity.
///
/// The cost of a request does not depend on the number of flights, not even if all are for one URL.
struct FlightTable<Shared: SharedFlight>: Sendable {
    private struct Entry: Sendable {
        let flight: Shared
        let isRead: Bool
        /// The number of the flight, counted from 1.
        let number: Int
    }

    private var entries: [RequestIdentity: Entry] = [:]
    /// The number of flights so far.
    private var count = 0
    /// The number of the last flight that started before the latest write to a target, by the target's hash. The key is the hash, so that
    /// the table keeps no URL in memory. If two targets have the same hash, a read may be sent needlessly.
    private var lastBeforeWrite: [Int: Int] = [:]
    /// The number of remembered writes above which the table forgets those that no longer close a read.
    private var writeLimit = FlightTable.leastWriteLimit
    private static var leastWriteLimit: Int { 16 }

    /// The number of writes that are remembered. Tests verify with it that it does not grow.
    var writeCount: Int { lastBeforeWrite.count }

    /// Returns the flight that an equal request may join.
    func running(_ identity: RequestIdentity) -> Shared? {
        guard let entry = entries[identity], entry.flight.isOpen else { return nil }
        let isClosed = entry.isRead && !lastBeforeWrite.isEmpty && entry.number <= (lastBeforeWrite[identity.target.hashValue] ?? 0)
        return isClosed ? nil : entry.flight
    }

    /// Adds a flight. Returns false if the running flight is no longer `old`.
    mutating func insert(_ flight: Shared, replacing old: Shared?) -> Bool {
        guard let identity = flight.identity, running(identity) === old else { return false }
        count += 1
        entries[identity] = Entry(flight: flight, isRead: flight.isRead, number: count)
        return true
    }

    /// Removes a flight, unless another one has replaced it.
    mutating func remove(_ flight: Shared) {
        guard let identity = flight.identity, entries[identity]?.flight === flight else { return }
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
        // The next search follows after at least as many writes as there are flights, so the average cost of a write does not depend on
        // their number.
        writeLimit = max(Self.leastWriteLimit, 2 * lastBeforeWrite.count, entries.count)
    }
}
