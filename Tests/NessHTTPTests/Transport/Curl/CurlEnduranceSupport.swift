#if os(Linux)
import Foundation
import Glibc
import NessHTTP
import NessLock
import NessTesting

/// A server on one thread that answers when a number of connections have sent their requests, and not before. `TestServer` has a thread for
/// each connection.
final class LateServer: Sendable {
    struct Failed: Error { let operation: String }

    /// The URL, with a slash at the end.
    let url: String
    private let result = Lock(0)
    private let hasEnded = TestGate()

    /// The number of connections that this process can have both ends of, at most `count`. Raises the limit of open files if necessary.
    static func affordableCount(_ count: Int) -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return 100 }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        // Other tests run meanwhile, and have files open.
        return max(100, min(count, (Int(clamping: limit.rlim_cur) - 600) / 2))
    }

    init(_ count: Int) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed: String? = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                if bind(listener, generic, length) != 0 { return "bind" }
                if listen(listener, 4_096) != 0 { return "listen" }
                return getsockname(listener, generic, &length) == 0 ? nil : "getsockname"
            }
        }
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"
        if let failed {
            close(listener)
            throw Failed(operation: failed)
        }
        Thread.detachNewThread { [self] in
            let served = Self.serve(count, listener)
            result.withLock { $0 = served }
            hasEnded.open()
        }
    }

    /// The number of connections that were open when the server started to answer.
    func mostOpen() async -> Int {
        await hasEnded.wait()
        return result.withLock { $0 }
    }

    private static func serve(_ count: Int, _ listener: Int32) -> Int {
        var connections: [Int32] = []
        while connections.count < count {
            let connection = accept(listener, nil, nil)
            // A process without descriptors gets no further. The requests then fail, and the test says so.
            guard connection >= 0 else { break }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            connections.append(connection)
        }
        close(listener)
        let answer = Array("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".utf8)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        for connection in connections {
            // A request this short comes as one segment.
            _ = recv(connection, &buffer, buffer.count, 0)
            _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            shutdown(connection, Int32(SHUT_WR))
        }
        for connection in connections { close(connection) }
        return connections.count
    }
}

/// A copy of this process that does nothing until it is ended.
final class ForkedChild: Sendable {
    struct Failed: Error {}

    private let process: pid_t
    private let writer: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        // Swift does not offer `fork`, because only few functions work in the copy of a process with threads.
        guard let symbol = dlsym(nil, "fork"), pipe(&ends) == 0 else { throw Failed() }
        let fork = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
        let (reader, writer) = (ends[0], ends[1])
        var byte: UInt8 = 0
        let process = fork()
        if process == 0 {
            close(writer)
            _ = read(reader, &byte, 1)
            _exit(0)
        }
        close(reader)
        (self.process, self.writer) = (process, writer)
        guard process > 0 else { throw Failed() }
    }

    /// Ends the child, and returns its status.
    func end() -> Int32 {
        close(writer)
        var status: Int32 = -1
        return waitpid(process, &status, 0) == process ? status : -1
    }
}

/// The descriptors of this process.
enum Descriptors {
    /// All sockets of this process.
    static var sockets: [Int32] {
        (0..<Int32(4_096)).filter { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        }
    }

    /// Returns the sockets that are connected to a port of 127.0.0.1.
    static func connected(toPort port: Int) -> [Int32] {
        (0..<Int32(4_096)).filter { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
            }
            return isConnected && Int32(address.sin_family) == AF_INET && Int(UInt16(bigEndian: address.sin_port)) == port
        }
    }
}
#endif
