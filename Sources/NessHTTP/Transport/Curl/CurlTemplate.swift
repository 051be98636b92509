#if os(Linux)
import CNessCurl
import Foundation

/// A prototype handle, which is copied for transfers with the same TLS demands. It has the options that all exchanges of a transport share,
/// and those of the demands. libcurl compares the demands before it reuses a connection.
///
/// A used handle serves another transfer of the same shape, because a copy takes an eighth of a GET's instructions.
final class CurlTemplate {
    /// The options that a transfer sets. Transfers of one shape set the same ones, each to its own values.
    struct Shape: Equatable, Sendable {
        let isSecure: Bool
        /// True for a small body; false for a GET without one.
        let hasBody: Bool

        fileprivate var index: Int { (isSecure ? 2 : 0) + (hasBody ? 1 : 0) }
    }

    /// The part of a transfer's options that a handle gets once, when it is made.
    enum Kind: Equatable {
        /// A response that is collected in memory.
        case collected
        /// The same, possibly over HTTP/2.
        case multiplexed
        /// A response that is handed on in pieces, with the number of bytes that the mailbox takes.
        case streamed(capacity: Int)
    }

    /// The handles of successful transfers, by the index of their shape. They serve the next transfers of that shape.
    @exclusivity(unchecked) private var spare = [[CurlHandle]](repeating: [], count: 4)
    /// The most spare handles of a shape.
    private static let spareLimit = 64
    let demands: TLSDemands?
    private let library: CurlLibrary
    private let handle: CurlHandle
    private let authorities: CurlAuthorities?
    private let sessions: CurlSessions

    /// Makes a template.
    /// - Parameters:
    ///   - settings: The settings of the transport.
    ///   - demands: The demands of the transfers' requests.
    /// - Throws: `TransportError`.
    init(_ settings: CurlSettings, _ demands: TLSDemands?) throws {
        guard let sessions = CurlSessions(), let handle = CurlHandle.make() else { throw Self.noMemory }
        (self.handle, self.sessions, library, self.demands) = (handle, sessions, settings.library, demands)
        authorities = demands?.authorities.map { CurlAuthorities($0.pem) }
        try CurlCallbacks.set(for: handle)
        try handle.setOnce(.noSignals, 1)
        // The value allows http and https.
        try handle.setOnce(.protocols, 3)
        try handle.setOnce(.pathAsIs, 1)
        // libcurl does not send the URL's credentials by itself.
        try handle.setOnce(.authentication, 0)
        try handle.setOnce(.hidesConnectHeads, 1)
        if !library.keepsConnections {
            try handle.setOnce(.forbidsReuse, 1)
            try handle.set(.freshConnection, 1)
            // Only the log reports that a request was sent.
            try handle.setOnce(.writesLog, 1)
        }
        do { try settings.apply(to: handle) } catch { throw TransportError(.invalidRequest, "\(error)") }
        if let demands { try set(demands) }
    }

    /// Returns a handle that has served a transfer of the same shape. `nil` if no such handle is spare.
    /// - Parameter shape: The shape of the transfer. `nil` for a transfer that sets other options.
    func takeSpare(for shape: Shape?) -> CurlHandle? { shape.flatMap { spare[$0.index].popLast() } }

    /// Makes a handle for a transfer.
    /// - Throws: `TransportError`.
    func make(_ kind: Kind) throws -> CurlHandle {
        guard let copy = handle.copy() else { throw Self.noMemory }
        // A copy does not inherit this option. Authorities passed as files do not use it: two files of the same name would share sessions.
        if library.takesAuthorities { try copy.join(sessions) }
        // CURL_HTTP_VERSION_1_1 and CURL_HTTP_VERSION_2TLS
        try copy.setOnce(.httpVersion, kind == .multiplexed ? 4 : 2)
        switch kind {
        case .collected:
            // libcurl allocates the buffer for each transfer, and glibc tidies its whole heap whenever a block of 64 KiB is released.
            try copy.setOnce(.bufferSize, 16 << 10)
        case .multiplexed:
            // A frame that does not fit stops the other streams of the connection for a while.
            try copy.setOnce(.bufferSize, 64 << 10)
            // Only the log tells in time that a connection speaks HTTP/2, and which requests the server has not processed.
            try copy.setOnce(.writesLog, 1)
        case .streamed(let capacity):
            // A larger buffer could fill the mailbox before its end, and libcurl would copy the rest.
            try copy.setOnce(.bufferSize, capacity)
        }
        return copy
    }

    /// Keeps the handle of a successful transfer for another transfer of its shape.
    func takeBack(_ handle: CurlHandle, of shape: Shape?) {
        guard library.keepsHandles, !handle.isAltered, let shape, spare[shape.index].count < Self.spareLimit else { return }
        spare[shape.index].append(handle)
    }

    private static var noMemory: TransportError { TransportError(.cannotConnect, "libcurl has no memory for another transfer") }

    private func set(_ demands: TLSDemands) throws {
        if let keys = demands.publicKeys {
            // With an empty list, no key is allowed: libcurl then expects an empty hash. It would take an empty string for no pins.
            try handle.setOnce(.pinnedPublicKeys, "sha256//" + keys.joined(separator: ";sha256//"))
        }
        if let authorities { try authorities.apply(to: handle) }
        if let identity = demands.identity {
            if let key = identity.key { try handle.setOnce(.certificateKey, key) } else { try handle.setOnce(.certificateType, "P12") }
            try handle.setOnce(.certificate, identity.certificates)
            try handle.setOnce(.keyPassword, identity.password)
        }
    }
}
#endif
