#if os(Linux)
import CNessCurl

/// Reads libcurl's errors (curl.h, CURLcode).
enum CurlError {
    /// The error of a transfer.
    /// - Parameters:
    ///   - code: The CURLcode.
    ///   - text: libcurl's words; empty where it has none.
    ///   - isSent: True if the request was sent on the connection that failed.
    ///   - wasSentBefore: True if the request was sent on an earlier connection.
    static func map(_ code: Int32, _ text: String, isSent: Bool, wasSentBefore: Bool) -> TransportError {
        // Later versions have a separate code for a line beyond the limit.
        if isSent, let failure = code == 100 ? HTTPHeaders.tooLong("header") : LibcurlText.tooLong(text.isEmpty ? self.text(code) : text) {
            return failure
        }
        // An address of a proxy may contain credentials, and libcurl quotes one that it cannot read.
        let quotesProxy = text.asciiLowercased.utf8.contains("proxy".utf8) && text.utf8.contains(UInt8(ascii: "@"))
        let reason = text.isEmpty || quotesProxy ? self.text(code) : text
        // OpenSSL's words for a fault of TLS may be any, except where the connection ended below TLS.
        let kind = code == 28 && !isSent ? .cannotConnect : kind(code) ?? (isTLS(code) && !LibcurlText.isLoss(reason) ? .tls : nil)
        var failure = LibcurlText.error(reason, kind, tlsFailure: tlsFailure(code))
        if failure.repetition?.isRuledOut != true { failure.repetition = isSent || wasSentBefore ? nil : .always }
        // These kinds promise that the server has not acted. A server that rejects a client's certificate says so when the request is
        // already on its way (RFC 8446, 4.4.2.4), but does not read it.
        let isPromise = [.offline, .cannotConnect, .tls].contains(failure.kind)
        if isPromise, wasSentBefore || (isSent && failure.tlsFailure != .clientCertificate) {
            failure.kind = .connectionLost
            failure.tlsFailure = nil
        }
        return failure
    }

    /// Throws an error if libcurl does not know or rejects an option. No option is skipped, because some are there for safety.
    /// - Parameters:
    ///   - code: The CURLcode of the call that set the option.
    ///   - option: The option's number (curl.h). `nil` for several.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    static func check(_ code: Int32, _ option: Int32? = nil) throws {
        guard code != 0 else { return }
        throw TransportError(.invalidRequest, "libcurl rejected \(option.map { "its option \($0)" } ?? "an option"): \(text(code))")
    }

    static func text(_ code: Int32) -> String { ness_curl_error_text(code).map { String(cString: $0) } ?? "error \(code)" }

    /// The kind where the number alone tells it.
    private static func kind(_ code: Int32) -> TransportError.Kind? {
        switch code {
        // A URL that libcurl cannot read.
        case 3: .invalidRequest
        // Neither the proxy's name nor the host's is known.
        case 5, 6: .cannotConnect
        case 18: .truncated
        case 28: .timedOut
        // The local interface cannot be used; the proxy's handshake failed.
        case 45, 97: .cannotConnect
        // An option that this libcurl lacks.
        case 4, 48: .invalidRequest
        // Nothing came; nothing could be sent.
        case 52, 55: .connectionLost
        // No HTTP, no sense in the header, a coding that cannot be read, a line that is too long.
        case 1, 8, 23, 27, 61, 63, 88, 100: .malformedResponse
        default: nil
        }
    }

    /// The reason where the number alone tells it.
    private static func tlsFailure(_ code: Int32) -> TLSFailure? {
        switch code {
        case 58, 98: .clientCertificate
        case 90: .pinMismatch
        default: nil
        }
    }

    private static func isTLS(_ code: Int32) -> Bool { [35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98].contains(code) }
}
#endif
