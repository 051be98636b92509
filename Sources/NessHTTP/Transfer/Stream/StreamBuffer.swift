import Foundation

/// The received but unread bytes of a streamed body: up to 1 MiB in memory, the rest in a file without a name.
///
/// URLSession on Linux has no back pressure. If the reader is slower than the network, the unread bytes go to the disk, up to a limit.
package final class StreamBuffer: Sendable {
    private struct State: Sendable {
        var pieces: [Data] = []
        /// The number of pieces that were read.
        var readPieces = 0
        var bytesInMemory = 0
        var spill: OpenFile?
        /// The range of unread bytes in the spill file.
        var spilled: Range<Int64> = 0..<0
        /// The result of the stream. `nil` while the stream is open.
        var end: Result<Void, any Error>?
        var readers = WaiterQueue<Waiter>()

        var hasBytes: Bool { readPieces < pieces.count || !spilled.isEmpty }

        /// Takes the first reader out of the queue if there are bytes or an end for it.
        mutating func takeReader() -> Waiter? { hasBytes || end != nil ? readers.takeFirst() : nil }
    }

    /// The longest piece that a reader gets, in bytes, even if the transport delivers a longer one.
    private static let pieceLimit = 1 << 20

    private let memoryLimit: Int
    private let spillLimit: Int64
    private let state = Lock(State())

    /// Makes an empty buffer.
    /// - memoryLimit: The number of bytes that stay in memory.
    /// - spillLimit: The most unread bytes on the disk.
    package init(memoryLimit: Int = 1 << 20, spillLimit: Int64 = 1 << 30) {
        self.memoryLimit = memoryLimit
        self.spillLimit = spillLimit
    }

    /// The number of unread bytes on the disk.
    package var spilledBytes: Int64 { state.withLock { Int64($0.spilled.count) } }

    /// The number of readers that wait for bytes.
    package var readerCount: Int { state.withLock { $0.readers.count } }

    // MARK: writing

    /// Adds bytes.
    /// - Throws: `FileError`, also if the unread bytes exceed the disk limit; the error of a stream that has failed or was abandoned.
    package func write(_ data: Data) throws {
        try state.withLock { state in
            if case .failure(let error) = state.end { throw error }
            if state.spilled.isEmpty, state.bytesInMemory + data.count <= memoryLimit || state.bytesInMemory == 0 {
                state.pieces.append(data)
                state.bytesInMemory += data.count
            } else {
                try spill(data, &state)
            }
        }
        wakeReader()
    }

    private func spill(_ data: Data, _ state: inout State) throws {
        guard Int64(state.spilled.count) + Int64(data.count) <= spillLimit else {
            throw FileError("the reader of the stream is more than \(spillLimit >> 20) MiB behind")
        }
        let file = try state.spill ?? OpenFile.temporary()
        state.spill = file
        try file.write(data, at: state.spilled.upperBound)
        state.spilled = state.spilled.lowerBound..<(state.spilled.upperBound + Int64(data.count))
    }

    /// Ends the stream. Only the first result counts.
    package func finish(_ result: Result<Void, any Error>) {
        state.withLock { state in
            if state.end == nil { state.end = result }
        }
        wakeReader()
    }

    /// Discards the unread bytes. Readers then throw the error.
    /// - Returns: False if the stream had ended and all its bytes were read.
    @discardableResult
    package func abandon(_ error: any Error) -> Bool {
        // The pieces and the file are released outside the lock.
        let (wasOpen, _, _) = state.withLock { state in
            let wasOpen = state.end == nil || state.hasBytes
            let released = (wasOpen, state.pieces, state.spill)
            if wasOpen { state.end = .failure(error) }
            (state.pieces, state.readPieces, state.bytesInMemory) = ([], 0, 0)
            (state.spill, state.spilled) = (nil, 0..<0)
            return released
        }
        wakeReader()
        return wasOpen
    }

    // MARK: reading

    /// Returns the next bytes as soon as there are some. `nil` at the end.
    /// - Throws: The error of the stream; `FileError`; `CancellationError` if the task is cancelled.
    package func next() async throws -> Data? {
        // Each reader wakes the next one if there are more bytes. So does a reader that was woken and then cancelled, because it leaves its
        // bytes to the readers behind it.
        defer { wakeReader() }
        while true {
            try Task.checkCancellation()
            let (piece, end, reader): (Data?, Result<Void, any Error>?, Waiter?) = try state.withLock { state in
                if let piece = try Self.take(&state) { return (piece, nil, nil) }
                if let end = state.end { return (nil, end, nil) }
                return (nil, nil, state.readers.join { id in Waiter { [self] in abandon(id) } })
            }
            if let piece { return piece }
            if let end {
                try end.get()
                return nil
            }
            try await reader?.wait()
        }
    }

    private func abandon(_ id: WaiterQueue<Waiter>.ID) { state.withLock { _ = $0.readers.leave(id) } }

    /// Wakes the reader that has waited longest, if there are bytes or an end for it.
    private func wakeReader() {
        while let reader = state.withLock({ $0.takeReader() }) {
            // A reader that was cancelled at this moment takes no bytes.
            if reader.resume() { return }
        }
    }

    private static func take(_ state: inout State) throws -> Data? {
        if state.readPieces < state.pieces.count {
            let piece = state.pieces[state.readPieces]
            if piece.count > pieceLimit {
                state.pieces[state.readPieces] = piece.dropFirst(pieceLimit)
                state.bytesInMemory -= pieceLimit
                return Data(piece.prefix(pieceLimit))
            }
            state.pieces[state.readPieces] = Data()
            state.readPieces += 1
            state.bytesInMemory -= piece.count
            if state.readPieces == state.pieces.count {
                state.pieces = []
                state.readPieces = 0
            }
            // The rest of a split piece does not begin at index 0.
            return piece.startIndex == 0 ? piece : Data(piece)
        }
        guard !state.spilled.isEmpty, let file = state.spill else { return nil }
        let piece = try file.read(min(64 << 10, state.spilled.count), at: state.spilled.lowerBound)
        state.spilled = (state.spilled.lowerBound + Int64(piece.count))..<state.spilled.upperBound
        if state.spilled.isEmpty {
            // Give the disk space back.
            try file.truncate(to: 0)
            state.spilled = 0..<0
        }
        return piece
    }
}
