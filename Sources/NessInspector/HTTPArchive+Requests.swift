import Foundation
import NessHTTP
import NessTesting

extension HTTPArchive {
    /// Makes an archive of requests: an entry for each exchange that one of them started, and for each response from the cache.
    /// - Parameters:
    ///   - records: The requests.
    ///   - epoch: The date of the inspector's start.
    init(_ records: [RequestRecord], since epoch: Date) {
        var entries: [(start: Duration, entry: Entry)] = []
        for summary in records.map(RequestSummary.init) {
            let record = summary.record
            for exchange in summary.exchanges where !exchange.exchange.isJoined {
                entries.append((exchange.start, Entry(exchange, since: epoch, isKept: record.omitted[exchange.exchange.id] == nil)))
            }
            guard case .success(let response) = summary.metrics?.outcome, response.source == .cache || response.source == .stale else {
                continue
            }
            let recorded = Response(response, isKept: record.omitted[0] == nil)
            entries.append((record.start, Entry(epoch.adding(record.start), time: 0, request: record.request, response: recorded)))
        }
        self.init(entries: entries.sorted { $0.start < $1.start }.map(\.entry))
    }
}

extension HTTPArchive.Entry {
    fileprivate init(_ exchange: RequestSummary.Exchange, since epoch: Date, isKept: Bool) {
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
        let response = exchange.outcome?.response.map { HTTPArchive.Response($0, isKept: isKept) }
        self.init(
            epoch.adding(exchange.start), time: (end - exchange.start) / .milliseconds(1), request: exchange.exchange.request,
            response: response ?? HTTPArchive.Response(error: exchange.error ?? "the exchange has not ended"), timings: timings)
    }
}

extension Date {
    /// Returns the date after a duration.
    func adding(_ duration: Duration) -> Date { addingTimeInterval(duration / .seconds(1)) }
}
