#if os(Linux)
import Foundation
import TestSupport

/// A server on a unix socket, which answers each request of one connection with its field `Host`. Ends with the last reference to it.
final class UnixDoor: Sendable {
    private let listener: Int32

    init(_ path: String) throws {
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
            let client = accept(listener, nil, nil)
            var bytes = [UInt8](repeating: 0, count: 4_096)
            // A request this short comes as one segment.
            while case let count = recv(client, &bytes, bytes.count, 0), count > 0 {
                let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\r\n")
                let host = lines.first { $0.hasPrefix("Host: ") }?.dropFirst(6) ?? ""
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(host.utf8.count)\r\n\r\n\(host)"
                _ = send(client, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
            }
            _ = close(client)
        }
    }

    deinit {
        // Wakes the thread that accepts.
        _ = shutdown(listener, Int32(SHUT_RDWR))
        _ = close(listener)
    }
}
#endif
