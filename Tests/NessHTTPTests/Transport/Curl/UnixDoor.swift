#if os(Linux)
import Foundation
import NessHTTP
import NessLock
import NessTesting

/// A unix socket whose connections lead to a port of 127.0.0.1. Ends with the last reference to it.
final class UnixDoor: Sendable {
    let path: String
    private let listener: Int32

    init(_ path: String, to port: Int) throws {
        self.path = path
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        guard result == 0, listen(listener, 16) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 { Self.forward(client, to: port) }
        }
    }

    deinit {
        // Wakes the thread that accepts.
        _ = shutdown(listener, Int32(SHUT_RDWR))
        _ = close(listener)
    }

    private static func forward(_ client: Int32, to port: Int) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        let ended = Lock(0)
        for (from, to) in [(client, server), (server, client)] {
            Thread.detachNewThread {
                var bytes = [UInt8](repeating: 0, count: 16 << 10)
                while case let count = recv(from, &bytes, bytes.count, 0), count > 0 {
                    if send(to, bytes, count, Int32(MSG_NOSIGNAL)) != count { break }
                }
                _ = shutdown(to, Int32(SHUT_WR))
                let isLast = ended.withLock { ended in
                    ended += 1
                    return ended == 2
                }
                if isLast {
                    _ = close(client)
                    _ = close(server)
                }
            }
        }
    }
}
#endif
