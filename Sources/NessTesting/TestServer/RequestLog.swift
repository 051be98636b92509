/// The newest requests of a server, within bounds. It is not synchronized: its owner's lock guards it.
struct RequestLog {
    /// The largest number of requests.
    static let capacity = 10_000
    /// The largest number of body bytes, over all requests.
    static let bodyCapacity = 64 << 20

    private var entries: [ReceivedRequest] = []
    private var firstWithBody = 0
    private var bodyBytes = 0

    /// The kept requests, oldest first.
    var newest: [ReceivedRequest] { Array(entries.suffix(Self.capacity)) }

    /// Adds a request. If a bound is exceeded, removes the oldest requests, or their bodies.
    mutating func append(_ request: ReceivedRequest) {
        if entries.count >= 2 * Self.capacity {
            // The oldest half is removed in one step: each removal from the front moves all remaining elements.
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
