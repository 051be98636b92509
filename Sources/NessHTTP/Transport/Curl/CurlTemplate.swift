#if os(Linux)
import CNessCurl
import Foundation

/// The handle that is copied for transfers with the same demands. It has the options that all exchanges of a transport share, and the
/// demands, which libcurl compares before it uses a connection again.
///
/// A handle that has served a transfer serves another one of the same shape: to make a copy takes an eighth of a GET's instructions.
final class CurlTemplate {
    /// The options that a transfer sets. Transfers of one shape set the same ones, each to its own values.
    struct Shape: Equatable, Sendable {
        let isSecure: Bool
        /// True for a small body; false for a GET without one.
        let hasBody: Bool

        fileprivate var index: Int { (isSecure ? 2 : 0) + (hasBody ? 1 : 0) }
    }

    /// The handles of transfers that have ended well, for the next ones of their shape, by its index.
    @exclusivity(unchecked) private var spare = [[UnsafeMutableRawPointer]](repeating: [], count: 4)
    /// The most spare handles of a shape.
    private static let spareLimit = 64
    let demands: TLSDemands?
    private let library: CurlLibrary
    private let easy: UnsafeMutableRawPointer
    private let authorities: CurlAuthorities?
    /// The TLS sessions of all copies. Without it, each handle would remember its own before 8.12, and no handshake would be a short one.
    /// libcurl compares the same values before it resumes a session as before it uses a connection again.
    private let sessions: UnsafeMutableRawPointer

    /// The size of the receive buffer for a response that is collected in memory, in bytes. libcurl allocates it for each transfer, and
    /// glibc tidies its whole heap whenever a block of 64 KiB is released.
    private static let bufferSize = 16 << 10

    /// Makes a template.
    /// - Parameters:
    ///   - settings: The settings of the transport.
    ///   - demands: The demands of the transfers' requests.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    init(_ settings: CurlSettings, _ demands: TLSDemands?) throws {
        guard let sessions = ness_curl_sessions_make() else { throw Self.noMemory }
        guard let easy = ness_curl_easy_init() else {
            ness_curl_sessions_free(sessions)
            throw Self.noMemory
        }
        (self.easy, self.sessions, library, self.demands) = (easy, sessions, settings.library, demands)
        authorities = demands?.authorities.map { CurlAuthorities($0.pem) }
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
        if !library.keepsConnections {
            for option in [CurlOption.forbidsReuse, CurlOption.freshConnection] { try set(option, 1) }
            // The log tells that a request was sent.
            try set(CurlOption.writesLog, 1)
        }
        do { try settings.apply(to: easy) } catch { throw TransportError(.invalidRequest, "\(error)") }
        if let demands { try set(demands) }
    }

    deinit {
        for easy in spare.joined() {
            // Their last transfers are gone.
            _ = ness_curl_set_user(easy, nil)
            _ = ness_curl_set_pointer(easy, CurlOption.errorBuffer, nil)
            ness_curl_easy_cleanup(easy)
        }
        ness_curl_easy_cleanup(easy)
        ness_curl_sessions_free(sessions)
    }

    /// Returns a handle for a transfer, which `takeBack` receives at its end.
    /// - Parameter shape: The transfer's shape. `nil` for a transfer that sets other options.
    func lend(for shape: Shape?) throws -> UnsafeMutableRawPointer {
        if let shape, let easy = spare[shape.index].popLast() { return easy }
        guard let copy = ness_curl_easy_copy(easy) else { throw Self.noMemory }
        // A copy does not have this one by itself. Authorities that are files would share sessions if their files had the same name.
        guard !library.takesAuthorities || ness_curl_set_pointer(copy, CurlOption.sessions, sessions) == 0 else {
            ness_curl_easy_cleanup(copy)
            throw Self.noMemory
        }
        return copy
    }

    /// Receives the handle of a transfer that has ended.
    /// - Parameter shape: The shape that the handle still has. `nil` for a handle that serves no other transfer.
    func takeBack(_ easy: UnsafeMutableRawPointer, of shape: Shape?) {
        guard library.keepsHandles, let shape, spare[shape.index].count < Self.spareLimit else {
            return ness_curl_easy_cleanup(easy)
        }
        spare[shape.index].append(easy)
    }

    private static var noMemory: TransportError { TransportError(.cannotConnect, "libcurl has no memory for another transfer") }

    private func set(_ demands: TLSDemands) throws {
        if let keys = demands.publicKeys {
            // No certificate has a key with this hash. libcurl takes an empty text for no pins.
            let keys = keys.isEmpty ? [Data(count: 32).base64EncodedString()] : keys
            try set(CurlOption.pinnedPublicKeys, keys.map { "sha256//\($0)" }.joined(separator: ";"))
        }
        if let authorities { try CurlError.check(authorities.apply(to: easy)) }
        if let identity = demands.identity {
            if let key = identity.key { try set(CurlOption.certificateKey, key) } else { try set(CurlOption.certificateType, "P12") }
            try set(CurlOption.certificate, identity.certificates)
            try set(CurlOption.keyPassword, identity.password)
        }
    }

    private func set(_ option: Int32, _ text: String) throws { try CurlError.check(ness_curl_set_text(easy, option, text)) }

    private func set(_ option: Int32, _ bytes: Data) throws {
        try CurlError.check(bytes.withUnsafeBytes { ness_curl_set_blob(easy, option, $0.baseAddress, $0.count) })
    }

    private func set(_ option: Int32, _ value: Int) throws { try CurlError.check(ness_curl_set_long(easy, option, value)) }
}
#endif
