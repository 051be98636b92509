import Foundation

extension HTTPBody {
    /// Makes a body from a sequence, which is read while it is sent. It can be sent once.
    ///
    /// ```swift
    /// let (pieces, continuation) = AsyncStream<Data>.makeStream()
    /// let promise = ness.post("log").set(streamBody: pieces).dataRequest()
    /// continuation.yield(Data("one line\n".utf8))
    /// continuation.finish()
    /// ```
    ///
    /// **Back pressure.** Ness reads the next element of the sequence once the connection has accepted the previous one. An element may
    /// have any size. If the sequence gives no element for the duration of the idle timeout, the request ends with
    /// `NessError.Kind.timedOut`, whose `underlying` is `StalledBody`.
    ///
    /// **Once.** When an attempt has started to read the sequence, the body is never sent again, regardless of the retry policy. After a
    /// 401 the credential is renewed, but the 401 is the response. A redirect that asks for the body again (307, 308) fails with
    /// `NessError.Kind.redirect`. Any other repetition, such as a second request from the same builder, fails with
    /// `NessError.Kind.invalidRequest`. `stream(length:contentType:_:)` makes a body that can be sent again.
    ///
    /// **Errors.** An error of the sequence ends the request with `NessError.Kind.invalidRequest`, whose `underlying` is that error. So
    /// does a sequence that gives fewer or more bytes than `length`. The server then never sees a complete request.
    ///
    /// **Cancellation.** When the exchange ends early, the task that reads the sequence is canceled. The request does not wait for it.
    /// - Parameters:
    ///   - pieces: The sequence. It is read in a separate task, off the main thread.
    ///   - length: The number of bytes, which is sent as Content-Length. `nil` if it is unknown: over HTTP/1.1 the body is then sent in
    ///     chunks.
    ///   - contentType: The media type.
    public static func stream<Pieces: AsyncSequence & Sendable>(
        _ pieces: Pieces, length: Int64? = nil, contentType: String = "application/octet-stream"
    ) -> HTTPBody where Pieces.Element == Data {
        stream(length, contentType, isRepeatable: false) { take in
            for try await piece in pieces { try await take(piece) }
        }
    }

    /// Makes a body from a sequence that a closure makes for each attempt. The sequence is read while it is sent.
    ///
    /// Retries, redirects and authentication send the body again from a new sequence. In all other respects this method works like
    /// `stream(_:length:contentType:)`.
    ///
    /// ```swift
    /// let body = HTTPBody.stream(contentType: "text/csv") {
    ///     database.rows(of: query).map { $0.csv }
    /// }
    /// ```
    /// - Parameters:
    ///   - length: The number of bytes, which is sent as Content-Length. `nil` if it is unknown: over HTTP/1.1 the body is then sent in
    ///     chunks.
    ///   - contentType: The media type.
    ///   - makePieces: Makes the sequence. Runs off the main thread, in the task that reads the sequence, when the body is about to be
    ///     sent. An error that it throws is an error of the sequence.
    public static func stream<Pieces: AsyncSequence>(
        length: Int64? = nil, contentType: String = "application/octet-stream",
        _ makePieces: @escaping @Sendable () async throws -> Pieces
    ) -> HTTPBody where Pieces.Element == Data {
        stream(length, contentType, isRepeatable: true, MadeSequence(make: makePieces).read)
    }

    /// Makes a body that a closure writes while it is sent. The closure runs again for each attempt.
    ///
    /// ```swift
    /// let body = HTTPBody.stream(contentType: "text/csv") { writer in
    ///     for await row in database.rows(of: query) {
    ///         try await writer.write(row.csv)
    ///     }
    /// }
    /// ```
    ///
    /// In all other respects this method works like `stream(_:length:contentType:)`: the body ends when the closure returns, and an error
    /// that it throws ends the request. When the exchange ends early, the closure's task is canceled, and `write(_:)` throws.
    /// - Parameters:
    ///   - length: The number of bytes, which is sent as Content-Length. `nil` if it is unknown: over HTTP/1.1 the body is then sent in
    ///     chunks.
    ///   - contentType: The media type.
    ///   - write: Writes the body. Runs in a separate task, off the main thread, when the body is about to be sent.
    public static func stream(
        length: Int64? = nil, contentType: String = "application/octet-stream",
        _ write: @escaping @Sendable (HTTPBodyWriter) async throws -> Void
    ) -> HTTPBody {
        stream(length, contentType, isRepeatable: true) { take in try await write(HTTPBodyWriter(take: take)) }
    }

    private static func stream(
        _ length: Int64?, _ contentType: String, isRepeatable: Bool, _ pieces: @escaping BodyStream.Pieces
    ) -> HTTPBody {
        let stream = BodyStream(length: length, isRepeatable: isRepeatable, pieces: pieces)
        return HTTPBody(segments: [.stream(stream)], headers: [HeaderName.contentType: contentType])
    }
}

/// Writes the body of a request piece by piece: see `HTTPBody.stream(length:contentType:_:)`. One task at a time may use it.
public struct HTTPBodyWriter {
    let take: @Sendable (Data) async throws -> Void

    /// Writes a piece. Returns when the connection has taken it, so a slow server holds the writer back.
    /// - Parameter data: The piece, of any size. An empty one has no effect.
    /// - Throws: `CancellationError` if the exchange has ended, or if the task is canceled. An error if the body gets longer than
    ///   announced, or if another piece is being written; the request then fails with `NessError.Kind.invalidRequest`.
    public func write(_ data: Data) async throws { try await take(data) }
}

/// The body of a request gave no byte for the time of the idle timeout. It is the `underlying` of `NessError.Kind.timedOut`.
///
/// The fault is the caller's, not the server's: the error is not transient, and a `CircuitBreaker` does not count it. A gateway responds to
/// its client with 408, not with 504.
public struct StalledBody: Error, Hashable, Sendable {
    /// Makes the error, for a test.
    public init() {}
}

/// A sequence that a closure makes for each reader. A closure would not do: it would capture the type of a sequence that need not be
/// `Sendable`, and the compiler warns about that.
private struct MadeSequence<Pieces: AsyncSequence>: Sendable where Pieces.Element == Data {
    let make: @Sendable () async throws -> Pieces

    @Sendable func read(_ take: @escaping @Sendable (Data) async throws -> Void) async throws {
        for try await piece in try await make() { try await take(piece) }
    }
}
