import Foundation
import NessPromise

extension HTTPBody {
    /// Makes the body ready to be sent: calls the closures that make parts, reads the lengths of files, checks sequences, and compresses or
    /// collects the result if the request says so.
    /// - Returns: A body of bytes, files and sequences.
    /// - Throws: `TransportError` of the kind `invalidRequest` for a file or a sequence that cannot be sent, or the error of a part's
    ///   closure.
    package func resolved() async throws -> HTTPBody {
        if data != nil, finish == nil { return self }
        let body: HTTPBody
        do {
            body = try await finished(HTTPBody(segments: try await resolvedSegments(), headers: headers))
        } catch let error as InvalidRequest {
            throw TransportError(.invalidRequest, error.description)
        }
        guard body.length != nil || body.hasUnknownLength else {
            throw TransportError(.invalidRequest, "the body is longer than a 64-bit length")
        }
        return body
    }

    private func resolvedSegments() async throws -> [Segment] {
        var resolved: [Segment] = []
        for segment in segments {
            switch segment {
            case .data, .stored: resolved.append(segment)
            case .file(let slice): resolved.append(.file(try slice.resolved()))
            case .stream(let stream): if let checked = try await stream.checked() { resolved.append(.stream(checked)) }
            case .deferred(let make): resolved += try await make().resolved().segments
            }
        }
        return resolved
    }

    /// True if the body has a part without a known length.
    private var hasUnknownLength: Bool { segments.contains { HTTPBody(segments: [$0], headers: [:]).length == nil } }

    /// The sequences, in order.
    private var streams: [BodyStream] {
        segments.compactMap { segment in
            if case .stream(let stream) = segment { stream } else { nil }
        }
    }

    /// True if the body has a sequence, which a reader may have to wait for.
    package var isStreamed: Bool { !streams.isEmpty }

    /// This body with files whose lengths are read again before it is sent.
    var withUnresolvedFiles: HTTPBody {
        var body = self
        body.segments = segments.map { if case .file(let slice) = $0 { .file(slice.unresolved) } else { $0 } }
        return body
    }

    /// True if the body was resolved.
    var isResolved: Bool {
        guard finish == nil else { return false }
        return segments.allSatisfy { segment in
            switch segment {
            case .data, .stream, .stored: true
            case .file(let slice): slice.knownLength != nil
            case .deferred: false
            }
        }
    }

    /// True if an attempt started to send the body, and it cannot be sent again.
    var isSpent: Bool { streams.contains(where: \.isSpent) }

    /// True while the connection waits for the caller: for the closure of a part, or for the next piece of a sequence.
    var isAwaited: Bool { !isResolved || streams.contains(where: \.isAwaited) }

    /// Makes a reader that starts at the first byte. A body may be read any number of times, unless it has a sequence that can be sent only
    /// once: then the second reader throws.
    /// - Returns: The reader. It may be used by one thread at a time.
    public func makeReader() -> HTTPBodyReader {
        // A body that is yet to be compressed can't be read before it was resolved.
        HTTPBodyReader(finish == nil ? segments : [.deferred { self }])
    }
}

/// Reads the bytes of a body in order. It may be used by one thread at a time.
///
/// A reader of a body from a sequence asks the sequence for a piece once the piece before was read. When the reader is released, the task
/// that reads the sequence is canceled.
public final class HTTPBodyReader {
    /// The state of the reader after a step that never waits.
    package enum Step: Sendable {
        /// At least one byte.
        case bytes(Data)
        /// The reader has to wait for a sequence.
        case pending(BodyProducer)
        case end
    }

    private var rest: ArraySlice<HTTPBody.Segment>
    private var file: OpenFile?
    /// The number of bytes that were read from the current segment.
    private var position: Int64 = 0
    /// The readers of the sequences, in order.
    package let producers: [BodyProducer]
    /// The index of the next sequence.
    private var producerIndex = 0

    init(_ segments: [HTTPBody.Segment]) {
        rest = segments[...]
        producers = segments.compactMap { segment in
            if case .stream(let stream) = segment { BodyProducer(stream) } else { nil }
        }
    }

    deinit {
        for producer in producers { producer.cancel() }
    }

