import Foundation

#if !canImport(FoundationNetworking)
/// Measurements of connections by URLSession on Apple platforms. On Linux URLSession reports nothing.
extension ConnectionMetrics {
    /// Converts the measurements of a transfer's last request on the network.
    init(_ measured: URLSessionTaskTransactionMetrics) {
        self.init(isReused: measured.isReusedConnection)
        if !isReused {
            nameLookup = Self.interval(from: measured.domainLookupStartDate, to: measured.domainLookupEndDate)
            let secured = (start: measured.secureConnectionStartDate, end: measured.secureConnectionEndDate)
            // `connectEndDate` is the end of the TLS handshake.
            connect = Self.interval(from: measured.connectStartDate, to: secured.start ?? measured.connectEndDate)
            tls = Self.interval(from: secured.start, to: secured.end)
        }
        firstByte = Self.interval(from: measured.requestStartDate, to: measured.responseStartDate)
        httpVersion = Self.httpVersion(named: measured.networkProtocolName)
        localAddress = Self.address(measured.localAddress, measured.localPort)
        remoteAddress = Self.address(measured.remoteAddress, measured.remotePort)
    }

    private static func address(_ host: String?, _ port: Int?) -> Address? {
        host.flatMap { host in port.map { Address(host: host, port: $0) } }
    }
}
#endif

extension ConnectionMetrics {
    /// The time between two dates; `nil` if one is missing, because the step did not happen.
    static func interval(from start: Date?, to end: Date?) -> Duration? {
        guard let start, let end else { return nil }
        return .seconds(max(0, end.timeIntervalSince(start)))
    }

    /// Reads the name of a protocol, as ALPN has it (RFC 7301).
    static func httpVersion(named name: String?) -> HTTPVersion? {
        switch name?.lowercased() {
        case "http/1.0": .http1_0
        case "http/1.1": .http1_1
        case "h2": .http2
        case let name? where name == "h3" || name.hasPrefix("h3-"): .http3
        default: nil
        }
    }
}
