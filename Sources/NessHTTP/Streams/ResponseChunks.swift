import Foundation
import NessLock

/// The chunks of a streamed body: see `StreamPromise.chunks`.
struct ResponseChunks: AsyncSequence, Sendable {
    private let open: @Sendable () async throws -> StreamReading

    init(_ open: @escaping @Sendable () async throws -> StreamReading) { self.open = open }

    /// Starts reading.
    func makeAsyncIterator() -> Iterator { Iterator(open) }

    /// Reads the pieces.
    struct Iterator: AsyncIteratorProtocol {
        private let source: Source

        fileprivate init(_ open: @escaping @Sendable () async throws -> StreamReading) { source = Source(open) }

        /// Returns the next piece. `nil` at the end.
        func next() async throws -> Data? { try await source.next() }

        /// Ends the request, because the reader cannot use the body.
        /// - Returns: The error that the iteration throws.
        func failure(_ kind: NessError.Kind, _ reason: String) -> any Error { source.failure(kind, reason) }
    }

    /// One reader, and that it may have gone away.
    private final class Source: Sendable {
        private let open: @Sendable () async throws -> StreamReading
        private let reading = Lock<StreamReading?>(nil)

        init(_ open: @escaping @Sendable () async throws -> StreamReading) { self.open = open }

        deinit { reading.withLock { $0 }?.leave() }

        func failure(_ kind: NessError.Kind, _ reason: String) -> any Error {
            guard let known = reading.withLock({ $0 }) else { return NessError(kind, NessError.Context(request: nil, reason: reason)) }
            return known.fail(known.call.error(kind, reason))
        }

        func next() async throws -> Data? {
            if let known = reading.withLock({ $0 }) { return try await known.next() }
            let opened = try await open()
            reading.withLock { $0 = opened }
            return try await opened.next()
        }
    }
}
