import Foundation
import NessHTTP

/// Reads a request's body by length or in chunks.
enum BodyReader {
    /// Reads the body that a head announces.
    /// - Parameter limit: The longest body in bytes.
    /// - Returns: The body without chunk framing, and the trailer fields.
    /// - Throws: `ConnectionEnd`.
    static func read(
        _ framing: IncomingRequest.Framing, from reader: ConnectionReader, limit: Int
    ) throws -> (body: Data, trailers: HTTPHeaders) {
        if case .length(let count) = framing, count > limit { throw ConnectionEnd.refused(status: 413, text: "body too large") }
        var body = Data()
        // A large Content-Length alone must not make the server allocate a gigabyte.
        if case .length(let count) = framing { body.reserveCapacity(min(count, 1 << 20)) }
        let trailers = try read(framing, from: reader) { bytes in
            guard bytes.count <= limit - body.count else { throw ConnectionEnd.refused(status: 413, text: "body too large") }
            body.append(contentsOf: bytes)
        }
        return (body, trailers)
    }

    /// Reads a body piece by piece.
    /// - Parameter sink: Takes each piece as soon as it has arrived, without chunk framing. An error that it throws ends the reading.
    /// - Returns: The trailer fields.
    /// - Throws: `ConnectionEnd`, or the sink's error.
    static func read(
        _ framing: IncomingRequest.Framing, from reader: ConnectionReader, into sink: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> HTTPHeaders {
        switch framing {
        case .length(let count):
            try reader.bytes(count, into: sink)
            return HTTPHeaders()
        case .chunked:
            var total = 0
            while true {
                let size = try chunkSize(reader.line(limit: 4096))
                if size == 0 { return try IncomingRequest.fields(reader.lines(skipsBlankLines: false)) }
                guard size <= IncomingRequest.bodyLimit - total else {
                    throw ConnectionEnd.refused(status: 413, text: "body too large")
                }
                total += size
                try reader.bytes(size, into: sink)
                guard try reader.line(limit: 2).isEmpty else { throw ConnectionEnd.refused(status: 400, text: "malformed chunk") }
            }
        }
    }

    private static func chunkSize(_ line: [UInt8]) throws -> Int {
        let digits = line.prefix { $0 != 59 && $0 != 32 && $0 != 9 }
        let isHex = digits.allSatisfy { ($0 >= 48 && $0 <= 57) || ($0 | 32 >= 97 && $0 | 32 <= 102) }
        guard isHex, let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw ConnectionEnd.refused(status: 400, text: "malformed chunk size")
        }
        return size
    }
}
