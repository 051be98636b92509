#if os(Linux)
import Foundation

/// Finds the socket of a connection that libcurl is about to use, and checks whether the server has sent bytes on it without a request.
///
/// libcurl would take such bytes for the response to the next request. Only the engine's thread uses this type.
final class CurlConnections {
    /// The two ends of a connection. Connections to different servers may have the same local port.
    struct Ends: Hashable {
        let localPort: UInt16
        let remoteAddress: String
        let remotePort: UInt16
    }

    // Exempt from Swift's exclusivity check: each GET uses the next two properties, and only the engine's thread does.

    /// The opened sockets whose local port is not yet known.
    @exclusivity(unchecked) private var opened: [Int32] = []
    /// The sockets by their local ports.
    @exclusivity(unchecked) private var descriptors: [UInt16: [Int32]] = [:]
    /// POLLRDHUP, which the headers hide from Swift: the server has closed its end.
    private static let remoteEnd: Int32 = 0x2000
    /// The sockets on which exchanges of HTTP/1 over TLS have ended.
    private var idleOverTLS: Set<Int32> = []

    /// Registers an opened socket.
    func add(_ descriptor: Int32) {
        if !opened.contains(descriptor) { opened.append(descriptor) }
        idleOverTLS.remove(descriptor)
    }

    /// Registers that an exchange of HTTP/1 over TLS has ended. Bytes that arrive before the next request now mean that the connection is
    /// stale.
    ///
    /// This is not true of a new connection over TLS, on which session tickets arrive, or of HTTP/2, which carries other exchanges.
    func noteEndOverTLS(_ descriptor: Int32) { idleOverTLS.insert(descriptor) }

    /// Returns true if a connection over TLS must not carry another request. The counterpart of `isStale(_:)`.
    ///
    /// A server that has closed its end sends no more responses, even if bytes such as a GOAWAY are still unread.
    func isStaleOverTLS(_ descriptor: Int32) -> Bool {
        let ended = Int16(Self.remoteEnd | POLLHUP | POLLERR)
        var state = pollfd(fd: descriptor, events: Int16(POLLIN | Self.remoteEnd), revents: 0)
        guard poll(&state, 1, 0) > 0 else { return false }
        return state.revents & ended != 0 || idleOverTLS.contains(descriptor)
    }

    /// Returns true if the server has sent bytes on an idle connection, or has closed it. No request may be sent on such a connection.
    ///
    /// The start of a TLS record does not count: a proxy that speaks TLS sends session tickets unrequested.
    func isStale(_ descriptor: Int32) -> Bool {
        let (count, byte) = Self.peek(descriptor)
        return count == 0 || (count > 0 && !(0x14...0x17).contains(byte))
    }

    /// Returns true if the server has closed a connection, and all its bytes have been read.
    func isClosed(_ descriptor: Int32) -> Bool { Self.peek(descriptor).count == 0 }

    /// Shuts a connection down. libcurl finds it closed within a second, and removes it.
    func shutDown(_ ends: Ends) {
        // libcurl may have closed the connection, and its number may belong to another file of the process.
        guard let descriptor = descriptor(of: ends), Self.localPort(of: descriptor) == ends.localPort,
            Self.isConnected(descriptor, to: ends)
        else { return }
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Looks for an unread byte.
    /// - Returns: The number of bytes, and the byte. 0 if the server has closed or reset the connection, -1 if the connection is silent.
    private static func peek(_ descriptor: Int32) -> (count: Int, byte: UInt8) {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        let isReset = count < 0 && errno != EAGAIN && errno != EINTR
        return (isReset ? 0 : count, byte)
    }

    /// Finds the socket of a connection. `nil` if the connection does not use TCP.
    func descriptor(of connection: Ends) -> Int32? {
        opened.removeAll { descriptor in
            guard let port = Self.localPort(of: descriptor) else { return false }
            // A closed socket is forgotten when another one uses its port.
            let others = descriptors[port]?.filter { $0 != descriptor && Self.localPort(of: $0) == port } ?? []
            descriptors[port] = others + [descriptor]
            return true
        }
        guard let known = descriptors[connection.localPort] else { return nil }
        // Nearly always there is only one socket. No address has to be compared then.
        if known.count == 1 { return known.first }
        return known.first { Self.isConnected($0, to: connection) }
    }

    private static func localPort(of descriptor: Int32) -> UInt16? {
        withAddress({ getsockname(descriptor, $0, &$1) }) { _, port in port == 0 ? nil : port }
    }

    private static func isConnected(_ descriptor: Int32, to connection: Ends) -> Bool {
        withAddress({ getpeername(descriptor, $0, &$1) }) { address, port in
            guard port == connection.remotePort, let remote = IPAddress(connection.remoteAddress) else { return false }
            // An IPv4 address follows the port. An IPv6 address follows the port and the flow label.
            let isIPv4 = address.load(as: sa_family_t.self) == sa_family_t(AF_INET)
            let bytes = UnsafeRawBufferPointer(rebasing: address[isIPv4 ? 4..<8 : 8..<24])
            return IPAddress(bytes.bindMemory(to: UInt8.self)) == remote
        } ?? false
    }

    /// Reads a socket's address and passes it to a closure, with its port. Returns `nil` if it is neither IPv4 nor IPv6.
    private static func withAddress<Value>(
        _ read: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32, _ body: (UnsafeRawBufferPointer, UInt16) -> Value?
    ) -> Value? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress, read(base.assumingMemoryBound(to: sockaddr.self), &length) == 0 else { return nil }
            let family = bytes.load(as: sa_family_t.self)
            guard family == sa_family_t(AF_INET) || family == sa_family_t(AF_INET6) else { return nil }
            // The port has the same offset for both.
            return body(UnsafeRawBufferPointer(bytes), UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self)))
        }
    }
}
#endif
