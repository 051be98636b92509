import Foundation
import NessLock

/// Reads the chunks of a streamed body: see `StreamPromise.chunks`. When the last reference is released, the reader leaves the stream.
final class ResponseChunks: Sendable {
    private let open: @Sendable () async throws -> StreamReading
    private let reading = Lock<StreamReading?>(nil)

    /// Makes a reader.
    /// - Parameter open: Waits for the head at the first read.
    init(_ open: @escaping @Sendable () async throws -> StreamReading) { self.open = open }

    deinit { reading.withLock { $0 }?.leave() }

    /// Returns the next chunk. `nil` at the end.
    func next() async throws -> Data? {
        if let known = reading.withLock({ $0 }) { return try await known.next() }
        let opened = try await open()
        reading.withLock { $0 = opened }
        return try await opened.next()
    }

    /// Ends the request, because the reader cannot use the body.
    /// - Returns: The error that the iteration throws.
    func failure(_ kind: NessError.Kind, _ reason: String) -> any Error {
        guard let known = reading.withLock({ $0 }) else { return NessError(kind, NessError.Context(request: nil, reason: reason)) }
        return known.fail(known.call.error(kind, reason))
    }
}
