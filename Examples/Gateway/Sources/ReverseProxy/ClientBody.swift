import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The body of a client's request, as a sequence that can be read once.
///
/// A separate task reads the body from the connection and waits for the reader of the sequence, so a slow upstream holds the client back.
/// That task reads to the end, or the connection is closed: Hummingbird then reads the next request, and two readers of one connection
/// would end the process.
final class ClientBody: AsyncSequence, Sendable {
    /// The number of bytes; `nil` for a body in chunks.
    let length: Int64?
    private struct State {
        /// The pieces, until a reader takes them. Once nobody holds them, the task discards the rest of the body.
        var pieces: RequestBody?
        var isWanted = false
    }

    private let state: Mutex<State>
    /// Reads the body. Its value is false if the client was too slow, and the task stopped in the middle of the body.
    private let task: Task<Bool, Never>
    private let onRead: @Sendable () -> Void

    /// Starts to read a body.
    /// - Parameters:
    ///   - request: The client's request.
    ///   - pace: The limit for the time that the client takes; `nil` for none.
    ///   - onRead: Runs when the upstream wants the body.
    /// - Returns: `nil` for a request without a body.
    /// - Throws: `Refusal` for a body with another transfer coding than `chunked`.
    init?(_ request: Request, pace: BodyPace?, onRead: @escaping @Sendable () -> Void) throws {
        let codings = request.headers[values: .transferEncoding]
        if codings.contains(where: { $0.lowercased() != "chunked" }) || codings.count > 1 { throw Refusal(501) }
        length = codings.isEmpty ? request.headers[.contentLength].flatMap { Int64($0) } ?? 0 : nil
        if length == 0 { return nil }
        let (pieces, source) = RequestBody.makeStream()
        self.onRead = onRead
        state = Mutex(State(pieces: pieces))
        task = Task {
            var iterator = request.body.makeAsyncIterator()
            do {
                while true {
                    pace?.beginWait()
                    let piece = try await iterator.next()
                    guard let piece else { break }
                    // A client that sends nothing at all reaches the idle timeout.
                    guard pace?.endWait(piece.readableBytes) ?? true else { throw SlowBody() }
                    await source.yield(piece)
                }
                source.finish()
            } catch {
                source.finish(error)
                return !(error is SlowBody)
            }
            return true
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
    /// - Throws: `ClosesConnection` if the client is too slow.
    func finish() async throws {
        state.withLock { $0.pieces = nil }
        if await !task.value { throw ClosesConnection() }
    }
}
