import Foundation

/// The version of a file that was downloaded, as its server names it: kept beside the file, to ask for the file only if it has changed.
///
/// It belongs to one file: whoever replaces or changes that gets it anew.
struct FileVersion: Codable, Sendable {
    static let currentVersion = 1

    private var version = currentVersion
    /// Identifies what was asked for: see `PartialRecord.source`.
    private let source: String
    private let entityTag: String?
    private let lastModified: String?
    private let identity: FileIdentity

    /// Makes the version of a file that is there.
    /// - Returns: nil where the response names no version, or the file is gone.
    init?(of response: HTTPResponse, validator: String?, source: String, file: URL) {
        // A part need not say again what the record knows.
        let tag = response.headers[HeaderName.entityTag] ?? validator.flatMap { PartialRecord.isTag($0) ? $0 : nil }
        let date = response.headers[HeaderName.lastModified] ?? validator.flatMap { PartialRecord.isTag($0) ? nil : $0 }
        entityTag = tag.flatMap { Self.isTag($0) ? $0 : nil }
        lastModified = date.flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
        guard entityTag != nil || lastModified != nil, let identity = FileIdentity(of: file.path) else { return nil }
        self.identity = identity
        self.source = source
    }

    /// The path at which the version of a file is kept.
    static func path(beside file: URL) -> String { DownloadTarget.path(beside: file, ending: ".ness-version") }

    /// Reads the version of a file.
    /// - Returns: nil where none is kept, or the file is no longer the one that it belongs to.
    static func read(beside file: URL, source: String) -> FileVersion? {
        guard let kept = try? OpenFile(path(beside: file), O_RDONLY | O_NOFOLLOW | O_NONBLOCK), let length = try? kept.length(),
            length <= 1 << 16, let data = try? kept.read(Int(length), at: 0),
            let found = try? JSONDecoder().decode(FileVersion.self, from: data)
        else { return nil }
        // It may have lain on a disk: a value that is no tag or date does not go into a request.
        guard found.version == currentVersion, found.source == source, found.entityTag != nil || found.lastModified != nil,
            found.entityTag.map(isTag) ?? true, found.lastModified.map({ HTTPDate.parse($0) != nil }) ?? true,
            found.describes(file)
        else { return nil }
        return found
    }

    /// Returns true if a file is still the one that this version belongs to.
    func describes(_ file: URL) -> Bool { FileIdentity(of: file.path) == identity }

    /// Keeps the version. One that is lost or torn, in a crash of the system, costs a download.
    func write(beside file: URL) throws {
        let path = Self.path(beside: file), temporary = path + ".new"
        do {
            unlink(temporary)
            let kept = try OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
            try kept.write(try JSONEncoder().encode(self), at: 0)
            try OpenFile.rename(temporary, to: path)
        } catch {
            unlink(temporary)
            throw error
        }
    }

    // MARK: on the wire

    /// The condition under which the file is sent: an entity tag counts, and a date where there is none (RFC 9110, 13.1.3).
    var condition: (name: String, value: String)? {
        entityTag.map { (HeaderName.ifNoneMatch, $0) } ?? lastModified.map { (HeaderName.ifModifiedSince, $0) }
    }

    /// Returns true if an answer of 304 may be about this version: it names no other.
    func isConfirmed(by response: HTTPResponse) -> Bool {
        guard let entityTag, let answered = response.headers[HeaderName.entityTag] else { return true }
        return Self.opaque(entityTag) == Self.opaque(answered)
    }

    /// The tag without the mark of a weak one: the comparison of If-None-Match takes no notice of it (RFC 9110, 8.8.3.2).
    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    private static func isTag(_ text: String) -> Bool { PartialRecord.isTag(String(opaque(text))) }
}

/// A file as it is now: another file in its place, or another content, has another identity.
struct FileIdentity: Codable, Hashable, Sendable {
    private let number: Int
    private let size: Int64
    private let changed: Date

    /// Looks at what is there, and not through a link.
    init?(of path: String) {
        guard let found = try? FileManager.default.attributesOfItem(atPath: path), found[.type] as? FileAttributeType == .typeRegular,
            let number = found[.systemFileNumber] as? Int, let size = found[.size] as? Int64,
            let changed = found[.modificationDate] as? Date
        else { return nil }
        (self.number, self.size, self.changed) = (number, size, changed)
    }
}
