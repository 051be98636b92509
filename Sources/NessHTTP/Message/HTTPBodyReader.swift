import Foundation

extension HTTPBody {
    /// Makes the body ready to be sent: calls the closures that make parts, and reads the lengths of files.
    /// - Returns: A body of bytes and files, with a known length.
    /// - Throws: `TransportError` of the kind `invalidRequest` for a file that cannot be sent, or the error of a part's closure.
    package func resolved() async throws -> HTTPBody {
        if data != nil { return self }
        var resolved: [Segment] = []
        for segment in segments {
            switch segment {
            case .data: resolved.append(segment)
            case .file(let url, _): resolved.append(.file(url, length: try Self.length(of: url)))
            case .deferred(let make): resolved += try await make().resolved().segments
            }
        }
        return HTTPBody(segments: resolved, headers: headers)
    }

    /// Makes a reader that starts at the first byte. A body may be read any number of times.
    /// - Returns: The reader. It may be used by one thread at a time.
    public func makeReader() -> HTTPBodyReader { HTTPBodyReader(segments) }

    private static func length(of file: URL) throws -> Int64 {
        guard file.isFileURL else {
            throw TransportError(.invalidRequest, "the body is no file: its URL's scheme is \(file.scheme ?? "none")")
        }
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)
        } catch {
            throw TransportError(.invalidRequest, "the file \(file.lastPathComponent) is missing or can't be looked at", underlying: error)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? NSNumber else {
            throw TransportError(.invalidRequest, "\(file.lastPathComponent) is no regular file")
        }
        guard access(file.path, R_OK) == 0 else {
            throw TransportError(.invalidRequest, "the file \(file.lastPathComponent) can't be read")
        }
        return size.int64Value
    }
}

/// Reads the bytes of a body in order. It may be used by one thread at a time.
public final class HTTPBodyReader {
    private var rest: ArraySlice<HTTPBody.Segment>
    private var file: FileHandle?
    /// The number of bytes that were read from the current segment.
    private var position: Int64 = 0

    init(_ segments: [HTTPBody.Segment]) { rest = segments[...] }

    deinit { try? file?.close() }

    /// Reads the next bytes.
    /// - Parameter count: The largest number of bytes to return. Values below one count as one.
    /// - Returns: At least one byte; empty at the end.
    /// - Throws: `TransportError` of the kind `invalidRequest` for a file that cannot be read, or that became shorter.
    public func read(upTo count: Int) throws -> Data {
        while let segment = rest.first {
            let piece: Data
            switch segment {
            case .data(let data):
                let start = data.startIndex + Int(position)
                piece = data[start..<min(data.endIndex, start + max(1, count))]
            case .file(let url, let length): piece = try read(url, length, max(1, count))
            case .deferred: throw TransportError(.invalidRequest, "the body was not resolved before it was read")
            }
            position += Int64(piece.count)
            if !piece.isEmpty { return piece }
            rest.removeFirst()
            position = 0
            try? file?.close()
            file = nil
        }
        return Data()
    }

    private func read(_ url: URL, _ length: Int64?, _ count: Int) throws -> Data {
        let left = length.map { Int(clamping: $0 - position) } ?? count
        guard left > 0 else { return Data() }
        let data: Data
        do {
            let file = try file ?? FileHandle(forReadingFrom: url)
            self.file = file
            data = try file.read(upToCount: min(left, count)) ?? Data()
        } catch {
            throw TransportError(.invalidRequest, "the file \(url.lastPathComponent) can't be read", underlying: error)
        }
        if data.isEmpty, let length {
            throw TransportError(
                .invalidRequest, "the file \(url.lastPathComponent) became shorter while it was sent: \(position) of \(length) bytes")
        }
        return data
    }
}
