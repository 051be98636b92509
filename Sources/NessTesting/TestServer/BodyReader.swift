import Foundation
import NessHTTP

/// Reads a request's body by length or in chunks.
enum BodyReader {
    /// Reads the body that a head announces.
    /// - Returns: The body without chunk framing, and the trailer fields.
    /// - Throws: `ConnectionEnd`.
    static func read(_ framing: IncomingRequest.Framing, from reader: ConnectionReader) throws -> (body: Data, trailers: HTTPHeaders) {
        var body = Data()
        switch framing {
        case .length(let count):
            // A large Content-Length alone must not make the server allocate a gigabyte.
            body.reserveCapacity(min(count, 1 << 20))
            try reader.bytes(count) { body.append(contentsOf: $0) }
            return (body, HTTPHeaders())
        case .chunked:
            while true {
                let size = try chunkSize(reader.line(limit: 4096))
                if size == 0 { return (body, try IncomingRequest.fields(reader.lines(skipsBlankLines: false))) }
                guard size <= IncomingRequest.bodyLimit - body.count else {
                    throw ConnectionEnd.refused(status: 413, text: "body too large")
                }
                try reader.bytes(size) { body.append(contentsOf: $0) }
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
