import Foundation

extension HTTPBody {
    /// Returns this body compressed as gzip (RFC 1952), with `Content-Encoding: gzip`. Not every server accepts such a body.
    ///
    /// Bytes in memory are compressed in this call. A body with files, sequences or deferred parts is compressed while it is sent, off the
    /// main thread. Its length is then unknown: over HTTP/1.1 it is sent in chunks, and the progress has no total. `collected()` gives it a
    /// length.
    ///
    /// To compress the bodies of all requests of a manager:
    ///
    /// ```swift
    /// let ness = Ness {
    ///     $0.loaders = [.modifyRequest { $0.body = try $0.body?.gzipped() }]
    /// }
    /// ```
    /// - Throws: An error if the process has no zlib. Apple platforms have one, and on Linux it comes with Foundation.
    public func gzipped() throws -> HTTPBody {
        var gzipped = self
        let codings = headers.values(for: HeaderName.contentEncoding) + ["gzip"]
        gzipped.headers[HeaderName.contentEncoding] = codings.joined(separator: ", ")
        gzipped.uncompressedStart = CopyOnWriteBox(plainStart(upTo: Self.chunkLength))
        if data != nil {
            gzipped.segments = try compressed().segments
        } else {
            // Fails here if there is no zlib, before the body is started.
            _ = try GzipEncoder()
            gzipped.addStep { try $0.compressed() }
        }
        return gzipped
    }

    /// The number of bytes that are read together, or searched for secrets.
    static let chunkLength = 64 << 10

    /// Compresses bytes in memory now, and any other body while it is sent.
    private func compressed() throws -> HTTPBody {
        let stream = BodyStream(length: nil, isRepeatable: true) { try await gzip(into: $0) }
        let segment = try data.map { Segment.data(try GzipEncoder.encode($0)) } ?? .stream(stream)
        var compressed = HTTPBody(segments: [segment], headers: headers)
        compressed.uncompressedStart = CopyOnWriteBox(plainStart(upTo: Self.chunkLength))
        return compressed
    }

    private func gzip(into take: @Sendable (Data) async throws -> Void) async throws {
        let reader = makeReader(), encoder = try GzipEncoder()
        var isAtEnd = false
        while !isAtEnd {
            let piece = try await reader.next(upTo: Self.chunkLength)
            isAtEnd = piece.isEmpty
            let bytes = try encoder.encode(piece, ends: isAtEnd)
            if !bytes.isEmpty { try await take(bytes) }
        }
    }

    /// Adds a step after those that the body has.
    mutating func addStep(_ step: @escaping @Sendable (HTTPBody) async throws -> HTTPBody) {
        let before = self
        finish = { body in try await step(try await before.finished(body)) }
    }
}
