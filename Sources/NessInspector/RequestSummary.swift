import NessHTTP

/// The row of a request: its outcome, and where its time went.
struct RequestSummary: Sendable {
    /// A stretch of time in which the request waited, or its response was decoded.
    struct Span: Sendable, Equatable {
        enum Kind: String, Sendable {
            case hostQueue, throttle, refresh, refreshWait, retry, pause, network, decode
        }

        var kind: Kind
        var start: Duration
        var end: Duration?
        var note: String?
    }

    /// One request and its response on the wire.
    struct Exchange: Sendable {
        /// The exchange, as it was when it started.
        let exchange: RequestExchange
        let request: KeptRequest
        let attempt: Int
        let start: Duration
        var head: Duration?
        var end: Duration?
        var outcome: Outcome?
        /// The head, which is all that is known of the response until the end, and after a pause.
        var headResponse: HTTPResponse?

        /// The response, as far as it is known.
        var response: HTTPResponse? { outcome?.response ?? headResponse }
    }

    let record: RequestRecord
    private(set) var spans: [Span] = []
    private(set) var exchanges: [Exchange] = []
    private(set) var attempts = 0
    private(set) var warnings: [String] = []
    /// The outcome; `nil` before the end.
    private(set) var outcome: Outcome?
    /// The measurements; `nil` before the end.
    private(set) var metrics: RequestMetrics?
    /// The spans that have not ended. The segments of a download may wait at the same place at the same time: their waits are one span.
    private var open: [Span.Kind: (index: Int, count: Int)] = [:]

    init(_ record: RequestRecord) {
        self.record = record
        for (event, time) in record.events { add(event, at: time) }
        if outcome != nil || record.isCut { closeAll(at: record.events.last?.time ?? record.start) }
    }

    private mutating func add(_ event: RequestRecord.Event, at time: Duration) {
        switch event {
        case .warning(let text): warnings.append(text)
        case .attempt:
            // A resumed transfer is the same attempt.
            attempts = max(1, attempts)
            close(.retry, at: time)
        case .wait(let place):
            // The request that has started the refresh has its span already.
            if place != .refresh || open[.refresh] == nil { begin(place.kind, at: time) }
        case .waited(let place):
            close(place.kind, at: time)
            if place == .refresh { close(.refresh, at: time) }
        case .refresh:
            close(.refreshWait, at: time)
            begin(.refresh, at: time)
        case .begin(let exchange):
            let request = KeptRequest(exchange.request, removedLength: record.removedLengths[exchange.id])
            exchanges.append(Exchange(exchange: exchange, request: request, attempt: max(1, attempts), start: time))
        case .network: begin(.network, at: time)
        case .head(let response, let id):
            close(.network, at: time)
            guard let index = index(of: id) else { break }
            (exchanges[index].head, exchanges[index].headResponse) = (time, response)
        case .end(let id, let outcome):
            close(.network, at: time)
            guard let index = index(of: id) else { break }
            exchanges[index].end = time
            exchanges[index].outcome = outcome
        case .receive: begin(.decode, at: time)
        case .retry(let reason):
            close(.decode, at: time)
            begin(.retry, at: time, note: reason)
            attempts = max(1, attempts) + 1
        case .pause: begin(.pause, at: time)
        case .resume: close(.pause, at: time)
        case .outcome(let outcome, let metrics):
            (self.outcome, self.metrics) = (outcome, metrics)
            // None, if the response is from the cache.
            attempts = metrics.attempts
        }
    }

    /// Returns the place of an exchange that has not ended. A caller who leaves an exchange and joins it again has it twice.
    private func index(of id: Int) -> Int? { exchanges.lastIndex { $0.exchange.id == id && $0.end == nil } }

    private mutating func begin(_ kind: Span.Kind, at time: Duration, note: String? = nil) {
        if open[kind] == nil { spans.append(Span(kind: kind, start: time, note: note)) }
        open[kind, default: (spans.count - 1, 0)].count += 1
    }

    private mutating func close(_ kind: Span.Kind, at time: Duration) {
        guard let (index, count) = open[kind] else { return }
        open[kind] = count > 1 ? (index, count - 1) : nil
        if count == 1 { spans[index].end = time }
    }

    private mutating func closeAll(at time: Duration) {
        for (index, _) in open.values { spans[index].end = time }
        open = [:]
        for index in exchanges.indices where exchanges[index].end == nil { exchanges[index].end = time }
    }
}

extension WaitingPlace {
    fileprivate var kind: RequestSummary.Span.Kind {
        switch self {
        case .hostQueue: .hostQueue
        case .throttle: .throttle
        case .refresh: .refreshWait
        }
    }
}

extension FailedAttempt {
    /// The reason for the next attempt, in one line.
    func reason(for delay: Duration) -> String {
        let cause = response.map { "\($0.statusCode)" } ?? (error as? NessError).map { "\($0.kind)" } ?? "an error"
        let wish = retryAfter.map { ", Retry-After \(Self.seconds($0))" } ?? ""
        return "\(cause)\(wish), next attempt after \(Self.seconds(delay))"
    }

    private static func seconds(_ duration: Duration) -> String {
        "\(((duration / .seconds(1)) * 1_000).rounded() / 1_000) s"
    }
}
