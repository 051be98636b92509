import Foundation

/// What has come of a streamed body and was not read yet: up to 1 MiB in memory, beyond that in a file without a name.
///
/// URLSession on Linux can't slow a server down, so a reader who is slower than the line leaves something behind; on a disk it does no
/// harm. How much is limited, too.
package final class StreamBuffer: Sendable {
    private struct State: Sendable {
        var pieces: [Data] = []
        /// How many of the pieces have been read.
        var readPieces = 0
        var bytesInMemory = 0
        var spill: OpenFile?
        /// Where the spilled bytes that were not read begin and end.
        var spilled: Range<Int64> = 0..<0
        /// How it ended, once it has.
        var end: Result<Void, any Error>?
        var nextID = 0
        var waiting: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let memoryLimit: Int
    private let spillLimit: Int64
    private let state = Lock(State())

    /// - Parameters:
    ///   - memoryLimit: How many bytes stay in memory.
    ///   - spillLimit: How many bytes may wait on the disk.
    package init(memoryLimit: Int = 1 << 20, spillLimit: Int64 = 1 << 30) {
        self.memoryLimit = memoryLimit
        self.spillLimit = spillLimit
    }

    /// How many bytes wait on the disk.
    package var spilledBytes: Int64 { state.withLock { Int64($0.spilled.count) } }

    // MARK: writing

    /// Adds bytes.
    /// - Throws: `FileFailure`; `TransportError` where the reader is too far behind.
    package func write(_ data: Data) throws {
        let waiting = try state.withLock { state in
            if state.spilled.isEmpty, state.bytesInMemory + data.count <= memoryLimit || state.bytesInMemory == 0 {
                state.pieces.append(data)
                state.bytesInMemory += data.count
            } else {
                try spill(data, &state)
            }
            return Self.takeWaiting(&state)
        }
        for waiter in waiting { waiter.resume() }
    }

    private func spill(_ data: Data, _ state: inout State) throws {
        guard Int64(state.spilled.count) + Int64(data.count) <= spillLimit else {
            throw FileFailure("the reader of the stream is more than \(spillLimit >> 20) MiB behind")
        }
        let file = try state.spill ?? OpenFile.temporary()
        state.spill = file
        try file.write(data, at: state.spilled.upperBound)
        state.spilled = state.spilled.lowerBound..<(state.spilled.upperBound + Int64(data.count))
    }

    /// Nothing more comes.
    package func finish(_ result: Result<Void, any Error>) {
        let waiting = state.withLock { state in
            if state.end == nil { state.end = result }
            return Self.takeWaiting(&state)
        }
        for waiter in waiting { waiter.resume() }
    }

    private static func takeWaiting(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        defer { state.waiting = [] }
        return state.waiting.map(\.continuation)
    }

    // MARK: reading

    /// The next bytes, as soon as there are some; nil at the end.
    /// - Throws: What ended the stream before its end; `CancellationError` when the task is cancelled.
    package func next() async throws -> Data? {
        while true {
            try Task.checkCancellation()
            let (piece, end): (Data?, Result<Void, any Error>?) = try state.withLock { state in
                let piece = try Self.take(&state)
                return (piece, piece == nil ? state.end : nil)
            }
            if let piece { return piece }
            if let end {
                try end.get()
                return nil
            }
            await change()
        }
    }

    private static func take(_ state: inout State) throws -> Data? {
        if state.readPieces < state.pieces.count {
            let piece = state.pieces[state.readPieces]
            state.pieces[state.readPieces] = Data()
            state.readPieces += 1
            state.bytesInMemory -= piece.count
            if state.readPieces == state.pieces.count {
                state.pieces = []
                state.readPieces = 0
            }
            return piece
        }
        guard !state.spilled.isEmpty, let file = state.spill else { return nil }
        let piece = try file.read(min(64 << 10, state.spilled.count), at: state.spilled.lowerBound)
        state.spilled = (state.spilled.lowerBound + Int64(piece.count))..<state.spilled.upperBound
        if state.spilled.isEmpty {
            // The disk gets its room back.
            try file.truncate(to: 0)
            state.spilled = 0..<0
        }
        return piece
    }

    /// Waits until there may be something new.
    private func change() async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    let isReady = !state.pieces.isEmpty || !state.spilled.isEmpty || state.end != nil
                    if isReady || Task.isCancelled { return true }
                    state.waiting.append((id, continuation))
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                let index = state.waiting.firstIndex { $0.id == id }
                return index.map { state.waiting.remove(at: $0).continuation }
            }
            continuation?.resume()
        }
    }
}
