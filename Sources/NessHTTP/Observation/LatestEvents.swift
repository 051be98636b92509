/// The latest events of a flight, to notify callers who join late, and those who leave early.
struct LatestEvents: Sendable {
    /// The events of one exchange.
    private struct Entry: Sendable {
        let exchange: RequestExchange
        var connection: ExchangeEvent?
        var head: ExchangeEvent?
        var outcome: Result<HTTPResponse, any Error>?

        /// Adds the events that a member who knows `known` has missed, in order.
        func add(to events: inout [ExchangeEvent], since known: Entry?, _ sent: ExchangeEvent? = nil, _ received: ExchangeEvent? = nil) {
            if known == nil { events.append(.began(exchange)) }
            if let sent { events.append(sent) }
            if let connection, known?.connection == nil { events.append(connection) }
            if let head, known?.head == nil { events.append(head) }
            if let received { events.append(received) }
            if let outcome, known?.outcome == nil { events.append(.ended(exchange, outcome)) }
        }
    }

    /// The places at which the flight waits.
    private var waits: [WaitingPlace] = []
    /// The last exchange. Most flights have no other, and need no array.
    private var last: Entry?
    /// The exchanges before it that have not ended, and some that have: a caller who has joined meanwhile may know them.
    private var earlier: [Entry] = []
    private var sent: ExchangeEvent?
    private var received: ExchangeEvent?

    /// The number of earlier exchanges from which on an ended one is forgotten.
    private static let earlierLimit = 4

    mutating func keep(_ event: ExchangeEvent) {
        switch event {
        case .waits(let place): waits.append(place)
        case .waited(let place): if let index = waits.firstIndex(of: place) { waits.remove(at: index) }
        case .began(let exchange):
            if let last { earlier.append(last) }
            if earlier.count > Self.earlierLimit, let ended = earlier.firstIndex(where: { $0.outcome != nil }) { earlier.remove(at: ended) }
            last = Entry(exchange: exchange)
            (sent, received) = (nil, nil)
        case .connection: last?.connection = event
        case .head(let head): change(head.exchange.id) { $0.head = event }
        case .sent: sent = event
        case .received: received = event
        case .ended(let exchange, let outcome): keepEnd(of: exchange.id, outcome)
        // Late callers do not receive these: the wait for a network may be over, and a late interim response saves no time.
        case .waitsForNetwork, .interim: break
        }
    }

    mutating func keepEnd(of id: RequestExchange.ID, _ outcome: Result<HTTPResponse, any Error>) { change(id) { $0.outcome = outcome } }

    private mutating func change(_ id: RequestExchange.ID, _ change: (inout Entry) -> Void) {
        if var entry = last, entry.exchange.id == id {
            change(&entry)
            last = entry
        } else if let index = earlier.firstIndex(where: { $0.exchange.id == id }) {
            change(&earlier[index])
        }
    }

    private func entry(_ id: RequestExchange.ID) -> Entry? {
        last?.exchange.id == id ? last : earlier.first { $0.exchange.id == id }
    }

    /// The events that a member who knows `known` has missed, in order.
    func since(_ known: LatestEvents) -> [ExchangeEvent] {
        var events: [ExchangeEvent] = []
        // Enough for one exchange: every caller who joins comes here.
        events.reserveCapacity(6)
        // The segments of a download may wait at one place at the same time.
        var (ended, new) = (known.waits, waits)
        for place in waits { if let index = ended.firstIndex(of: place) { ended.remove(at: index) } }
        for place in known.waits { if let index = new.firstIndex(of: place) { new.remove(at: index) } }
        for place in ended { events.append(.waited(place)) }
        for place in new { events.append(.waits(place)) }
        // Of the exchanges that ended before a caller joined, only the last one concerns it: its response may be the caller's.
        let isNew = known.last == nil
        for entry in earlier where !isNew || entry.outcome == nil { entry.add(to: &events, since: known.entry(entry.exchange.id)) }
        if let last { last.add(to: &events, since: known.entry(last.exchange.id), sent, received) }
        return events
    }

    /// The ends of all that has not ended, for a member who leaves.
    func ends(with error: any Error) -> [ExchangeEvent] {
        let open = (earlier + [last].compactMap(\.self)).filter { $0.outcome == nil }
        return waits.map { .waited($0) } + open.map { .ended($0.exchange, .failure(error)) }
    }
}
