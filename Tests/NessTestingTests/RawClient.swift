import Foundation
import NessLock

@testable import NessTesting

/// A blocking socket, as a client without knowledge of HTTP. Use it on a separate thread, one at a time: see `TestServer.client(_:)`.
final class RawClient: Sendable {
    enum End: Equatable { case closed, reset, limit }
    struct Failure: Error {}

    private let descriptor: Int32
    private let received = Lock<[UInt8]>([])

    init(port: Int) throws {
        guard let descriptor = Tunnel.connection(to: UInt16(port)) else { throw Failure() }
        self.descriptor = descriptor
    }

    deinit { Platform.closeDescriptor(descriptor) }

    /// Sends as much as possible. A closed peer is not an error.
    func send(_ text: String) { send(Data(text.utf8)) }

    func send(_ data: Data) {
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while let base = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
                let count = Foundation.send(descriptor, base, rest.count, Platform.sendFlags & ~Int32(MSG_DONTWAIT))
                if count < 0 { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    func closeWriting() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends both directions at once. The descriptor closes with the object.
    func cut() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Reads to the end of the stream, or to a limit.
    func readToEnd(limit: Int = 64 << 20) -> (text: String, end: End) {
        while received.withLock({ $0.count }) < limit {
            let count = fill()
            if count > 0 { continue }
            let end: End = count < 0 && errno == ECONNRESET ? .reset : .closed
            return (take(), end)
        }
        return (String(decoding: received.withLock { $0 }, as: UTF8.self), .limit)
    }

    /// Reads up to and including a text. If the stream ends before, returns everything read.
    func read(through marker: String) -> String {
        let marker = Data(marker.utf8)
        while true {
            let data = received.withLock { Data($0) }
            if let range = data.range(of: marker) { return take(range.upperBound) }
            guard fill() > 0 else { return String(decoding: data, as: UTF8.self) }
        }
    }

    /// Sends a request and reads its response, which must have a Content-Length or no body.
    func exchange(_ request: String) -> (head: String, body: String) {
        send(request)
        let head = read(through: "\r\n\r\n")
        guard let field = head.range(of: "Content-Length: ") else { return (head, "") }
        let length = Int(head[field.upperBound...].prefix { $0.isNumber }) ?? 0
        while received.withLock({ $0.count }) < length, fill() > 0 {}
        return (head, take(length))
    }

    private func fill() -> Int {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        if count > 0 { received.withLock { [chunk] in $0 += chunk[..<count] } }
        return count
    }

    /// Removes and returns received bytes, up to a number.
    private func take(_ limit: Int = .max) -> String {
        received.withLock { received in
            let taken = received.prefix(limit)
            received.removeFirst(taken.count)
            return String(decoding: taken, as: UTF8.self)
        }
    }
}

extension TestServer {
    /// Runs a closure with a client on a separate thread, so that the thread pool of the server's handlers stays free.
    func client<Value: Sendable>(_ body: @escaping @Sendable (RawClient) throws -> Value) async throws -> Value {
        try await offPool { [port] in try body(RawClient(port: port)) }
    }
}

/// Runs blocking code on a separate thread.
func offPool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}

let get = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
