import Foundation
import NessLock

/// The properties that a downloaded file must have before it gets its name.
///
/// ```swift
/// let film = try await ness.get("films/1")
///     .downloadRequest(
///         forSavedLocation: file, expecting: .sha256(digest, size: 734_003_200)
///     )
///     .value
/// ```
///
/// If the file at the destination already has the expected digest, a GET for it sends no request. The download succeeds with a 304 whose
/// `HTTPResponse.source` is `.cache`. With an expected size, the progress has a total from the start.
public struct FileExpectation: Sendable, Hashable {
    /// The digest in hexadecimal digits of lower case; `nil` for any content.
    let digest: String?
    /// The length in bytes; `nil` for any length.
    let size: Int64?

    /// Expects a SHA-256 digest (FIPS 180-4).
    /// - Parameters:
    ///   - digest: The digest, as 64 hexadecimal digits in any case. Any other string fails the request with
    ///     `NessError.Kind.invalidRequest` before it is sent.
    ///   - size: The length of the file in bytes; `nil` for any length. A response that announces another length is rejected immediately.
    public static func sha256(_ digest: String, size: Int64? = nil) -> FileExpectation {
        FileExpectation(digest: digest.lowercased(), size: size)
    }

    /// Expects a length.
    /// - Parameter size: The length of the file in bytes. A response that announces another length is rejected immediately.
    public static func size(_ size: Int64) -> FileExpectation { FileExpectation(digest: nil, size: size) }

    /// The reason why no file can meet the expectation; `nil` if one can.
    var fault: String? {
        if let size, size < 0 { return "the expected size of the file is negative" }
        guard let digits = digest?.utf8 else { return nil }
        if digits.count == 64, digits.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) { return nil }
        return "the expected SHA-256 digest does not have 64 hexadecimal digits"
    }

    /// Checks a file. Reads all of it if a digest is expected, which may take long.
    /// - Parameters:
    ///   - file: The file.
    ///   - isCancelled: Returns true to give up.
    /// - Throws: `FileMismatch`; `FileError`; `CancellationError`.
    func check(_ file: OpenFile, isCancelled: () -> Bool = { false }) throws {
        let length = try file.length()
        try check(size: length)
        guard let digest else { return }
        var hash = SHA256Hash()
        var offset: Int64 = 0
        while offset < length {
            if isCancelled() { throw CancellationError() }
            let piece = try file.read(Int(min(1 << 20, length - offset)), at: offset)
            hash.add(piece)
            offset += Int64(piece.count)
        }
        let found = hash.finish().hexadecimal
        if found != digest { throw FileMismatch.sha256(expected: digest, found: found) }
    }

    /// Returns true if there is a file at a URL that has the expected properties. Reads all of it if a digest is expected.
    func isMet(by file: URL) async -> Bool {
        let isCancelled = Lock(false)
        let check: Void? = await withTaskCancellationHandler {
            try? await DispatchQueue(label: "ness.file-check").run {
                try self.check(OpenFile(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)) { isCancelled.withLock { $0 } }
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
        return check != nil
    }

    /// Throws `FileMismatch` for another length than the expected one.
    func check(size found: Int64) throws {
        if let size, size != found { throw FileMismatch.size(expected: size, found: found) }
    }
}

/// A downloaded file does not have the expected properties: see `FileExpectation`. It is the `underlying` of `NessError.Kind.validation`.
public enum FileMismatch: ExchangeInterruption, Hashable, CustomStringConvertible {
    /// The file has another length, in bytes. `found` is the announced length, or the number of bytes that arrived.
    case size(expected: Int64, found: Int64)
    /// The file has another SHA-256 digest, in hexadecimal digits of lower case.
    case sha256(expected: String, found: String)

    /// The expected and the found property.
    public var description: String {
        switch self {
        case .size(let expected, let found): "the file has \(found) bytes, expected \(expected)"
        case .sha256(let expected, let found): "the SHA-256 digest of the file is \(found), expected \(expected)"
        }
    }
}
