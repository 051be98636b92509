import Foundation

/// A file, or a slice of one, as a part of a body.
package struct FileSlice: Sendable {
    let file: URL
    /// The position of the first byte.
    let offset: Int64
    /// The number of bytes that the caller chose. `nil` for all bytes up to the end of the file.
    private let length: Int64?
    /// The number of bytes up to the end of the file, once the body was resolved.
    private var restLength: Int64?

    package init(_ file: URL, offset: Int64 = 0, length: Int64? = nil) {
        self.file = file
        self.offset = offset
        self.length = length
    }

    /// The number of bytes; `nil` for a slice up to the end of the file until the body was resolved.
    var knownLength: Int64? { length ?? restLength }

    /// This slice, to be resolved again: the file may change before another request sends it.
    var unresolved: FileSlice { FileSlice(file, offset: offset, length: length) }

    /// The text by which slices are compared. It does not change when the body is resolved.
    var identity: Data {
        let isWholeFile = offset == 0 && length == nil
        let range = isWholeFile ? "file:" : "slice:\(offset):\(length.map { "\($0)" } ?? ""):"
        return Data((range + file.absoluteString).utf8)
    }

    /// Checks that the file can be read and has the slice.
    /// - Returns: The slice with its length.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    func resolved() throws -> FileSlice {
        if offset < 0 || length.map({ $0 < 0 }) == true {
            throw TransportError(.invalidRequest, "the slice of the file \(file.lastPathComponent) has a negative offset or length")
        }
        let size = try size()
        guard offset <= size, (length ?? 0) <= size - offset else {
            let slice = length.map { "\($0) bytes from \(offset) on" } ?? "the bytes from \(offset) on"
            throw TransportError(.invalidRequest, "the file \(file.lastPathComponent) has only \(size) bytes, not \(slice)")
        }
        var resolved = self
        resolved.restLength = size - offset
        return resolved
    }

    private func size() throws -> Int64 {
        guard file.isFileURL else {
            throw TransportError(.invalidRequest, "the body is not a file: its URL's scheme is \(file.scheme ?? "none")")
        }
        let path = file.path
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            let error = FileError("open", path)
            throw TransportError(.invalidRequest, "the file \(file.lastPathComponent) is missing or inaccessible", underlying: error)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TransportError(.invalidRequest, "\(file.lastPathComponent) is not a regular file")
        }
        return Int64(status.st_size)
    }
}
