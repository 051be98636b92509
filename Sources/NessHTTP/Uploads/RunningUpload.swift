import Foundation

/// The state of a resumable upload, as its protocol reads and changes it.
public struct RunningUpload: Sendable {
    /// The caller's request, without a body.
    public internal(set) var request: HTTPRequest
    /// The length of the file, in bytes.
    public let length: Int64
    /// A Boolean value that indicates whether the transport reports interim responses, such as 104 (Upload Resumption Supported).
    public let receivesInterimResponses: Bool
    /// The URL of the upload. `nil` until the server has named it.
    public var url: URL?
    /// The number of bytes that the server has confirmed.
    public var offset: Int64 = 0
    /// A Boolean value that indicates whether the server has confirmed the whole upload.
    public var isComplete = false
    /// The most bytes that the server takes in one request. `nil` for no limit.
    public var maximumPartSize: Int64?
    /// Strings that the protocol keeps for later steps, such as the tags of the parts. They are in the record, so they must not contain
    /// secrets.
    public var notes: [String: String] = [:]

    private let file: String
    private let partSize: Int64?

    init(_ request: HTTPRequest, file: String, length: Int64, partSize: Int64?, receivesInterimResponses: Bool) {
        (self.request, self.file, self.length, self.partSize) = (request, file, length, partSize)
        self.receivesInterimResponses = receivesInterimResponses
    }

    /// The positions of the next part: from the offset, as many bytes as the caller's part size and the server's limit allow.
    public var nextPart: Range<Int64> {
        let count = min(partSize ?? .max, maximumPartSize ?? .max)
        // A protocol may have taken any number from the server.
        let start = min(max(offset, 0), length)
        return start..<start + min(max(count, 1), length - start)
    }

    /// Computes the digest of some bytes of the file, off the threads that run tasks.
    /// - Parameters:
    ///   - algorithm: The algorithm.
    ///   - bytes: The positions of the bytes. For SHA-1 and MD5 at most 64 MiB, because they are read into memory.
    /// - Returns: The digest.
    /// - Throws: An error that ends the upload, with `NessError.Kind.invalidRequest` for too many bytes, and with `fileSystem` if the file
    ///   cannot be read.
    public func digest(_ algorithm: UploadChecksum, of bytes: Range<Int64>) async throws -> Data {
        guard bytes.lowerBound >= 0 else { throw InvalidRequest("the positions of a part cannot be negative") }
        guard algorithm == .sha256 || bytes.upperBound - bytes.lowerBound <= 64 << 20 else {
            throw InvalidRequest("a part with the checksum \(algorithm.rawValue) can have at most 64 MiB: set `partSize`")
        }
        return try await DispatchQueue(label: "ness.upload-digest").run { [file] in
            let file = try OpenFile(file, O_RDONLY | O_NONBLOCK)
            var digest = algorithm.begin(), position = bytes.lowerBound
            while position < bytes.upperBound {
                let chunk = try file.read(Int(min(1 << 20, bytes.upperBound - position)), at: position)
                digest.add(chunk)
                position += Int64(chunk.count)
            }
            return digest.finish()
        }
    }
}
