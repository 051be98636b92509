import Foundation
import NessTesting
import TestSupport

@testable import NessHTTP

/// A sequence of pieces that a closure makes by their number, from 0. It counts the requests for pieces.
struct Pieces: AsyncSequence, Sendable {
    typealias Element = Data

    /// Counts the requests for pieces.
    let asked = Tally()
    /// Opens when the task that reads the sequence is canceled while it waits for a piece.
    let cancelled = TestGate()
    private let make: @Sendable (Int) async throws -> Data?

    init(_ make: @escaping @Sendable (Int) async throws -> Data?) { self.make = make }

    /// Makes a sequence of given pieces.
    init(_ pieces: [Data]) { self.init { $0 < pieces.count ? pieces[$0] : nil } }

    /// Makes a sequence of given pieces, after which the sequence waits at a gate and then ends.
    init(_ pieces: [Data], then gate: TestGate) {
        self.init { number in
            if number < pieces.count { return pieces[number] }
            await gate.wait()
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: self) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let pieces: Pieces

        mutating func next() async throws -> Data? {
            let number = pieces.asked.enter(), pieces = pieces
            return try await withTaskCancellationHandler {
                try await pieces.make(number)
            } onCancel: {
                pieces.cancelled.open()
            }
        }
    }
}

/// A sequence that gives some pieces, and then waits until a test lets it go, even if it is canceled.
struct StuckPieces {
    let waits = TestGate(), never = DeafGate()
    let pieces: Pieces

    init(after count: Int, of size: Int = 1_000) {
        pieces = Pieces { [waits, never] number in
            if number < count { return Data(count: size) }
            waits.open()
            await never.wait()
            return nil
        }
    }
}

/// A gate that a task waits at without noticing that it is canceled.
final class DeafGate: Sendable {
    private let gate = TestGate()

    func open() { gate.open() }

    func wait() async {
        let gate = gate
        await Task.detached { await gate.wait() }.value
    }
}

extension Data {
    /// The bytes in pieces of a size.
    func pieces(of size: Int) -> [Data] {
        stride(from: 0, to: count, by: size).map { Data(self[(startIndex + $0)..<Swift.min(endIndex, startIndex + $0 + size)]) }
    }
}

extension HTTPBody {
    /// Suspends until the connection waits for a piece of the body.
    func untilAwaited() async { await untilTrue { isAwaited } }
}
