import Foundation

/// Stores unread bytes in a file without a name, in order, for a transport that cannot stop the server from sending.
struct SpillFile: Sendable {
    private let limit: Int64
    private var file: OpenFile?
    /// The range of unread bytes in the file.
    private var unread: Range<Int64> = 0..<0

    /// Makes an empty spill. It has no file before the first byte.
    /// - Parameter limit: The most unread bytes.
    init(limit: Int64) { self.limit = limit }

    /// The number of unread bytes.
    var count: Int { unread.count }

    /// Adds bytes at the end.
    /// - Throws: `ReceiverFellBehind` at the limit; `FileError`.
    mutating func append(_ data: Data) throws {
        guard Int64(unread.count + data.count) <= limit else { throw ReceiverFellBehind(limit: limit) }
        let file = try file ?? OpenFile.temporary()
        self.file = file
        try file.write(data, at: unread.upperBound)
        unread = unread.lowerBound..<(unread.upperBound + Int64(data.count))
    }

    /// Takes the first bytes.
    /// - Parameter limit: The most bytes to take.
    /// - Returns: The bytes. Empty if there are none.
    /// - Throws: `FileError`.
    mutating func take(upTo limit: Int) throws -> Data {
        guard let file, !unread.isEmpty else { return Data() }
        let piece = try file.read(min(limit, unread.count), at: unread.lowerBound)
        unread = (unread.lowerBound + Int64(piece.count))..<unread.upperBound
        if unread.isEmpty {
            // Gives the disk space back.
            try file.truncate(to: 0)
            unread = 0..<0
        }
        return piece
    }
}
