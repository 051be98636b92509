import Foundation
import NessHTTP
import NessLock

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A blocking socket, as a client without knowledge of HTTP. Use it inside `offPool`, from one thread at a time.
final class RawClient: Sendable {
    enum End: Equatable { case closed, reset, limit }
    struct Failure: Error { let operation: String, code: Int32 }

    private let descriptor: Int32
    private let received = Lock<[UInt8]>([])

    /// Raises the limit of open files as far as allowed. A hundred connections with both ends in this process need more than the 256 of
    /// many shells.
    private static let hasRaisedLimit: Bool = {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return false }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 10_000))
        return setrlimit(resource, &limit) == 0
    }()

    init(port: Int) throws {
        _ = Self.hasRaisedLimit
        #if canImport(Glibc)
        let stream = Int32(SOCK_STREAM.rawValue)
        #else
        let stream = Int32(SOCK_STREAM)
        #endif
        descriptor = socket(AF_INET, stream, 0)
        guard descriptor >= 0 else { throw Failure(operation: "socket", code: errno) }
        #if canImport(Darwin)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, 4)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else {
            let code = errno
            _ = Foundation.close(descriptor)
            throw Failure(operation: "connect", code: code)
        }
    }

    deinit { _ = Foundation.close(descriptor) }

    /// Sends as much as possible. A closed peer is not an error.
    func send(_ text: String) { send(Data(text.utf8)) }

    func send(_ data: Data) {
        #if canImport(Darwin)
        let flags: Int32 = 0
        #else
        let flags = Int32(MSG_NOSIGNAL)
        #endif
        data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count, let base = bytes.baseAddress {
                let count = Foundation.send(descriptor, base + sent, bytes.count - sent, flags)
                if count < 0 { return }
                sent += count
            }
        }
    }

    func closeWriting() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends both directions at once. The descriptor closes with the object.
    func cut() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Reads to the end of the stream, or to a limit.
    func readToEnd(limit: Int = 64 << 20) -> (text: String, end: End) {
        var end = End.closed
        while received.withLock({ $0.count }) < limit {
            switch fill() {
            case 0:
                return (String(decoding: take(), as: UTF8.self), end)
            case ..<0:
                end = errno == ECONNRESET ? .reset : .closed
                return (String(decoding: take(), as: UTF8.self), end)
            default: break
            }
        }
        end = .limit
        return (String(decoding: received.withLock { $0 }, as: UTF8.self), end)
    }

    /// Reads up to and including a text. If the stream ends before, returns everything read.
    func read(through marker: String) -> String {
        let marker = Data(marker.utf8)
        while true {
            let data = received.withLock { Data($0) }
            if let range = data.range(of: marker) { return String(decoding: take(range.upperBound), as: UTF8.self) }
            guard fill() > 0 else { return String(decoding: data, as: UTF8.self) }
        }
    }

    /// Sends a request and reads its response, which must have a Content-Length or no body.
    func exchange(_ request: String, isHead: Bool = false) -> (head: String, body: String) {
        send(request)
        let head = read(through: "\r\n\r\n")
        guard !isHead, let field = head.range(of: "Content-Length: ") else { return (head, "") }
        let length = Int(head[field.upperBound...].prefix { $0.isNumber }) ?? 0
        while received.withLock({ $0.count }) < length, fill() > 0 {}
        return (head, String(decoding: take(length), as: UTF8.self))
    }

    private func fill() -> Int {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        if count > 0 { received.withLock { [chunk] in $0 += chunk[..<count] } }
        return count
    }

    /// Removes and returns received bytes, up to a number.
    private func take(_ limit: Int = .max) -> [UInt8] {
        received.withLock { received in
            let taken = Array(received.prefix(limit))
            received.removeFirst(taken.count)
            return taken
        }
    }
}

/// Runs blocking code on a thread of its own, so that the thread pool of the server's handlers stays free.
func offPool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}

let get = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
