import Foundation
import NessLock
import NessPromise

/// A sequence of pieces that is read while it is sent, as a part of a body.
package final class BodyStream: Sendable {
    /// Passes each piece to `take`, which returns when the next piece is wanted, or throws when none is.
    typealias Pieces = @Sendable (_ take: @escaping @Sendable (Data) async throws -> Void) async throws -> Void

    /// The number of bytes that the sequence has to give. `nil` if it is unknown.
    package let length: Int64?
    let pieces: Pieces
    /// True if `pieces` can be called several times.
    private let isRepeatable: Bool
    private struct State: Sendable {
        /// True once a sequence that can be read only once has been claimed.
        var isClaimed = false
        /// The reader of the current attempt.
        weak var producer: BodyProducer?
    }

    private let state = Lock(State())

    /// Makes a stream.
    /// - Parameters:
    ///   - length: The number of bytes; `nil` if it is unknown.
    ///   - isRepeatable: True if `pieces` can be called several times.
    ///   - pieces: Reads the sequence.
    init(length: Int64?, isRepeatable: Bool, pieces: @escaping Pieces) {
        self.length = length
        self.pieces = pieces
        self.isRepeatable = isRepeatable
    }

    /// True if the sequence was read, and cannot be read again.
    var isSpent: Bool { state.withLock { $0.isClaimed } }

    /// True while a connection waits for the next piece.
    var isAwaited: Bool { state.withLock { $0.producer }?.isAwaited ?? false }

    /// Claims the sequence for one reader.
    /// - Throws: `TransportError` if another reader has claimed a sequence that can be read only once.
    func claim(for producer: BodyProducer) throws {
        let isTaken = state.withLock { state in
            defer { (state.isClaimed, state.producer) = (!isRepeatable, producer) }
            return state.isClaimed
        }
        if isTaken { throw Self.spentError }
    }

    /// The error of a second attempt to send a sequence that can be read only once.
    static var spentError: TransportError {
        TransportError(.invalidRequest, "the body is a sequence that can be sent only once, and an earlier attempt started to send it")
    }

    /// Checks before the body is sent that it can be sent.
    /// - Returns: The stream. `nil` if the sequence is announced to be empty, and is.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    func checked() async throws -> BodyStream? {
        if isSpent { throw Self.spentError }
        guard let length else { return self }
        if length < 0 { throw TransportError(.invalidRequest, "the length of the body is negative") }
        if length > 0 { return self }
        // A transport does not read a body of length 0, so a sequence that produces bytes nevertheless would go unnoticed.
        let producer = BodyProducer(self)
        defer { producer.cancel() }
        while try producer.take(upTo: 1) == nil { try await producer.untilReady() }
        return nil
    }
}
