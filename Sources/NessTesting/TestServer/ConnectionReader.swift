import Foundation

/// Reads a connection through a buffer. Only the connection's own thread uses it.
final class ConnectionReader {
    /// The largest request head, in bytes.
    static let headLimit = 1 << 20
    /// The number of unread bytes from which on the connection no longer reads ahead.
    static let backlogLimit = 1 << 20

    private let socket: ConnectionSocket
    private let onBytes: (Int) -> Void
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private var buffer: [UInt8] = []
    private var position = 0
    /// True once the peer has sent its last byte.
    private(set) var isAtEnd = false

    init(socket: ConnectionSocket, onBytes: @escaping (Int) -> Void) {
        self.socket = socket
        self.onBytes = onBytes
    }

    deinit { scratch.deallocate() }

    /// The number of bytes that were read from the socket and are still unused.
    var backlog: Int { buffer.count - position }

    /// Returns the unused bytes, and empties the buffer.
    func takeBacklog() -> [UInt8] {
        defer { position = buffer.count }
        return Array(buffer[position...])
    }

    /// Reads once more from the socket.
    /// - Returns: True if bytes arrived; false at the end of the stream.
    /// - Throws: `ConnectionEnd.gone` if the connection was reset.
    func fill() throws -> Bool {
        let count = try socket.receive(into: scratch)
        guard count > 0 else {
            isAtEnd = true
            return false
        }
        onBytes(count)
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            position = 0
        } else if position > 256 << 10 {
            buffer.removeSubrange(..<position)
            position = 0
        }
        buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        return true
    }

    /// Reads and drops all bytes until the peer closes or the connection is lost.
    func discardUntilClosed() {
        buffer.removeAll()
        position = 0
        while let count = try? socket.receive(into: scratch), count > 0 { onBytes(count) }
    }

    /// Drops the bytes that have already arrived.
    func discardPending() { socket.discardPending(using: scratch) }

    /// Reads a line.
    /// - Parameter limit: The largest length in bytes, including the line's end.
    /// - Returns: The line without its CRLF.
    /// - Throws: `ConnectionEnd`: `gone` at the end of the stream, `refused` for a line that is too long or does not end in CRLF.
    func line(limit: Int, tooLong status: Int = 400) throws -> [UInt8] {
        var scanned = 0
        while true {
            if let end = indexOfLineFeed(from: position + scanned) {
                guard end - position < limit else { throw ConnectionEnd.refused(status: status, text: "line too long") }
                guard end > position, buffer[end - 1] == 13 else { throw ConnectionEnd.refused(status: 400, text: "line without CRLF") }
                defer { position = end + 1 }
                return Array(buffer[position..<(end - 1)])
            }
            scanned = backlog
            guard scanned < limit else { throw ConnectionEnd.refused(status: status, text: "line too long") }
            guard try fill() else { throw ConnectionEnd.gone }
        }
    }

    /// Reads up to the blank line after header fields or trailers.
    /// - Parameter skipsBlankLines: True if blank lines may come first, as before a request (RFC 9112, 2.2).
    /// - Returns: The lines without their ends and without the blank one.
    /// - Throws: `ConnectionEnd`, like `line(limit:)`; with status 431 if the lines exceed the limit.
    func lines(skipsBlankLines: Bool) throws -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var size = 0
        while true {
            let line = try line(limit: Self.headLimit - size, tooLong: 431)
            size += line.count + 2
            if !line.isEmpty { lines.append(line) } else if !lines.isEmpty || !skipsBlankLines { return lines }
        }
    }

    /// Reads and drops all bytes up to and including the next CRLFCRLF.
    /// - Throws: `ConnectionEnd.gone` at the end of the stream.
    func skipHead() throws {
        var matched = 0
        while true {
            while position < buffer.count {
                let byte = buffer[position]
                position += 1
                let expected: UInt8 = matched % 2 == 0 ? 13 : 10
                matched = byte == expected ? matched + 1 : (byte == 13 ? 1 : 0)
                if matched == 4 { return }
            }
            guard try fill() else { throw ConnectionEnd.gone }
        }
    }

    /// Reads a number of bytes.
    /// - Parameters:
    ///   - count: The number of bytes.
    ///   - sink: Takes the bytes, piece by piece.
    /// - Throws: `ConnectionEnd.gone` if the stream ends before, or the sink's error.
    func bytes(_ count: Int, into sink: (UnsafeRawBufferPointer) throws -> Void) throws {
        var missing = count
        while missing > 0 {
            if backlog == 0 {
                guard try fill() else { throw ConnectionEnd.gone }
            }
            let taken = min(missing, backlog)
            try buffer.withUnsafeBytes { try sink(UnsafeRawBufferPointer(rebasing: $0[position..<(position + taken)])) }
            position += taken
            missing -= taken
        }
    }

    private func indexOfLineFeed(from start: Int) -> Int? {
        guard start < buffer.count else { return nil }
        return buffer.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = memchr(base + start, 10, bytes.count - start) else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
