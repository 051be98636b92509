import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The body of a client's request, as a sequence that can be read once.
///
/// A separate task reads the body from the connection and waits for the reader of the sequence, so a slow upstream holds the client back.
/// That task always reads to the end: Hummingbird then reads the next request, and two readers of one connection would end the process.
final class ClientBody: AsyncSequence, Sendable {
    /// The number of bytes; `nil` for a body in chunks.
    let length: Int64?
    private struct State {
        /// The pieces, until a reader takes them. Once nobody holds them, the task discards the rest of the body.
        var pieces: RequestBody?
        var isWanted = false
    }

    private let state: Mutex<State>
    private let task: Task<Void, Never>
    private let onRead: @Sendable () -> Void

    /// Starts to read a body.
    /// - Parameters:
    ///   - request: The client's request.
    ///   - onRead: Runs when the upstream wants the body.
    /// - Returns: `nil` for a request without a body.
    /// - Throws: `Refusal` for a body with another transfer coding than `chunked`.
    init?(_ request: Request, onRead: @escaping @Sendable () -> Void) throws {
        let codings = request.headers[values: .transferEncoding]
        if codings.contains(where: { $0.lowercased() != "chunked" }) || codings.count > 1 { throw Refusal(501) }
        length = codings.isEmpty ? request.headers[.contentLength].flatMap { Int64($0) } ?? 0 : nil
        if length == 0 { return nil }
        let (pieces, source) = RequestBody.makeStream()
        self.onRead = onRead
        state = Mutex(State(pieces: pieces))
        task = Task {
            do {
                for try await piece in request.body { await source.yield(piece) }
                source.finish()
            } catch {
                source.finish(error)
            }
        }
    }

    /// True once the upstream has wanted the body.
    var isWanted: Bool { state.withLock { $0.isWanted } }

    func makeAsyncIterator() -> AsyncMapSequence<RequestBody, Data>.Iterator {
        let pieces = state.withLock { state in
            state.isWanted = true
            return state.pieces.take()
        }
        onRead()
        return (pieces ?? RequestBody(buffer: ByteBuffer())).map { Data($0.readableBytesView) }.makeAsyncIterator()
    }

    /// Discards what the upstream has not read, and returns when the client has sent its whole body, or has left.
    func end() async {
        state.withLock { $0.pieces = nil }
        await task.value
    }
}