    /// Reads the next bytes, without waiting for anything but a disk.
    ///
    /// Not for a body with a sequence: see `next(upTo:)`.
    /// - Parameter count: The largest number of bytes to return. Values below one count as one.
    /// - Returns: At least one byte; empty at the end.
    /// - Throws: `TransportError` of the kind `invalidRequest` for a file that cannot be read, or that became shorter, and for a body with
    ///   a sequence.
    public func read(upTo count: Int) throws -> Data {
        // Fails even for bytes before the sequence. Otherwise the result would depend on whether the sequence has a piece by then.
        guard producers.isEmpty else { throw Self.isStream }
        switch try step(upTo: count) {
        case .bytes(let data): return Self.rebased(data)
        case .end: return Data()
        case .pending: throw Self.isStream
        }
    }

    /// Reads the next bytes, and waits for them if the body is a sequence.
    /// - Parameter count: The largest number of bytes to return. Values below one count as one.
    /// - Returns: At least one byte; empty at the end.
    /// - Throws: `TransportError` of the kind `invalidRequest` for a file that cannot be read or became shorter, and for a sequence that
    ///   failed, had another length than announced, or was sent before; `CancellationError` if the calling task is canceled.
    public func next(upTo count: Int) async throws -> Data {
        while true {
            switch try step(upTo: count) {
            case .bytes(let data): return Self.rebased(data)
            case .end: return Data()
            case .pending(let producer): try await producer.untilReady()
            }
        }
    }

    /// Returns bytes that start at index 0, as the caller of a public method expects. A part of a longer piece does not.
    private static func rebased(_ data: Data) -> Data { data.startIndex == 0 ? data : Data(data) }

    private static var isStream: TransportError {
        TransportError(.invalidRequest, "the body is a sequence, which has to be read with next(upTo:)")
    }

    /// Reads the next bytes if they are there. Never waits for a sequence. The bytes may start at any index.
    /// - Parameter count: The largest number of bytes to return. Values below one count as one.
    /// - Throws: The errors of `next(upTo:)`.
    package func step(upTo count: Int) throws -> Step {
        let count = max(1, count)
        while let segment = rest.first {
            let piece: Data
            switch segment {
            case .data(let data):
                let start = data.startIndex + Int(position)
                piece = data[start..<min(data.endIndex, start + min(count, data.endIndex - start))]
            case .file(let slice): piece = try read(slice, count)
            case .stored(let length, let read):
                piece = position < length ? try read(position, min(count, Int(clamping: length - position))) : Data()
            case .stream:
                let producer = producers[producerIndex]
                guard let taken = try producer.take(upTo: count) else { return .pending(producer) }
                if taken.isEmpty { producerIndex += 1 }
                piece = taken
            case .deferred: throw TransportError(.invalidRequest, "the body was not resolved before it was read")
            }
            position += Int64(piece.count)
            if !piece.isEmpty { return .bytes(piece) }
            rest.removeFirst()
            position = 0
            file = nil
        }
        return .end
    }

    /// The most bytes of a file in one piece. The caller may ask for any number, and memory is taken before the file is read.
    private static let longestPiece = 1 << 20

    private func read(_ slice: FileSlice, _ count: Int) throws -> Data {
        let name = slice.file.lastPathComponent
        let left = slice.knownLength.map { Int(clamping: $0 - position) } ?? count
        guard left > 0 else { return Data() }
        let data: Data
        do {
            // Not a `FileHandle`: on Apple platforms its data lives until the thread's autorelease pool is drained, perhaps never.
            let file = try file ?? OpenFile(slice.file.path, O_RDONLY | O_NONBLOCK)
            self.file = file
            data = try file.read(upTo: min(left, count, Self.longestPiece), at: slice.offset + position)
        } catch {
            throw TransportError(.invalidRequest, "the file \(name) can't be read", underlying: error)
        }
        if data.isEmpty, let length = slice.knownLength {
            throw TransportError(.invalidRequest, "the file \(name) became shorter while it was sent: \(position) of \(length) bytes")
        }
        return data
    }

    /// Closes the open file before the end of the body. Nothing may be read afterwards.
    func closeFile() {
        rest = []
        file = nil
    }
}
