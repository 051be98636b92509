/// The newest requests of a server, within bounds. Not synchronized: its owner's lock guards it.
struct RequestLog {
    /// How many requests are kept.
    static let capacity = 10_000
    /// How many bytes of bodies are kept in all.
    static let bodyCapacity = 64 << 20

    private var entries: [ReceivedRequest] = []
    private var firstWithBody = 0
    private var bodyBytes = 0

    /// The kept requests, oldest first.
    var newest: [ReceivedRequest] { Array(entries.suffix(Self.capacity)) }

    /// Keeps a request, and lets go of the oldest ones, or their bodies, where the bounds ask for it.
    mutating func append(_ request: ReceivedRequest) {
        if entries.count >= 2 * Self.capacity {
            // Half at a time: removing one by one from the front would cost a move of all others each.
            let surplus = entries.count - Self.capacity + 1
            for entry in entries.prefix(surplus) { bodyBytes -= entry.body.count }
            entries.removeFirst(surplus)
            firstWithBody = max(0, firstWithBody - surplus)
        }
        entries.append(request)
        bodyBytes += request.body.count
        while bodyBytes > Self.bodyCapacity, firstWithBody < entries.count {
            let size = entries[firstWithBody].body.count
            if size > 0 {
                bodyBytes -= size
                entries[firstWithBody].body = .init()
                entries[firstWithBody].isBodyDropped = true
            }
            firstWithBody += 1
        }
    }
}
