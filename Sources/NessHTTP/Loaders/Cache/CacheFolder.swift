import Foundation

/// Stored responses as files, one file for each response. A response that cannot be read or written counts as not stored.
///
/// An actor, so that its operations on the folder happen one after another. The files are small, so the actor reads and writes them
/// synchronously.
actor CacheFolder {
    private static let suffix = ".nesscache"
    private static let temporarySuffix = ".nesscache-part"

    private let folder: URL
    private let limit: Int
    /// The responses in the folder. `nil` until the folder was read.
    private var known: LeastRecentlyUsed<CacheFileName>?
    /// The names by target, so that a lookup and an invalidation cost the same with any number of responses.
    private var names: [String: Set<CacheFileName>] = [:]

    init(_ folder: URL, limit: Int) {
        self.folder = folder
        self.limit = limit
    }

    /// The size of the files, in bytes.
    var size: Int {
        look()
        return known?.size ?? 0
    }

    /// Returns the responses with a key. The newest response that matches the request counts as used.
    func responses(_ key: CacheFileKey, for request: HTTPRequest) -> [CachedResponse] {
        look()
        var responses: [CachedResponse] = []
        for name in names[key.url]?.filter({ $0.key == key }) ?? [] {
            guard let response = read(name) else {
                remove(name)
                continue
            }
            responses.append(response)
        }
        if let used = CacheMatch(among: responses, for: request).response {
            let name = CacheFileName(key: key, variant: used.variant)
            known?.touch(name)
            // The file's modification date keeps the order of use for later processes. A failure to set it only affects which file is
            // evicted first.
            utimensat(AT_FDCWD, path(name), nil, 0)
        }
        return responses
    }

    /// Writes a complete file, or no file. Errors are ignored.
    /// - Parameters:
    ///   - response: The response.
    ///   - name: Its name.
    ///   - isWanted: Returns true as long as the response may still be stored.
    func write(_ response: CachedResponse, _ name: CacheFileName, if isWanted: @Sendable () -> Bool) {
        guard isWanted() else { return }
        look()
        remove(name)
        guard let data = CacheFile.encode(response, name), data.count <= limit else { return }
        let part = folder.appendingPathComponent(UUID().uuidString + Self.temporarySuffix).path
        guard FileManager.default.createFile(atPath: part, contents: data, attributes: [.posixPermissions: 0o600]) else { return }
        guard rename(part, path(name)) == 0 else {
            try? FileManager.default.removeItem(atPath: part)
            return
        }
        insert(name, size: data.count)
        evict()
    }

    /// Removes the responses with a key.
    func remove(_ key: CacheFileKey) {
        look()
        for name in names[key.url]?.filter({ $0.key == key }) ?? [] { remove(name) }
    }

    /// Removes every response to a target, for all credentials.
    /// - Parameter url: The digest of the target.
    func invalidate(_ url: String) {
        look()
        for name in names[url] ?? [] { remove(name) }
    }

    /// Removes every response. Other files in the folder stay.
    func removeAll() {
        look()
        for name in names.values.joined() { remove(name) }
    }

    private func insert(_ name: CacheFileName, size: Int) {
        known?.insert(name, size: size)
        names[name.key.url, default: []].insert(name)
    }

    private func forget(_ name: CacheFileName) {
        names[name.key.url]?.remove(name)
        if names[name.key.url]?.isEmpty == true { names[name.key.url] = nil }
    }

    private func remove(_ name: CacheFileName) {
        guard known?.size(of: name) != nil else { return }
        known?.remove(name)
        forget(name)
        try? FileManager.default.removeItem(atPath: path(name))
    }

    private func evict() {
        for name in known?.evict(to: limit) ?? [] {
            forget(name)
            try? FileManager.default.removeItem(atPath: path(name))
        }
    }

    private func read(_ name: CacheFileName) -> CachedResponse? {
        // Another program may have put a file of any kind and size in its place.
        guard let size = known?.size(of: name), Self.sizeOfFile(path(name)) == size else { return nil }
        guard let data = FileManager.default.contents(atPath: path(name)) else { return nil }
        return CacheFile.decode(data, name)
    }

    private func path(_ name: CacheFileName) -> String {
        folder.appendingPathComponent("\(name.key.url)-\(name.key.credential)-\(name.variant)\(Self.suffix)").path
    }

    // MARK: reading the folder

    private func look() {
        guard known == nil else { return }
        let files = FileManager.default
        try? files.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var found: [(name: CacheFileName, size: Int, used: Date)] = []
        for file in (try? files.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let path = folder.appendingPathComponent(file).path
            // A process left this file behind when it ended during a write.
            if file.hasSuffix(Self.temporarySuffix) { try? files.removeItem(atPath: path) }
            guard let name = Self.name(ofFile: file), let size = Self.sizeOfFile(path) else { continue }
            let used = (try? files.attributesOfItem(atPath: path))?[.modificationDate] as? Date
            found.append((name, size, used ?? .distantPast))
        }
        known = LeastRecentlyUsed()
        for (name, size, _) in found.sorted(by: { $0.used < $1.used }) { insert(name, size: size) }
        evict()
    }

    /// The size of a regular file, in bytes. `nil` if there is no regular file at the path.
    private static func sizeOfFile(_ path: String) -> Int? {
        // Not with Foundation, which also looks up the names of the owner and the group.
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    private static func name(ofFile file: String) -> CacheFileName? {
        guard file.hasSuffix(suffix) else { return nil }
        let parts = file.dropLast(suffix.count).split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        let isDigest: (String) -> Bool = { $0.utf8.count == 64 && $0.allSatisfy { "0123456789abcdef".contains($0) } }
        guard parts.count == 3, parts.allSatisfy(isDigest) else { return nil }
        return CacheFileName(key: CacheFileKey(url: parts[0], credential: parts[1]), variant: parts[2])
    }
}
