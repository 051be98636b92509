import Foundation
import NessHTTP
import NessTesting

extension HTTPArchive {
    /// Makes an archive of requests: an entry for each exchange, and for each response from the cache.
    /// - Parameters:
    ///   - records: The requests.
    ///   - epoch: The date of the inspector's start.
    init(_ records: [RequestRecord], since epoch: Date) {
        // Callers who share an exchange have one entry. One who left it does not have its response.
        var exchanges: [Int: (start: Duration, hasResponse: Bool, entry: Entry)] = [:]
        var cached: [(start: Duration, entry: Entry)] = []
        for summary in records.map(RequestSummary.init) {
            let redactor = summary.redactor
            for exchange in summary.exchanges {
                let id = exchange.exchange.id, hasResponse = exchange.outcome?.response != nil
                if let known = exchanges[id], known.hasResponse || !hasResponse { continue }
                exchanges[id] = (exchange.start, hasResponse, Entry(exchange, since: epoch, by: redactor))
            }
            let start = summary.record.start
            guard let outcome = summary.outcome, outcome.error == nil, let response = outcome.response,
                response.source == .cache || response.source == .stale
            else { continue }
            let recorded = Response(response, isKept: outcome.removedLength == nil, by: redactor)
            var request = summary.record.sent ?? summary.record.request.value
            // A part of a body is not the body.
            request.body = nil
            cached.append((start, Entry(epoch.adding(start), time: 0, request: request, response: recorded, by: redactor)))
        }
        let all = exchanges.values.map { ($0.start, $0.entry) } + cached.map { ($0.start, $0.entry) }
        self.init(entries: all.sorted { $0.0 < $1.0 }.map(\.1))
    }
}

extension HTTPArchive.Entry {
    fileprivate init(_ exchange: RequestSummary.Exchange, since epoch: Date, by redactor: Redactor) {
        let end = exchange.end ?? exchange.head ?? exchange.start
        let connection = exchange.outcome?.response?.connection
        let (dns, connect, tls) = (connection?.nameLookup, connection?.connect, connection?.tls)
        let setUp = (dns ?? .zero) + (connect ?? .zero) + (tls ?? .zero)
        var timings = HTTPArchive.Timings(
            wait: max(.zero, (exchange.head ?? end) - exchange.start - setUp) / .milliseconds(1),
            receive: (end - (exchange.head ?? end)) / .milliseconds(1))
        timings.dns = dns.map { $0 / .milliseconds(1) }
        // In the format, the handshake of TLS is a part of the time to connect.
        timings.connect = connect.map { ($0 + (tls ?? .zero)) / .milliseconds(1) }
        timings.ssl = tls.map { $0 / .milliseconds(1) }
        let response = exchange.outcome.flatMap { outcome in
            outcome.response.map { HTTPArchive.Response($0, isKept: outcome.removedLength == nil, by: redactor) }
        }
        self.init(
            epoch.adding(exchange.start), time: (end - exchange.start) / .milliseconds(1), request: exchange.request.value,
            response: response ?? HTTPArchive.Response(error: exchange.outcome?.error ?? "the exchange has not ended"), timings: timings,
            by: redactor)
        if exchange.request.removedLength != nil { request.body?.text = nil }
    }
}

extension Date {
    /// Returns the date after a duration.
    func adding(_ duration: Duration) -> Date { addingTimeInterval(duration / .seconds(1)) }
}
