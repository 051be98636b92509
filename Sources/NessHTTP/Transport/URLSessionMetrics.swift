#if !canImport(FoundationNetworking)
import Foundation

extension ConnectionMetrics {
    /// Makes the measurements of a connection from URLSession's. `nil` if the response came from elsewhere.
    init?(_ transaction: URLSessionTaskTransactionMetrics) {
        guard transaction.resourceFetchType == .networkLoad else { return nil }
        func time(_ start: Date?, _ end: Date?) -> Duration? {
            guard let start, let end else { return nil }
            return .seconds(max(0, end.timeIntervalSince(start)))
        }
        self.init(isReused: transaction.isReusedConnection)
        if !isReused {
            nameLookup = time(transaction.domainLookupStartDate, transaction.domainLookupEndDate)
            connect = time(transaction.connectStartDate, transaction.secureConnectionStartDate ?? transaction.connectEndDate)
            tls = time(transaction.secureConnectionStartDate, transaction.secureConnectionEndDate)
        }
        firstByte = time(transaction.requestStartDate, transaction.responseStartDate)
        switch transaction.networkProtocolName {
        case "http/1.0": httpVersion = .http1_0
        case "http/1.1": httpVersion = .http1_1
        case "h2": httpVersion = .http2
        case "h3": httpVersion = .http3
        default: break
        }
        if let host = transaction.localAddress, let port = transaction.localPort { localAddress = Address(host: host, port: port) }
        if let host = transaction.remoteAddress, let port = transaction.remotePort { remoteAddress = Address(host: host, port: port) }
    }
}
#endif
