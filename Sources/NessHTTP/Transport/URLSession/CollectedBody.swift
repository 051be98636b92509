#if canImport(FoundationNetworking)
import Dispatch
import Foundation

/// Collects a body from sequences before it is sent.
enum CollectedBody {
    /// The largest body that is collected in memory, in bytes. A longer one is written to a file without a name in the temporary folder.
    private static let memoryLimit = 1 << 20
    /// The queue of the writes. They may block, so they must not run on the threads of Swift tasks.
    private static let diskQueue = DispatchQueue(label: "ness.body.collect")

    /// Reads a whole body.
    /// - Parameters:
    ///   - body: The body.
    ///   - onPiece: Runs after each piece.
    /// - Returns: A body with a known length that can be read any number of times.
    /// - Throws: The errors of `HTTPBodyReader.next(upTo:)`, `FileError`, or the error of `onPiece`.
    static func collect(_ body: HTTPBody, onPiece: () async throws -> Void) async throws -> HTTPBody {
        let reader = body.makeReader()
        var start = Data()
        var file: OpenFile?
        var length: Int64 = 0
        while case let piece = try await reader.next(upTo: memoryLimit), !piece.isEmpty {
            if file == nil, start.count + piece.count > memoryLimit {
                let opened = try OpenFile.temporary()
                let first = start
                try await diskQueue.run { try opened.write(first, at: 0) }
                start = Data()
                file = opened
            }
            if let file {
                let offset = length
                try await diskQueue.run { try file.write(piece, at: offset) }
            } else {
                start += piece
            }
            length += Int64(piece.count)
            try await onPiece()
        }
        guard let file else { return HTTPBody(start, headers: body.headers) }
        return HTTPBody(segments: [.stored(length: length) { try file.read($1, at: $0) }], headers: body.headers)
    }
}
#endif
