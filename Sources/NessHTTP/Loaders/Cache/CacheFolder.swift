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
    private var known: LeastRecentlyUsed<CacheEntryName>?

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
    func responses(_ key: CacheKey, for request: HTTPRequest) -> [CachedResponse] {
        look()
        var responses: [CachedResponse] = []
        for name in known?.names.filter({ $0.key == key }) ?? [] {
            guard let response = read(name) else {
                remove(name)
                continue
            }
            responses.append(response)
        }
        if let used = CacheMatch(among: responses, for: request).response {
            let name = CacheEntryName(key: key, variant: used.variant)
            known?.touch(name)
            // The file's modification date keeps the order of use for later processes. A failure to set it only affects which file is
            // evicted first.
            try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: path(name))
        }
        return responses
    }

    /// Writes a complete file, or no file. Errors are ignored.
    /// - Parameters:
    ///   - response: The response.
    ///   - name: Its name.
    ///   - isWanted: Returns true as long as the response may still be stored.
    func write(_ response: CachedResponse, _ name: CacheEntryName, if isWanted: @Sendable () -> Bool) {
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
        known?.insert(name, size: data.count)
        evict()
    }

    /// Removes the responses whose names the closure selects.
    func remove(where isChosen: @Sendable (CacheEntryName) -> Bool) {
        look()
        for name in known?.names.filter(isChosen) ?? [] { remove(name) }
    }

    /// Removes every response. Other files in the folder stay.
    func removeAll() { remove { _ in true } }

    private func remove(_ name: CacheEntryName) {
        guard known?.size(of: name) != nil else { return }
        known?.remove(name)
        try? FileManager.default.removeItem(atPath: path(name))
    }

    private func evict() {
        for name in known?.evict(to: limit) ?? [] { try? FileManager.default.removeItem(atPath: path(name)) }
    }

    private func read(_ name: CacheEntryName) -> CachedResponse? {
        // Another program may have put a file of any kind and size in its place.
        guard let size = known?.size(of: name), Self.sizeOfFile(path(name)) == size else { return nil }
        guard let data = FileManager.default.contents(atPath: path(name)) else { return nil }
        return CacheFile.decode(data, name)
    }

    private func path(_ name: CacheEntryName) -> String {
        folder.appendingPathComponent("\(name.key.url)-\(name.key.credential)-\(name.variant)\(Self.suffix)").path
    }

    // MARK: reading the folder

    private func look() {
        guard known == nil else { return }
        let files = FileManager.default
        try? files.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var found: [(name: CacheEntryName, size: Int, used: Date)] = []
        for file in (try? files.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let path = folder.appendingPathComponent(file).path
            // A process left this file behind when it ended during a write.
            if file.hasSuffix(Self.temporarySuffix) { try? files.removeItem(atPath: path) }
            guard let name = Self.name(ofFile: file), let size = Self.sizeOfFile(path) else { continue }
            let used = (try? files.attributesOfItem(atPath: path))?[.modificationDate] as? Date
            found.append((name, size, used ?? .distantPast))
        }
        var known = LeastRecentlyUsed<CacheEntryName>()
        for (name, size, _) in found.sorted(by: { $0.used < $1.used }) { known.insert(name, size: size) }
        self.known = known
        evict()
    }

    /// The size of a regular file, in bytes. `nil` if there is no regular file at the path.
    private static func sizeOfFile(_ path: String) -> Int? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeRegular
        else { return nil }
        return (attributes[.size] as? NSNumber)?.intValue
    }

    private static func name(ofFile file: String) -> CacheEntryName? {
        guard file.hasSuffix(suffix) else { return nil }
        let parts = file.dropLast(suffix.count).split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        let isDigest: (String) -> Bool = { $0.utf8.count == 64 && $0.allSatisfy { "0123456789abcdef".contains($0) } }
        guard parts.count == 3, parts.allSatisfy(isDigest) else { return nil }
        return CacheEntryName(key: CacheKey(url: parts[0], credential: parts[1]), variant: parts[2])
    }
}
