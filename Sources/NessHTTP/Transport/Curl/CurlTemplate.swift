#if os(Linux)
import CNessCurl

/// The handle of which every transfer's handle is a copy. It has the options that all exchanges of a transport share.
///
/// A handle is not used for a second transfer. Before 8.1 a handle kept a pointer to the last header line of the transfer before: a server
/// whose header began with a folded line made libcurl follow that pointer, and crashed the process (curl issue 11101).
final class CurlTemplate {
    private let easy: UnsafeMutableRawPointer
    /// The TLS sessions of all copies. Without it, each handle would remember its own before 8.12, and no handshake would be a short one.
    /// libcurl compares the same values before it resumes a session as before it uses a connection again.
    private let sessions: UnsafeMutableRawPointer
    /// False if the authorities are files: sessions of different authorities could have files of the same name.
    private let sharesSessions: Bool

    /// The size of the receive buffer for a response that is collected in memory, in bytes. libcurl allocates it for each transfer, and
    /// glibc tidies its whole heap whenever a block of 64 KiB is released.
    private static let bufferSize = 16 << 10

    /// Makes a template.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    init(_ settings: CurlSettings) throws {
        guard let sessions = ness_curl_sessions_make() else { throw Self.noMemory }
        guard let easy = ness_curl_easy_init() else {
            ness_curl_sessions_free(sessions)
            throw Self.noMemory
        }
        (self.easy, self.sessions, sharesSessions) = (easy, sessions, settings.library.takesAuthorities)
        try CurlError.check(CurlCallbacks.set(for: easy))
        try set(CurlOption.noSignals, 1)
        // The value allows http and https.
        try set(CurlOption.protocols, 3)
        try set(CurlOption.pathAsIs, 1)
        // libcurl does not send the URL's credentials by itself.
        try set(CurlOption.authentication, 0)
        try set(CurlOption.hidesConnectHeads, 1)
        try set(CurlOption.bufferSize, Self.bufferSize)
        // HTTP/1.1
        try set(CurlOption.httpVersion, 2)
        if settings.maximumIdleConnections == 0 { try set(CurlOption.forbidsReuse, 1) }
        if !settings.library.keepsConnections {
            for option in [CurlOption.forbidsReuse, CurlOption.freshConnection] { try set(option, 1) }
            // The log tells that a request was sent.
            try set(CurlOption.writesLog, 1)
        }
        do { try settings.apply(to: easy) } catch { throw TransportError(.invalidRequest, "\(error)") }
    }

    deinit {
        ness_curl_easy_cleanup(easy)
        ness_curl_sessions_free(sessions)
    }

    /// Makes the handle of a transfer. The caller releases it.
    func copy() throws -> UnsafeMutableRawPointer {
        guard let copy = ness_curl_easy_copy(easy) else { throw Self.noMemory }
        // A copy does not have this one by itself.
        guard !sharesSessions || ness_curl_set_pointer(copy, CurlOption.sessions, sessions) == 0 else {
            ness_curl_easy_cleanup(copy)
            throw Self.noMemory
        }
        return copy
    }

    private static var noMemory: TransportError { TransportError(.cannotConnect, "libcurl has no memory for another transfer") }

    private func set(_ option: Int32, _ value: Int) throws { try CurlError.check(ness_curl_set_long(easy, option, value)) }
}
#endif
