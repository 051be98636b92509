#if canImport(CNessCurl)
import CNessCurl

/// Reads libcurl's errors (curl.h, CURLcode).
enum CurlError {
    static let abortedByCallback: Int32 = 42

    /// The error of a transfer.
    /// - Parameters:
    ///   - code: The CURLcode.
    ///   - text: libcurl's words; empty where it has none.
    ///   - proxyStatus: The status with which a proxy answered CONNECT; 0 where none did.
    static func map(_ code: Int32, _ text: String, proxyStatus: Int) -> TransportError {
        let reason = text.isEmpty ? self.text(code) : text
        if proxyStatus >= 300 { return TransportError(.cannotConnect, "the proxy answered CONNECT with \(proxyStatus): \(reason)") }
        return TransportError(kind(code, reason), reason)
    }

    static func text(_ code: Int32) -> String { ness_curl_error_text(code).map { String(cString: $0) } ?? "error \(code)" }

    private static func kind(_ code: Int32, _ text: String) -> TransportError.Kind {
        switch code {
        // Unsupported protocol or malformed URL.
        case 3: .invalidRequest
        case 5, 6: .cannotConnect
        case 7: text.contains("Network is unreachable") || text.contains("Network unreachable") ? .offline : .cannotConnect
        case 16, 92, 95: .connectionLost
        case 18: .truncated
        case 28: .timedOut
        case 35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98: text.contains("Connection reset") || text.contains("SSL_ERROR_SYSCALL") ? .connectionLost : .tls
        case 52, 55: .connectionLost
        // What libcurl could not receive: a broken connection, or what it could not read.
        case 56: kindOfReceiveError(text)
        case 1, 8, 23, 27, 43, 61, 63, 88, 100: .malformedResponse
        default: .connectionLost
        }
    }

    private static func kindOfReceiveError(_ text: String) -> TransportError.Kind {
        let text = text.lowercased()
        let malformed = ["chunk", "hexadecimal", "illegal", "invalid", "malformed", "header", "too large", "long"]
        return malformed.contains(where: text.contains) ? .malformedResponse : .connectionLost
    }
}
#endif
