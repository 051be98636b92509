import NessLock

/// One request and its response on the wire, as the observers of its callers see it.
///
/// For all callers who share an exchange, it has the same number. Observers find in `request` what a loader at the place `.exchange` has
/// added, such as a request option.
public struct RequestExchange: Sendable, Identifiable {
    /// A number that is unique in this process.
    public let id = ExchangeNumber.next()
    /// The request as it is sent: after redirects, with its credential and with all that loaders have added. Its description contains no
    /// secrets. Its URL, header fields and body may.
    public package(set) var request: HTTPRequest
    /// A Boolean value that indicates whether another caller has started the exchange.
    public internal(set) var isJoined = false
    /// The time from the beginning to the end, by the manager's clock; `nil` until the end. For a caller who has joined, the time from then.
    public internal(set) var duration: Duration?
    /// The beginning, as this caller's observers see it.
    var start = Duration.zero

    init(_ request: HTTPRequest) { self.request = request }

    /// Returns the exchange as the observers of a caller see it.
    func observed(by caller: HTTPRequest) -> RequestExchange {
        var observed = self
        observed.request = request.observed(by: caller)
        return observed
    }

    /// Returns the exchange with its duration.
    func ended(at now: Duration) -> RequestExchange {
        var ended = self
        ended.duration = now - start
        return ended
    }
}

/// Numbers the exchanges of this process.
private enum ExchangeNumber {
    private static let last = Lock(0)

    static func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }
}
