import NessHTTP

/// The row of a request: its outcome, and where its time went.
struct RequestSummary: Sendable {
    /// A stretch of time in which nothing was on the wire.
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
        let attempt: Int
        let start: Duration
        var head: Duration?
        var end: Duration?
        var outcome: Result<HTTPResponse, any Error>?
    }

    let record: RequestRecord
    private(set) var spans: [Span] = []
    private(set) var exchanges: [Exchange] = []
    private(set) var attempts = 0
    private(set) var warnings: [String] = []
    /// The measurements; `nil` before the end.
    private(set) var metrics: RequestMetrics?
    /// The spans that have not ended.
    private var open: [Span.Kind: Int] = [:]

    init(_ record: RequestRecord) {
        self.record = record
        for (event, time) in record.events { add(event, at: time) }
    }

    private mutating func add(_ event: RequestRecord.Event, at time: Duration) {
        switch event {
        case .warning(let text): warnings.append(text)
        case .attempt:
            attempts += 1
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
        case .begin(let exchange): exchanges.append(Exchange(exchange: exchange, attempt: max(1, attempts), start: time))
        case .network: begin(.network, at: time)
        case .head(let id):
            close(.network, at: time)
            if let index = index(of: id) { exchanges[index].head = time }
        case .end(let id, let outcome):
            close(.network, at: time)
            guard let index = index(of: id) else { break }
            exchanges[index].end = time
            exchanges[index].outcome = outcome
        case .receive: begin(.decode, at: time)
        case .retry(let attempt, let delay):
            close(.decode, at: time)
            begin(.retry, at: time, note: Self.reason(attempt, delay))
        case .pause: begin(.pause, at: time)
        case .resume: close(.pause, at: time)
        case .outcome(let metrics):
            self.metrics = metrics
            for kind in open.keys { close(kind, at: time) }
        }
    }

    /// Returns the place of an exchange that has not ended. A caller who leaves an exchange and joins it again has it twice.
    private func index(of id: Int) -> Int? { exchanges.lastIndex { $0.exchange.id == id && $0.end == nil } }

    private mutating func begin(_ kind: Span.Kind, at time: Duration, note: String? = nil) {
        // The segments of a download may wait at the same place at the same time.
        guard open[kind] == nil else { return }
        open[kind] = spans.count
        spans.append(Span(kind: kind, start: time, note: note))
    }

    private mutating func close(_ kind: Span.Kind, at time: Duration) {
        if let index = open.removeValue(forKey: kind) { spans[index].end = time }
    }

    private static func reason(_ attempt: FailedAttempt, _ delay: Duration) -> String {
        let cause = attempt.response.map { "\($0.statusCode)" } ?? (attempt.error as? NessError).map { "\($0.kind)" } ?? "an error"
        let asked = attempt.retryAfter.map { ", Retry-After \(seconds($0))" } ?? ""
        return "\(cause)\(asked), next attempt after \(seconds(delay))"
    }

    private static func seconds(_ duration: Duration) -> String {
        "\(((duration / .seconds(1)) * 1_000).rounded() / 1_000) s"
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
