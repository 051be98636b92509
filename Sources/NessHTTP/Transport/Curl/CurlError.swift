#if canImport(CNessCurl)
import CNessCurl

/// Reads libcurl's errors (curl.h, CURLcode).
enum CurlError {
    static let abortedByCallback: Int32 = 42

    /// The error of a transfer.
    /// - Parameters:
    ///   - code: The CURLcode.
    ///   - text: libcurl's words; empty where it has none.
    static func map(_ code: Int32, _ text: String) -> TransportError {
        let reason = text.isEmpty ? self.text(code) : text
        return LibcurlText.error(reason, kind(code), otherwise: isTLS(code) ? .tls : .connectionLost)
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
        // Nothing came; nothing could be sent.
        case 52, 55: .connectionLost
        // No HTTP, no sense in the header, a coding that cannot be read, a line that is too long.
        case 1, 8, 23, 27, 43, 61, 63, 88, 100: .malformedResponse
        default: nil
        }
    }

    private static func isTLS(_ code: Int32) -> Bool { [35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98].contains(code) }
}
#endif
