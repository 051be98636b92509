#if os(Linux)
import CNessCurl

/// The measurements of the transfer's connection.
extension CurlTransfer {
    /// Measures the connection. Returns `nil` if the transfer has no connection.
    func measure() -> ConnectionMetrics? {
        let connected = time(CurlInfo.connected)
        let isReused = number(CurlInfo.newConnections) == 0
        // A reused connection is known once the request was sent. A new one counts once it was made, even if its handshake failed.
        guard isReused ? history.isSent : connected != nil else { return nil }
        var metrics = ConnectionMetrics(isReused: isReused)
        let lookedUp = time(CurlInfo.lookedUp), secured = time(CurlInfo.secured)
        if !isReused {
            metrics.nameLookup = names.duration > .zero ? names.duration : lookedUp
            metrics.connect = connected.map { max(.zero, $0 - (lookedUp ?? .zero)) }
            metrics.tls = secured.map { max(.zero, $0 - (connected ?? .zero)) }
        }
        // libcurl also counts the end of the connection as a first byte.
        if head.hasBegun { metrics.firstByte = time(CurlInfo.firstByte).map { max(.zero, $0 - (time(CurlInfo.readyToSend) ?? .zero)) } }
        metrics.httpVersion = httpVersion
        metrics.resendCount = max(0, history.sendCount - 1)
        metrics.localAddress = address(CurlInfo.localAddress, CurlInfo.localPort)
        metrics.remoteAddress = address(CurlInfo.remoteAddress, CurlInfo.remotePort)
        return metrics
    }

    /// The number of bytes of the request's body that were sent.
    var sentBodyBytes: Int64 { offset(CurlInfo.sentBodyBytes) ?? 0 }

    /// A time since the start of the transfer; `nil` if it was not reached.
    private func time(_ info: Int32) -> Duration? { offset(info).flatMap { $0 > 0 ? .microseconds($0) : nil } }

    /// The number that libcurl has given the connection. `nil` before libcurl 8.2.
    var connectionNumber: Int64? { offset(CurlInfo.connectionNumber) }

    private func offset(_ info: Int32) -> Int64? {
        var value: Int64 = -1
        return ness_curl_get_offset(easy, info, &value) == 0 && value >= 0 ? value : nil
    }

    /// Returns true if the name that libcurl needed may be the proxy's.
    /// - Parameter code: The CURLcode with which libcurl ended the transfer.
    func usesProxy(_ code: Int32) -> Bool {
        // 5 is CURLE_COULDNT_RESOLVE_PROXY. Later versions return 42, CURLE_ABORTED_BY_CALLBACK, for both names, but report if there is a
        // proxy (8.7).
        code == 5 || (code == 42 && number(CurlInfo.usesProxy) != 0) || CurlLibrary.shared?.tellsProxyLate == true
    }

    private func number(_ info: Int32) -> Int {
        var value = 0
        return ness_curl_get_long(easy, info, &value) == 0 ? value : 0
    }

    private var httpVersion: ConnectionMetrics.HTTPVersion? {
        // CURL_HTTP_VERSION_1_0 and so on
        switch number(CurlInfo.httpVersion) {
        case 1: .http1_0
        case 2: .http1_1
        case 3: .http2
        case 30, 31: .http3
        default: nil
        }
    }

    /// The ends of the connection that libcurl uses now.
    var currentEnds: CurlConnections.Ends? {
        guard let remote = address(CurlInfo.remoteAddress, CurlInfo.remotePort) else { return nil }
        return CurlConnections.Ends(
            localPort: UInt16(truncatingIfNeeded: number(CurlInfo.localPort)), remoteAddress: remote.host,
            remotePort: UInt16(truncatingIfNeeded: remote.port))
    }

    private func address(_ host: Int32, _ port: Int32) -> ConnectionMetrics.Address? {
        // For a unix socket, libcurl gives its path, and the port of the URL.
        if loop.settings.usesUnixSocket { return nil }
        guard let text = ness_curl_get_text(easy, host).map({ String(cString: $0) }), !text.isEmpty else { return nil }
        return ConnectionMetrics.Address(host: text, port: number(port))
    }
}
#endif
