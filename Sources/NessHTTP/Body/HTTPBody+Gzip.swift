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
        gzipped.uncompressedStart = CopyOnWriteBox(plainStart(upTo: 64 << 10))
        if let data {
            gzipped.segments = [.data(try GzipEncoder.encode(data))]
        } else {
            // Fails here if there is no zlib, before the body is started.
            _ = try GzipEncoder()
            gzipped.append { body in
                var gzipped: HTTPBody
                if let data = body.data {
                    gzipped = HTTPBody(try GzipEncoder.encode(data), headers: body.headers)
                } else {
                    let stream = BodyStream(length: nil, isRepeatable: true) { try await body.gzip(into: $0) }
                    gzipped = HTTPBody(segments: [.stream(stream)], headers: body.headers)
                }
                gzipped.uncompressedStart = CopyOnWriteBox(body.plainStart(upTo: 64 << 10))
                return gzipped
            }
        }
        return gzipped
    }

    private func gzip(into take: @Sendable (Data) async throws -> Void) async throws {
        let reader = makeReader(), encoder = try GzipEncoder()
        var isAtEnd = false
        while !isAtEnd {
            let piece = try await reader.next(upTo: 64 << 10)
            isAtEnd = piece.isEmpty
            let bytes = try encoder.encode(piece, ends: isAtEnd)
            if !bytes.isEmpty { try await take(bytes) }
        }
    }

    /// Returns this body in a form that is read into memory before it is sent, if its length is unknown otherwise. The request then has a
    /// `Content-Length`, which some servers require: a form with a sequence or a deferred part, for example, or a file that is compressed.
    ///
    /// The body is collected again for each attempt, off the main thread. The idle timeout counts the whole time as one wait.
    package func collected() -> HTTPBody {
        if data != nil { return self }
        var collected = self
        collected.append { body in
            if body.length != nil { return body }
            let reader = body.makeReader()
            var bytes = Data()
            while case let piece = try await reader.next(upTo: 64 << 10), !piece.isEmpty { bytes += piece }
            var whole = HTTPBody(bytes, headers: body.headers)
            whole.uncompressedStart = body.uncompressedStart
            return whole
        }
        return collected
    }

    /// Adds a step after those that the body has.
    private mutating func append(_ step: @escaping @Sendable (HTTPBody) async throws -> HTTPBody) {
        let before = self
        finish = { body in try await step(try await before.finished(body)) }
    }
}
