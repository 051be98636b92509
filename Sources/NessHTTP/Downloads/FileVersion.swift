import Foundation

/// The server's version of a downloaded file, kept beside the file. With it, a later download requests the file only if it has changed.
///
/// The version belongs to one file. If that file is replaced or changed, the next download fetches it again.
struct FileVersion: Codable, Sendable {
    static let currentVersion = 1

    private var version = currentVersion
    /// Identifies the requested resource: see `PartialRecord.source`.
    private let source: String
    private let entityTag: String?
    private let lastModified: String?
    private let identity: FileIdentity

    /// Makes the version of an existing file.
    /// - Returns: `nil` if the response names no version, or if the file does not exist.
    init?(of response: HTTPResponse, source: String, file: URL) {
        entityTag = response.headers[HeaderName.entityTag].flatMap { Self.isTag($0) ? $0 : nil }
        lastModified = response.headers[HeaderName.lastModified].flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
        guard entityTag != nil || lastModified != nil, let identity = FileIdentity(of: file.path) else { return nil }
        self.identity = identity
        self.source = source
    }

    /// The path of the version file that belongs to a file.
    static func path(beside file: URL) -> String { DownloadTarget.path(beside: file, ending: ".ness-version") }

    /// Reads the version of a file.
    /// - Returns: `nil` if there is no version file, or if the file is no longer the one that it belongs to.
    static func read(beside file: URL, source: String) -> FileVersion? {
        // Another program may have changed the file. An invalid tag or date must not get into a request.
        guard let data = OpenFile.contents(of: path(beside: file), limit: 1 << 16),
            let found = try? JSONDecoder().decode(FileVersion.self, from: data), found.version == currentVersion, found.source == source,
            found.entityTag != nil || found.lastModified != nil, found.entityTag.map(isTag) ?? true,
            found.lastModified.map({ HTTPDate.parse($0) != nil }) ?? true, found.describes(file)
        else { return nil }
        return found
    }

    /// Checks whether a file is still the one that this version belongs to.
    func describes(_ file: URL) -> Bool { FileIdentity(of: file.path) == identity }

    /// Writes the version without a sync. A version that a crash of the system loses or damages only costs a download.
    func write(beside file: URL) throws {
        let path = Self.path(beside: file)
        // The version is as readable as the downloaded file.
        try OpenFile.replace(path, by: JSONEncoder().encode(self), through: path + ".new", mode: 0o644)
    }

    // MARK: on the wire

    /// The condition of the request: the entity tag, or the date if there is no tag (RFC 9110, 13.1.3).
    var condition: (name: String, value: String)? {
        entityTag.map { (HeaderName.ifNoneMatch, $0) } ?? lastModified.map { (HeaderName.ifModifiedSince, $0) }
    }

    /// Checks whether a 304 may confirm this version. A 304 with another entity tag does not.
    func isConfirmed(by response: HTTPResponse) -> Bool {
        guard let entityTag, let answered = response.headers[HeaderName.entityTag] else { return true }
        return Self.opaque(entityTag).isExactly(Self.opaque(answered))
    }

    /// The entity tag without the prefix `W/`. The comparison of If-None-Match ignores it (RFC 9110, 8.8.3.2).
    private static func opaque(_ tag: String) -> Substring { tag.startsExactly(with: "W/") ? Substring(tag.utf8.dropFirst(2)) : tag[...] }

    private static func isTag(_ text: String) -> Bool { PartialRecord.isTag(String(opaque(text))) }
}

/// The identity of a file. A replaced file, or a file with other content, has another identity.
struct FileIdentity: Codable, Hashable, Sendable {
    private let number: Int
    private let size: Int64
    private let changed: Date

    /// Reads the identity of the regular file at a path. `nil` for a symbolic link.
    init?(of path: String) {
        guard let found = try? FileManager.default.attributesOfItem(atPath: path), found[.type] as? FileAttributeType == .typeRegular,
            let number = found[.systemFileNumber] as? Int, let size = found[.size] as? Int64,
            let changed = found[.modificationDate] as? Date
        else { return nil }
        (self.number, self.size, self.changed) = (number, size, changed)
    }
}
