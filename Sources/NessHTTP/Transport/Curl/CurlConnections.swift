#if canImport(CNessCurl)
import Foundation

/// Finds the socket of a connection that libcurl is about to use, and looks whether the server has said something on it unasked.
///
/// libcurl would take what lies in the socket for the answer to the next request. Used by the engine's thread alone.
final class CurlConnections {
    /// Sockets that were opened, whose local port is not known yet.
    private var opened: [Int32] = []
    private var descriptors: [UInt16: Int32] = [:]

    /// Notes a socket that was opened.
    func add(_ descriptor: Int32) { opened.append(descriptor) }

    /// True if the server has sent bytes on an idle connection, or has closed it: no request may be sent on it.
    /// - Parameter localPort: The connection's local port.
    func isStale(_ localPort: UInt16) -> Bool {
        guard let descriptor = descriptor(for: localPort) else { return false }
        var byte: UInt8 = 0
        // 0: closed by the server. -1 with EAGAIN: silence, as it should be.
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
    }

    private func descriptor(for localPort: UInt16) -> Int32? {
        for descriptor in opened {
            if let port = Self.localPort(of: descriptor) { descriptors[port] = descriptor }
        }
        opened.removeAll(keepingCapacity: true)
        // The socket may have been closed since, and its number be another's.
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
            // Where the port lies is the same for IPv4 and IPv6.
            let family = bytes.load(as: sa_family_t.self)
            guard family == sa_family_t(AF_INET) || family == sa_family_t(AF_INET6) else { return nil }
            let port = UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
            return port == 0 ? nil : port
        }
    }
}
#endif
