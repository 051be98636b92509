import Foundation

/// Stored responses as files, one each. Whatever can't be read or written counts as not stored.
///
/// An actor, so that what it does to the folder happens in one order. Its files are small, and are read and written where it runs.
actor CacheFolder {
    private static let suffix = ".nesscache"
    private static let temporarySuffix = ".nesscache-part"

    private let folder: URL
    private let limit: Int
    /// What is there; nil until someone looked.
    private var known: LeastRecentlyUsed<CacheEntryName>?

    init(_ folder: URL, limit: Int) {
        self.folder = folder
        self.limit = limit
    }

    /// How much its files take.
    var size: Int {
        look()
        return known?.size ?? 0
    }

    /// The responses with a key. The newest that answers a request counts as used.
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
            // The order of use outlives the process as the time of the file; nothing depends on it.
            try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: path(name))
        }
        return responses
    }

    /// Writes a response whole or not at all.
    /// - Parameters:
    ///   - response: The response.
    ///   - name: Its name.
    ///   - isWanted: Whether it is still to be stored.
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

    /// Removes the responses whose names are chosen.
    func remove(where isChosen: @Sendable (CacheEntryName) -> Bool) {
        look()
        for name in known?.names.filter(isChosen) ?? [] { remove(name) }
    }

    /// Removes every response, and no other file.
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
        // Another file in its place may be of any kind and size.
        guard let size = known?.size(of: name), Self.sizeOfFile(path(name)) == size else { return nil }
        guard let data = FileManager.default.contents(atPath: path(name)) else { return nil }
        return CacheFile.decode(data, name)
    }

    private func path(_ name: CacheEntryName) -> String {
        folder.appendingPathComponent("\(name.key.url)-\(name.key.credential)-\(name.variant)\(Self.suffix)").path
    }

    // MARK: what is there already

    private func look() {
        guard known == nil else { return }
        let files = FileManager.default
        try? files.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var found: [(name: CacheEntryName, size: Int, used: Date)] = []
        for file in (try? files.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let path = folder.appendingPathComponent(file).path
            // Left behind by a process that ended while it wrote.
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

    /// The size of a file; nil for what is no file.
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
