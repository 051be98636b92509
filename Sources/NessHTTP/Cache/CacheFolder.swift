import Foundation
import NessLock

/// A storage of an `HTTPCache` in files, one for each record.
///
/// ```swift
/// let files = CacheFolder(folder, limit: 100 << 20)
/// let ness = Ness {
///     $0.cache = HTTPCache(memoryLimit: 10 << 20, storage: files)
/// }
/// ```
///
/// A file that is incomplete, changed or foreign counts as missing. A file is renamed to its name when it is complete, and never synced:
/// a system crash may lose it, or restore an older or a removed one. Use a folder for one cache at a time. Two processes that use the same
/// folder find each other's records, but a process removes those of a URL only if it has read or written them, or found them at its start.
public final class CacheFolder: CacheStorage {
    // A lookup opens one file by its name. It reads no folder, and does not wait for writes: the lock of the index is never held during a
    // system call. Changes run one after another. Before the first of them the folder is read for the sizes and the order of use.

    /// An access to the folder, for tests.
    package enum Access: Sendable {
        case list, read, write, remove
    }

    private static let suffix = ".nesscache"
    private static let temporarySuffix = ".nesscache-part"
    /// The most bytes of a file, because a file is read as a whole.
    private static let fileLimit = Int(Int32.max)

    private let folder: String
    /// The file that is being written.
    private let part: String
    private let limit: Int
    private let willAccess: @Sendable (Access) -> Void
    // Queues, so that no thread that runs Swift tasks waits for the disk.
    private let lookups = DispatchQueue(label: "ness.cache.lookups", attributes: .concurrent)
    private let changes = DispatchQueue(label: "ness.cache.changes")
    /// The files. Empty until the folder was read.
    private let index = Lock(CacheEntries<CacheStorageKey, Void>())

    /// Makes a storage in a folder.
    /// - Parameters:
    ///   - folder: The folder of the files. A missing folder is created, readable by this user only. Other files in it stay unchanged.
    ///   - limit: The largest size of the files, in bytes. The least recently used file is removed first.
    public convenience init(_ folder: URL, limit: Int) { self.init(folder, limit: limit) { _ in } }

    /// Makes a storage in a folder.
    /// - Parameter willAccess: Called before each access to the folder. Tests count them.
    package init(_ folder: URL, limit: Int, willAccess: @escaping @Sendable (Access) -> Void) {
        self.folder = folder.path
        part = "\(folder.path)/\(UUID().uuidString)\(Self.temporarySuffix)"
        self.limit = max(0, limit)
        self.willAccess = willAccess
        changes.async { [self] in readFolder() }
    }

    /// Reads the size of the files, in bytes.
    package func size() async -> Int { (try? await changes.run { [self] in index.withLock { $0.size } }) ?? 0 }

    /// Reads a record. See `CacheStorage`.
    public func read(_ key: CacheStorageKey) async throws -> Data? {
        try await lookups.run { [self] in
            guard let record = file(key) else { return nil }
            // Another process may have written it since the folder was read. Once it is in the index, it is removed with its URL.
            if index.withLock({ $0.use(key) }) == nil {
                changes.async { [self, size = record.count] in
                    if access(path(key), F_OK) == 0 { index.withLock { $0.insert(key, (), size: size) } }
                }
            }
            // The file's modification date keeps the order of use for later processes. A failure to set it only affects which file is
            // evicted first.
            utimensat(AT_FDCWD, path(key), nil, 0)
            return record
        }
    }

    /// Writes a record. See `CacheStorage`. The expiry is ignored, because the limit makes room for new files.
    /// - Throws: An error that names the file and the reason, if the record is too large or cannot be written.
    public func write(_ record: Data, for key: CacheStorageKey, expiresAfter time: Duration) async throws {
        try await changes.run { [self] in
            guard record.count <= min(limit, Self.fileLimit) else { throw FileError("the record is larger than the folder's limit") }
            try replace(key, by: record)
            let gone = index.withLock { index in
                index.insert(key, (), size: record.count)
                return index.evict(to: limit)
            }
            try? remove(gone)
        }
    }

    /// Removes a record. See `CacheStorage`.
    public func remove(_ key: CacheStorageKey) async throws { try await changes.run { [self] in try remove([key]) } }

    /// Removes the records of a URL. See `CacheStorage`.
    public func removeAll(ofURL url: String) async throws {
        try await changes.run { [self] in try remove(index.withLock { $0.keys(of: url) }) }
    }

    /// Removes the records that a closure chooses. See `CacheStorage`. Other files in the folder stay.
    public func removeAll(where isRemoved: @Sendable (CacheStorageKey) -> Bool) async throws {
        // Another cache may have written files since the folder was read.
        let keys = try await changes.run { [self] in
            readFolder()
            return index.withLock { $0.keys }
        }
        // The closure runs off the queue.
        let chosen = keys.filter(isRemoved)
        try await changes.run { [self] in try remove(chosen) }
    }

    // MARK: files

    private func file(_ key: CacheStorageKey) -> Data? {
        willAccess(.read)
        // Another program may have put a file of any kind and size in its place.
        return OpenFile.contents(of: path(key), limit: Int64(min(limit, Self.fileLimit)))
    }

    private func replace(_ key: CacheStorageKey, by record: Data) throws {
        willAccess(.write)
        try OpenFile.replace(path(key), by: record, through: part)
    }

    private func remove(_ keys: [CacheStorageKey]) throws {
        var failure: FileError?
        for key in keys {
            willAccess(.remove)
            index.withLock { $0.remove(key) }
            // Another program may have put a folder in the file's place. It may stay, because a lookup does not read it.
            guard unlink(path(key)) != 0 else { continue }
            // Made before the check, because it captures `errno`.
            let error = FileError("remove", path(key))
            if Self.status(path(key)) != nil { failure = error }
        }
        if let failure { throw failure }
    }

    private func path(_ key: CacheStorageKey) -> String { "\(folder)/\(key.rawValue)\(Self.suffix)" }

    // MARK: changes

    private func readFolder() {
        willAccess(.list)
        let files = FileManager.default
        try? files.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var found: [(key: CacheStorageKey, size: Int, used: Double)] = []
        for file in (try? files.contentsOfDirectory(atPath: folder)) ?? [] {
            let path = "\(folder)/\(file)"
            if file.endsExactly(with: Self.temporarySuffix) { OpenFile.removeLeftover(path) }
            guard file.endsExactly(with: Self.suffix), let name = String(file.utf8.dropLast(Self.suffix.utf8.count)),
                let key = CacheStorageKey(rawValue: name), let (size, used) = Self.status(path)
            else { continue }
            found.append((key, size, used))
        }
        var entries = CacheEntries<CacheStorageKey, Void>()
        for (key, size, _) in found.sorted(by: { $0.used < $1.used }) { entries.insert(key, (), size: size) }
        let gone = entries.evict(to: limit)
        index.withLock { $0 = entries }
        try? remove(gone)
    }

    /// The size of a regular file, in bytes, and the time of its last use. `nil` if there is no regular file at the path.
    private static func status(_ path: String) -> (size: Int, used: Double)? {
        // `lstat` is used, because Foundation also looks up the names of the owner and the group.
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        let used = status.st_mtimespec
        #else
        let used = status.st_mtim
        #endif
        // The sum of the sizes must not overflow: another program may have made large sparse files.
        return (Int(min(status.st_size, 1 << 48)), Double(used.tv_sec) + Double(used.tv_nsec) / 1e9)
    }
}
