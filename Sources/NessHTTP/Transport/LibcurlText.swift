/// Interprets libcurl's error messages. They vary little from version to version.
enum LibcurlText {
    /// Makes the error of an exchange.
    /// - Parameters:
    ///   - reason: libcurl's text.
    ///   - kind: The kind, if an error number determined it. `nil` to derive it from the text, or else from the assumption that the
    ///     connection was lost.
    ///   - tlsFailure: The reason of a TLS failure, if an error number determined it.
    ///   - underlying: The underlying error.
    static func error(
        _ reason: String, _ kind: TransportError.Kind?, tlsFailure: TLSFailure?, underlying: (any Error)? = nil
    ) -> TransportError {
        let text = reason.lowercased()
        if let refused = refusedTunnel(text, reason, underlying) { return refused }
        // URLSession on Linux passes only this message on. `CurlError` checks for a long line itself.
        let isURLSession = underlying != nil
        if isURLSession, var failure = tooLong(text) {
            failure.underlying = underlying
            return failure
        }
        let kind = kind ?? self.kind(text: text) ?? .connectionLost
        var failure = TransportError(kind, reason, underlying: underlying)
        if kind == .tls { failure.tlsFailure = tlsFailure ?? self.tlsFailure(text: text) }
        // The handshake failed, so no request was sent.
        if text.contains("ssl_connect") { failure.repetition = .always }
        return failure
    }

    /// Makes the error of a header or trailer line beyond libcurl's limit, which is close to ours. libcurl reports the line as a lack of
    /// memory. `nil` for any other text.
    static func tooLong(_ reason: String) -> TransportError? {
        let text = reason.lowercased()
        return text.contains("out of memory") ? HTTPHeaders.tooLong(text.contains("chunked") ? "trailer" : "header") : nil
    }

    /// Makes the error for a proxy that rejects a tunnel. The server has not seen the request.
    private static func refusedTunnel(_ text: String, _ reason: String, _ underlying: (any Error)?) -> TransportError? {
        let signs = ["connect tunnel failed", "from proxy after connect", "proxy connect aborted"]
        guard signs.contains(where: text.contains) else { return nil }
        let status: Substring? = text.split(whereSeparator: { !$0.isNumber }).last(where: { $0.count == 3 })
        let answer =
            status.map { (code: Substring) in
                "the proxy responded to CONNECT with \(code)\(code == "407" ? ", because it requires credentials" : "")"
            } ?? "the proxy did not respond to CONNECT"
        var failure = TransportError(.cannotConnect, "\(answer) (\(reason))", underlying: underlying)
        // The proxy requires credentials, or its rules forbid the tunnel. A retry would fail in the same way, unless the proxy only asks
        // for time (408, 429).
        if let status = status.flatMap({ Int($0) }), (400..<500).contains(status), status != 408, status != 429 {
            failure.repetition = .never("the proxy rejects the tunnel")
        }
        return failure
    }

    /// The kinds of TLS failures by the words for them. The first match wins, so the order matters.
    private static let tlsFailuresByText: [(String, TLSFailure)] = [
        ("pinned public key", .pinMismatch),
        // Alerts are the server's words about the client's certificate (RFC 8446, 6.2).
        ("alert certificate", .clientCertificate), ("alert bad certificate", .clientCertificate),
        ("alert unsupported certificate", .clientCertificate), ("alert unknown ca", .clientCertificate),
        ("client certificate", .clientCertificate), ("private key", .clientCertificate),
        ("has expired", .expired), ("not yet valid", .expired),
        ("self signed", .untrusted), ("self-signed", .untrusted), ("issuer certificate", .untrusted), ("unable to verify", .untrusted),
        // OpenSSL's words for a signature that does not fit the authority's key.
        ("evp lib", .untrusted), ("bad signature", .untrusted), ("signature failure", .untrusted),
        ("subject name", .wrongHost), ("does not match", .wrongHost),
        ("wrong version number", .protocolMismatch), ("protocol", .protocolMismatch), ("no shared cipher", .protocolMismatch),
        ("handshake failure", .protocolMismatch), ("packet length", .protocolMismatch), ("record", .protocolMismatch),
    ]

    private static func tlsFailure(text: String) -> TLSFailure {
        tlsFailuresByText.first { text.contains($0.0) }?.1 ?? .other
    }

    /// The kinds of errors by the words for them. The first match wins, so the order matters.
    private static let kindsByText: [(String, TransportError.Kind)] = [
        ("bytes remaining", .truncated), ("outstanding read data", .truncated), ("partial file", .truncated),
        // The connection ended below TLS, during the handshake or later. Neither the certificate nor the protocol is at fault.
        ("ssl_error_syscall", .connectionLost), ("unexpected eof", .connectionLost), ("ssl_error_zero_return", .connectionLost),
        // OpenSSL noted no error (libcurl 8.12).
        ("error:00000000:", .connectionLost),
        ("connection reset", .connectionLost), ("broken pipe", .connectionLost),
        ("ssl", .tls), ("tls", .tls), ("certificate", .tls), ("private key", .tls),
        ("network is unreachable", .offline), ("no route to host", .cannotConnect),
        ("couldn't connect", .cannotConnect), ("could not connect", .cannotConnect), ("failed to connect", .cannotConnect),
        ("resolve host", .cannotConnect), ("resolve proxy", .cannotConnect), ("connection refused", .cannotConnect),
        ("recv failure", .connectionLost), ("send failure", .connectionLost), ("empty reply", .connectionLost),
        ("http/2 stream", .connectionLost),
        ("timed out", .timedOut),
        ("chunk", .malformedResponse), ("hexadecimal", .malformedResponse), ("encoding", .malformedResponse),
        ("header", .malformedResponse), ("weird", .malformedResponse), ("unsupported protocol", .malformedResponse),
        ("http/0.9", .malformedResponse), ("content-length", .malformedResponse), ("invalid", .malformedResponse),
        // A header that begins with a folded line (libcurl 7.88).
        ("bad argument", .malformedResponse),
    ]

    /// Returns true if a message says that an established connection was lost.
    static func isLoss(_ reason: String) -> Bool { kind(text: reason.lowercased()) == .connectionLost }

    private static func kind(text: String) -> TransportError.Kind? { kindsByText.first { text.contains($0.0) }?.1 }
}
