import Foundation
import NessLock

/// Stored responses as files, one file for each key. Responses that cannot be read or written count as not stored.
///
/// A lookup opens one file by its name. It reads no folder, and waits for no change: the index's lock is held for no system call. Changes
/// run one after another. Before the first of them the folder is read for the sizes and the order of use.
///
/// A file is renamed to its name when it is complete, and never synced. After a crash of the system the file may be missing, the older one
/// or incomplete; its checksums reveal an incomplete one.
package final class CacheFolder: Sendable {
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
    /// The files, by the digests of their keys. Empty until the folder was read.
    private let index = Lock(CacheEntries<Void>())

    init(_ folder: URL, limit: Int, willAccess: @escaping @Sendable (Access) -> Void) {
        self.folder = folder.path
        part = "\(folder.path)/\(UUID().uuidString)\(Self.temporarySuffix)"
        self.limit = limit
        self.willAccess = willAccess
        changes.async { [self] in readFolder() }
    }

    /// Reads the size of the files, in bytes.
    func size() async -> Int { await change { [self] in index.withLock { $0.size } } ?? 0 }

    /// Finds the responses with a key, newest first.
    func responses(_ key: CacheKey) async -> [CachedResponse] {
        let responses = try? await lookups.run { [self] in
            let name = key.hashed, responses = read(name)
            guard !responses.isEmpty else { return responses }
            _ = index.withLock { $0.use(name) }
            // The file's modification date keeps the order of use for later processes. A failure to set it only affects which file is
            // evicted first.
            utimensat(AT_FDCWD, path(name), nil, 0)
            return responses
        }
        return responses ?? []
    }

    /// Writes a response into its key's file, in place of the older one. Errors are ignored.
    /// - Parameters:
    ///   - response: The response.
    ///   - key: Its key.
    ///   - isWanted: Returns true as long as the response may still be stored.
    func write(_ response: CachedResponse, _ key: CacheKey, if isWanted: @escaping @Sendable () -> Bool) async {
        await change { [self] in
            guard isWanted() else { return }
            let name = key.hashed, older = response.isOnlyVariant ? [] : read(name)
            let data = CacheFile.encode(older.adding(response), name)
            guard data.count <= min(limit, Self.fileLimit), replace(name, by: data) else { return remove([name]) }
            remove(
                index.withLock { index in
                    index.insert(name, (), size: data.count)
                    return index.evict(to: limit)
                })
        }
    }

    /// Removes the responses with a key.
    func remove(_ key: CacheKey) async { await change { [self] in remove([key.hashed]) } }

    /// Removes the responses to a URL, for all credentials.
    func invalidate(_ url: ExactText) async {
        await change { [self] in remove(index.withLock { $0.keys(of: CacheKey.digest(ofURL: url)) }) }
    }

    /// Removes the responses to a user.
    func removeAll(of user: ExactText) async {
        await change { [self] in
            let keys = index.withLock { $0.keys }
            remove(keys.filter { !$0.user.text.isEmpty && $0.user == CacheKey.digest(of: user, at: $0.url) })
        }
    }

    /// Removes every response. Other files in the folder stay.
    func removeAll() async {
        await change { [self] in
            // Another cache may have written files since the folder was read.
            readFolder()
            remove(index.withLock { $0.keys })
        }
    }

    // MARK: files

    private func read(_ name: CacheKey) -> [CachedResponse] {
        willAccess(.read)
        // Another program may have put a file of any kind and size in its place.
        guard let file = try? OpenFile(path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK), let size = try? file.length(),
            size <= min(limit, Self.fileLimit), (try? file.read(upTo: CacheFile.mark.count, at: 0)) == CacheFile.mark,
            let data = try? file.read(Int(size), at: 0)
        else { return [] }
        return CacheFile.decode(data, name)
    }

    private func replace(_ name: CacheKey, by data: Data) -> Bool {
        willAccess(.write)
        do {
            try OpenFile(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600).write(data, at: 0)
            try OpenFile.rename(part, to: path(name))
            return true
        } catch {
            unlink(part)
            return false
        }
    }

    private func remove(_ names: [CacheKey]) {
        for name in names {
            willAccess(.remove)
            index.withLock { $0.remove(name) }
            unlink(path(name))
        }
    }

    private func path(_ name: CacheKey) -> String {
        let user = name.user.text.isEmpty ? "" : "-\(name.user.text)"
        let credential = name.credential.text.isEmpty && user.isEmpty ? "" : "-\(name.credential.text)"
        return "\(folder)/\(name.url.text)\(credential)\(user)\(Self.suffix)"
    }

    // MARK: changes

    /// Runs a change after the earlier ones.
    @discardableResult
    private func change<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? { try? await changes.run(body) }

    private func readFolder() {
        willAccess(.list)
        let files = FileManager.default
        try? files.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var found: [(name: CacheKey, size: Int, used: Double)] = []
        for file in (try? files.contentsOfDirectory(atPath: folder)) ?? [] {
            let path = "\(folder)/\(file)"
            // A process left this file behind when it ended during a write.
            if file.endsExactly(with: Self.temporarySuffix) { unlink(path) }
            guard let name = Self.name(ofFile: file), let (size, used) = Self.status(path) else { continue }
            found.append((name, size, used))
        }
        var entries = CacheEntries<Void>()
        for (name, size, _) in found.sorted(by: { $0.used < $1.used }) { entries.insert(name, (), size: size) }
        let gone = entries.evict(to: limit)
        index.withLock { $0 = entries }
        remove(gone)
    }

    /// The size of a regular file, in bytes, and the time of its last use. `nil` if there is no regular file at the path.
    private static func status(_ path: String) -> (size: Int, used: Double)? {
        // Not with Foundation, which also looks up the names of the owner and the group.
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

    private static func name(ofFile file: String) -> CacheKey? {
        guard file.endsExactly(with: suffix) else { return nil }
        let digests = file.utf8.dropLast(suffix.utf8.count).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isDigit: (UInt8) -> Bool = { (48...57).contains($0) || (97...102).contains($0) }
        guard digests.count <= 3, digests[0].count == 64,
            digests.allSatisfy({ ($0.isEmpty || $0.count == 64) && $0.allSatisfy(isDigit) })
        else { return nil }
        let texts = digests.map { ExactText(String(decoding: $0, as: UTF8.self)) } + [ExactText(""), ExactText("")]
        return CacheKey(url: texts[0], user: texts[2], credential: texts[1])
    }
}
