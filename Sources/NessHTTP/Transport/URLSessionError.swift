import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Reads URLSession's errors.
///
/// On Linux many have the code -1 and say what was the matter only in libcurl's words, which vary little from version to version;
/// they are matched in lower case and always kept in the reason.
enum URLSessionError {
    static func map(_ error: any Error) -> any Error {
        let error = error as NSError
        guard error.domain == NSURLErrorDomain else {
            return TransportError(.connectionLost, error.localizedDescription, underlying: error)
        }
        if error.code == NSURLErrorCancelled { return CancellationError() }
        let reason = reason(error)
        let text = reason.lowercased()
        if let refused = refusedTunnel(text, reason, error) { return refused }
        let kind = kind(error.code) ?? kind(text: text)
        var failure = TransportError(kind, reason, underlying: error)
        if kind == .tls { failure.tlsFailure = tlsFailure(error.code) ?? tlsFailure(text: text) }
        failure.isUnsent = text.contains("ssl_connect")
        return failure
    }

    /// A proxy that does not lead to the server: the server has seen nothing.
    private static func refusedTunnel(_ text: String, _ reason: String, _ error: NSError) -> TransportError? {
        let signs = ["connect tunnel failed", "from proxy after connect", "proxy connect aborted"]
        guard signs.contains(where: text.contains) else { return nil }
        let status: Substring? = text.split(whereSeparator: { !$0.isNumber }).last(where: { $0.count == 3 })
        let answer = status.map { (code: Substring) in "the proxy answered CONNECT with \(code)" } ?? "the proxy did not answer CONNECT"
        var failure = TransportError(.cannotConnect, "\(answer) (\(reason))", underlying: error)
        // It wants credentials, which another attempt would not have either.
        failure.isFinal = status == "407"
        return failure
    }

    private static func reason(_ error: NSError) -> String {
        let described = error.localizedDescription
        let beneath = (error.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription
        guard let beneath, beneath != described else { return described }
        return "\(described) (\(beneath))"
    }

    private static func kind(_ code: Int) -> TransportError.Kind? {
        switch code {
        case NSURLErrorNotConnectedToInternet, NSURLErrorDataNotAllowed, NSURLErrorInternationalRoamingOff: .offline
        case NSURLErrorCannotFindHost, NSURLErrorCannotConnectToHost, NSURLErrorDNSLookupFailed: .cannotConnect
        case NSURLErrorTimedOut: .timedOut
        case NSURLErrorSecureConnectionFailed, NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateUntrusted,
            NSURLErrorServerCertificateHasUnknownRoot, NSURLErrorServerCertificateNotYetValid, NSURLErrorClientCertificateRejected,
            NSURLErrorClientCertificateRequired, NSURLErrorAppTransportSecurityRequiresSecureConnection:
            .tls
        case NSURLErrorNetworkConnectionLost: .connectionLost
        // The connection was closed before a response.
        case NSURLErrorBadServerResponse: .connectionLost
        // What URLSession on Linux says of a status line it can't read: the URL itself was checked before.
        case NSURLErrorUnsupportedURL: .malformedResponse
        case NSURLErrorCannotDecodeRawData, NSURLErrorCannotDecodeContentData, NSURLErrorCannotParseResponse: .malformedResponse
        case NSURLErrorBadURL: .invalidRequest
        default: nil
        }
    }

    private static func tlsFailure(_ code: Int) -> TLSFailure? {
        switch code {
        case NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateNotYetValid: .expired
        case NSURLErrorServerCertificateUntrusted, NSURLErrorServerCertificateHasUnknownRoot: .untrusted
        case NSURLErrorSecureConnectionFailed: .protocolMismatch
        default: nil
        }
    }

    private static let tlsFailuresByText: [(String, TLSFailure)] = [
        ("has expired", .expired), ("not yet valid", .expired),
        ("self signed", .untrusted), ("self-signed", .untrusted), ("issuer certificate", .untrusted), ("unable to verify", .untrusted),
        ("subject name", .wrongHost), ("does not match", .wrongHost),
        ("wrong version number", .protocolMismatch), ("protocol", .protocolMismatch), ("no shared cipher", .protocolMismatch),
        ("handshake failure", .protocolMismatch), ("packet length", .protocolMismatch), ("record", .protocolMismatch),
    ]

    private static func tlsFailure(text: String) -> TLSFailure {
        tlsFailuresByText.first { text.contains($0.0) }?.1 ?? .other
    }

    private static let kindsByText: [(String, TransportError.Kind)] = [
        ("bytes remaining", .truncated), ("outstanding read data", .truncated), ("partial file", .truncated),
        // A connection that ends under TLS, in its handshake or later: no fault of its certificate or its protocol.
        ("ssl_error_syscall", .connectionLost), ("unexpected eof", .connectionLost), ("ssl_error_zero_return", .connectionLost),
        ("connection reset", .connectionLost), ("broken pipe", .connectionLost),
        ("ssl", .tls), ("tls", .tls), ("certificate", .tls),
        ("network is unreachable", .offline), ("no route to host", .cannotConnect),
        ("couldn't connect", .cannotConnect), ("could not connect", .cannotConnect), ("failed to connect", .cannotConnect),
        ("resolve host", .cannotConnect), ("resolve proxy", .cannotConnect), ("connection refused", .cannotConnect),
        ("recv failure", .connectionLost), ("send failure", .connectionLost), ("empty reply", .connectionLost),
        ("http/2 stream", .connectionLost),
        ("timed out", .timedOut),
        // What libcurl says of a header field that is longer than 100 KB.
        ("out of memory", .malformedResponse),
        ("chunk", .malformedResponse), ("hexadecimal", .malformedResponse), ("encoding", .malformedResponse),
        ("header", .malformedResponse), ("weird", .malformedResponse), ("unsupported protocol", .malformedResponse),
        ("http/0.9", .malformedResponse), ("content-length", .malformedResponse), ("invalid", .malformedResponse),
    ]

    private static func kind(text: String) -> TransportError.Kind {
        kindsByText.first { text.contains($0.0) }?.1 ?? .connectionLost
    }
}
