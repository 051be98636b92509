import Foundation

/// Reads the lines of a streamed body: see `StreamPromise.lines`.
struct ResponseLines {
    private let chunks: ResponseChunks
    private var splitter = LineSplitter()

    init(_ chunks: ResponseChunks) { self.chunks = chunks }

    /// Returns the next line. `nil` at the end.
    mutating func next() async throws -> String? {
        while true {
            do {
                if let line = try splitter.next() { return line }
            } catch let error as StreamPartTooLong {
                throw failure(error)
            }
            if splitter.isFinished { return nil }
            if let data = try await chunks.next() { splitter.add(data) } else { splitter.finish() }
        }
    }

    /// Ends the request, because the server sends a line or an event that is too long.
    /// - Returns: The error that the iteration throws.
    func failure(_ error: StreamPartTooLong) -> any Error { chunks.failure(.responseTooLarge, error.description) }
}

/// Splits bytes that arrive in pieces into lines. A line ends with CR, LF or CRLF, even if a piece ends within a CRLF. Bytes after the last
/// line end form another line. A byte order mark at the start is left out.
package struct LineSplitter: Sendable {
    /// The longest line, in bytes. A server that sends no line end must not fill the memory.
    package static let maximumLength = 16 << 20

    /// The received bytes. The current line starts at `start`; the search for its end continues at `position`.
    private var pending: [UInt8] = []
    private var start = 0
    private var position = 0
    /// True if a LF at the start of the next bytes belongs to the previous CR.
    private var skipsLineFeed = false
    private var isAtStart = true
    private(set) var isFinished = false

    package init() {}

    /// Adds received bytes.
    package mutating func add(_ data: Data) {
        if start > 0 {
            pending.removeFirst(start)
            position -= start
            start = 0
        }
        pending.append(contentsOf: data)
    }

    /// Marks the end of the input.
    package mutating func finish() { isFinished = true }

    /// Removes and returns the next complete line. `nil` if there is none.
    /// - Throws: `StreamPartTooLong`.
    package mutating func next() throws -> String? {
        if skipsLineFeed, start < pending.count {
            skipsLineFeed = false
            if pending[start] == 10 { start += 1 }
            position = start
        }
        while position < pending.count, pending[position] != 10, pending[position] != 13 { position += 1 }
        guard position - start <= Self.maximumLength else { throw StreamPartTooLong("a line", limit: Self.maximumLength) }
        guard position < pending.count else {
            guard isFinished, start < pending.count else { return nil }
            defer { start = pending.count }
            return text(upTo: pending.count)
        }
        let line = text(upTo: position)
        skipsLineFeed = pending[position] == 13
        start = position + 1
        position = start
        return line
    }

    private mutating func text(upTo end: Int) -> String {
        defer { isAtStart = false }
        return isAtStart ? TextEncoding.utf8.decode(Data(pending[start..<end])) : String(decoding: pending[start..<end], as: UTF8.self)
    }
}

/// The error of a line or an event that is longer than a reader accepts.
package struct StreamPartTooLong: Error, CustomStringConvertible {
    package let description: String

    /// Makes an error.
    /// - Parameters:
    ///   - part: The part that is too long, as the subject of the message.
    ///   - limit: The limit, in bytes.
    init(_ part: String, limit: Int) { description = "\(part) of the response is longer than \(limit >> 20) MiB" }
}
