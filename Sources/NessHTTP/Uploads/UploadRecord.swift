import Foundation

/// The state of an upload that a later run of the program continues.
struct UploadRecord: Codable, Hashable, Sendable {
    static let currentVersion = 1

    /// Identifies the upload. It has to be the same in the run that continues it.
    struct Subject: Codable, Hashable, Sendable {
        /// The protocol.
        let name: String
        /// The hash of the identifier, or of the request's method and URL. A hash, because a URL may contain a secret.
        let request: String
        /// The hash of the user's name. `nil` without a named user.
        let user: String?
        let length: Int64
        let file: FileIdentity
        /// The digest of the file's first and last bytes.
        let digest: String

        /// Returns the part that differs from another subject, for a warning.
        func difference(from other: Subject) -> String {
            if name != other.name { return "another protocol" }
            if request != other.request { return "another request" }
            return user != other.user ? "another user" : "another file, or another version of it"
        }
    }

    private(set) var version = currentVersion
    let subject: Subject
    let url: String
    let notes: [String: String]
    /// True if a request was about to be sent that may have completed the upload.
    let mayBeComplete: Bool

    init(_ subject: Subject, url: URL, notes: [String: String], mayBeComplete: Bool) {
        (self.subject, self.notes, self.mayBeComplete) = (subject, notes, mayBeComplete)
        self.url = url.absoluteString
    }
}

extension UploadRecord.Subject {
    /// The number of bytes at either end of the file that the digest covers.
    private static let sampleLength: Int64 = 64 << 10

    /// Describes a file and its request. Reads both ends of the file.
    /// - Throws: `FileError`.
    init(name: String, _ request: HTTPRequest, identifiedBy identifier: String?, user: String?, file path: String) throws {
        guard let identity = FileIdentity(of: path) else { throw FileError("upload", path, code: ENOENT) }
        let file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
        let length = try file.length()
        var hash = SHA256Hash()
        hash.add(try file.read(upTo: Int(Self.sampleLength), at: 0))
        hash.add(try file.read(upTo: Int(Self.sampleLength), at: max(0, length - Self.sampleLength)))
        self.init(
            name: name, request: PartialRecord.hash(identifier ?? "\(request.method) \(request.url.absoluteString)"),
            user: user.map { PartialRecord.hash($0) }, length: length, file: identity, digest: hash.finish().hexadecimal)
    }
}
