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
        // Later versions report a line beyond the limit as CURLE_TOO_LARGE (100).
        if isSent, let failure = code == 100 ? HTTPHeaders.tooLong("header") : LibcurlText.tooLong(text.isEmpty ? self.text(code) : text) {
            return failure
        }
        // An address of a proxy may contain credentials, and libcurl quotes one that it cannot read.
        let quotesProxy = text.asciiLowercased.utf8.contains("proxy".utf8) && text.utf8.contains(UInt8(ascii: "@"))
        let reason = text.isEmpty || quotesProxy ? self.text(code) : text
        // For these codes, any message of OpenSSL means a TLS failure, unless it says that the connection below TLS was lost.
        let kind = code == 28 && !isSent ? .cannotConnect : kind(code) ?? (isTLS(code) && !LibcurlText.isLoss(reason) ? .tls : nil)
        var failure = LibcurlText.error(reason, kind, tlsFailure: tlsFailure(code))
        if failure.repetition?.isRuledOut != true { failure.repetition = isSent || wasSentBefore ? nil : .always }
        // These kinds promise that the server has not acted. A rejected client certificate keeps its kind: the server reports it when the
        // request is already on its way (RFC 8446, 4.4.2.4), but does not read the request.
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

    /// The kind, if the number alone determines it.
    private static func kind(_ code: Int32) -> TransportError.Kind? {
        switch code {
        // A URL that libcurl cannot read.
        case 3: .invalidRequest
        // The proxy's name, or the host's name, could not be resolved.
        case 5, 6: .cannotConnect
        case 18: .truncated
        case 28: .timedOut
        // The local interface cannot be used; the proxy's handshake failed.
        case 45, 97: .cannotConnect
        // An option that this libcurl lacks.
        case 4, 48: .invalidRequest
        // The server sent nothing; the request could not be sent.
        case 52, 55: .connectionLost
        // The response is not HTTP, its header is invalid, its coding cannot be read, or a line is too long.
        case 1, 8, 23, 27, 61, 63, 88, 100: .malformedResponse
        default: nil
        }
    }

    /// The reason of a TLS failure, if the number alone determines it.
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
