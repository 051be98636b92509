#if canImport(CNessCurl)
import Foundation

/// Finds the socket of a connection that libcurl is about to use, and checks whether the server has sent bytes on it without a request.
///
/// libcurl would take such bytes for the response to the next request. Only the engine's thread uses this type.
final class CurlConnections {
    /// The opened sockets whose local port is not yet known.
    private var opened: [Int32] = []
    private var descriptors: [UInt16: Int32] = [:]
    /// The sockets, by local port, on which exchanges of HTTP/1 over TLS have ended.
    private var secured: [UInt16: Int32] = [:]

    /// Registers an opened socket.
    func add(_ descriptor: Int32) { opened.append(descriptor) }

    /// Registers the end of an exchange of HTTP/1 over TLS. Its connection is silent until the next request.
    ///
    /// A new connection over TLS is not: session tickets arrive. Neither is one of HTTP/2, which carries other exchanges.
    func secure(_ localPort: UInt16) { secured[localPort] = descriptor(for: localPort) }

    /// Returns true like `isStale(_:)`, for a connection over TLS.
    func isSecureStale(_ localPort: UInt16) -> Bool {
        guard let known = secured[localPort], known == descriptor(for: localPort) else {
            secured[localPort] = nil
            return false
        }
        return (peek(localPort)?.count ?? -1) >= 0
    }

    /// Returns true if the server has sent bytes on an idle connection, or has closed it. No request may be sent on such a connection.
    ///
    /// A record of TLS does not count: it comes from a proxy that speaks TLS, which sends session tickets unrequested.
    /// - Parameter localPort: The connection's local port.
    func isStale(_ localPort: UInt16) -> Bool {
        guard let (count, byte) = peek(localPort), count >= 0 else { return false }
        return count == 0 || !(0x14...0x17).contains(byte)
    }

    /// Returns true if the server has closed a connection, and all its bytes have been read.
    /// - Parameter localPort: The connection's local port.
    func isClosed(_ localPort: UInt16) -> Bool { peek(localPort)?.count == 0 }

    /// Looks for an unread byte.
    /// - Returns: The number of bytes, and the byte. 0 if the server has closed the connection, -1 if the connection is silent. `nil` if the
    ///   connection is not known.
    private func peek(_ localPort: UInt16) -> (count: Int, byte: UInt8)? {
        guard let descriptor = descriptor(for: localPort) else { return nil }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return (count, byte)
    }

    private func descriptor(for localPort: UInt16) -> Int32? {
        for descriptor in opened {
            if let port = Self.localPort(of: descriptor) { descriptors[port] = descriptor }
        }
        opened.removeAll(keepingCapacity: true)
        // The socket may have been closed since then, and its descriptor reused.
        guard let known = descriptors[localPort], Self.localPort(of: known) == localPort else {
            descriptors[localPort] = nil
            return nil
        }
        return known
    }

    private static func localPort(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress,
                getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            // The port has the same offset for IPv4 and IPv6.
            let family = bytes.load(as: sa_family_t.self)
            guard family == sa_family_t(AF_INET) || family == sa_family_t(AF_INET6) else { return nil }
            let port = UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
            return port == 0 ? nil : port
        }
    }
}
#endif
