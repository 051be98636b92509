import Foundation
import NessLock

/// The received but unread bytes of a streamed body. When they reach the limit, the writer waits for the reader, which holds the server
/// back.
package final class StreamBuffer: Sendable {
    private struct State: Sendable {
        /// The pieces that no reader has taken yet.
        var pieces = WaiterQueue<Data>()
        var byteCount = 0
        /// The result of the stream. `nil` while the stream is open.
        var end: Result<Void, any Error>?
        var readers = WaiterQueue<Waiter>()
        /// The writer that waits for room, and the length of its piece. A writer that was canceled may stay here: to resume it has no
        /// effect.
        var writer: (waiter: Waiter, count: Int)?

        /// Removes and returns the first reader, if there are bytes for it or the stream has ended.
        mutating func takeReader() -> Waiter? { !pieces.isEmpty || end != nil ? readers.takeFirst() : nil }

        /// A piece that is longer than the limit has room in an empty buffer.
        func hasRoom(for count: Int, limit: Int) -> Bool { byteCount == 0 || byteCount + count <= limit }

        /// Removes and returns the writer, if there is room for its piece or the stream has ended.
        mutating func takeWriter(limit: Int) -> Waiter? {
            guard let writer, end != nil || hasRoom(for: writer.count, limit: limit) else { return nil }
            self.writer = nil
            return writer.waiter
        }

        mutating func append(_ data: Data) {
            pieces.join(data)
            byteCount += data.count
        }

        /// Takes the next piece.
        mutating func takePiece() -> Data? {
            guard let piece = pieces.takeFirst() else { return nil }
            byteCount -= piece.count
            // A transport may deliver a slice, which does not start at index 0.
            return piece.startIndex == 0 ? piece : Data(piece)
        }
    }

    private let limit: Int
    private let state = Lock(State())

    /// Makes an empty buffer.
    /// - Parameter limit: The most unread bytes. A single piece may be longer.
    package init(limit: Int = 1 << 20) { self.limit = limit }

    /// The number of readers that wait for bytes.
    package var readerCount: Int { state.withLock { $0.readers.count } }

    /// True while the writer waits for room.
    package var isWriterWaiting: Bool { state.withLock { $0.writer?.waiter.hasEnded == false } }

    // MARK: writing

    /// Adds bytes as soon as there is room for them. Called by one task at a time.
    /// - Throws: The error of a stream that has failed or was abandoned; `CancellationError` if the task is canceled.
    package func write(_ data: Data) async throws {
        while true {
            let waiter: Waiter? = try state.withLock { state in
                if case .failure(let error) = state.end { throw error }
                if state.hasRoom(for: data.count, limit: limit) {
                    state.append(data)
                    return nil
                }
                let waiter = Waiter(leave: {})
                state.writer = (waiter, data.count)
                return waiter
            }
            guard let waiter else { return wakeReader() }
            try await waiter.wait()
        }
    }

    /// Ends the stream. Only the first result counts.
    /// - Parameters:
    ///   - result: The result.
    ///   - rest: The last bytes. They are added even without room.
    package func finish(_ result: Result<Void, any Error>, rest: Data = Data()) {
        let writer = state.withLock { state in
            if state.end == nil {
                if !rest.isEmpty { state.append(rest) }
                state.end = result
            }
            return state.takeWriter(limit: limit)
        }
        writer?.resume()
        wakeReader()
    }

    /// Discards the unread bytes. Readers and the writer then throw the error.
    /// - Returns: False if the stream had ended and all its bytes were read.
    @discardableResult
    package func abandon(_ error: any Error) -> Bool {
        // The pieces are released outside the lock.
        let (wasOpen, writer, _) = state.withLock { state in
            let wasOpen = state.end == nil || !state.pieces.isEmpty
            if wasOpen { state.end = .failure(error) }
            let released = (wasOpen, state.takeWriter(limit: limit), state.pieces)
            (state.pieces, state.byteCount) = (WaiterQueue(), 0)
            return released
        }
        writer?.resume()
        wakeReader()
        return wasOpen
    }

    // MARK: reading

    /// Returns the next bytes as soon as there are some. `nil` at the end.
    /// - Throws: The error of the stream; `CancellationError` if the task is canceled.
    package func next() async throws -> Data? {
        // Each reader wakes the next one if there are more bytes. So does a reader that was woken and then canceled, because it leaves its
        // bytes to the readers behind it.
        defer { wakeReader() }
        while true {
            try Task.checkCancellation()
            let (piece, end, reader, writer): (Data?, Result<Void, any Error>?, Waiter?, Waiter?) = state.withLock { state in
                if let piece = state.takePiece() { return (piece, nil, nil, state.takeWriter(limit: limit)) }
                if let end = state.end { return (nil, end, nil, nil) }
                return (nil, nil, state.readers.join { id in Waiter { [self] in abandon(id) } }, nil)
            }
            writer?.resume()
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
            // A reader that was canceled at this moment takes no bytes.
            if reader.resume() { return }
        }
    }
}
