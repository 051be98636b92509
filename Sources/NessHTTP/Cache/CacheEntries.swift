/// A key of `CacheEntries`. All entries of a URL can be removed together.
protocol CacheEntryKey: Hashable, Sendable {
    associatedtype URLName: Hashable & Sendable
    var url: URLName { get }
}

extension CacheKey: CacheEntryKey {}
extension CacheStorageKey: CacheEntryKey {}

/// Values by key, each with a size, in the order of their last use. The time of an access does not depend on the number of values.
struct CacheEntries<Key: CacheEntryKey, Value: Sendable>: Sendable {
    /// A link of the ring. Index 0 is the sentinel: its `older` is the newest entry, its `newer` the oldest.
    private struct Link: Sendable {
        var entry: (key: Key, value: Value, size: Int)?
        var older = 0
        var newer = 0
    }

    private var links = [Link()]
    /// The indices of unused links.
    private var free: [Int] = []
    private var indices: [Key: Int] = [:]
    /// The keys by URL, so that all entries of one URL can be removed together.
    private var keysByURL: [Key.URLName: Set<Key>] = [:]
    /// The sum of the sizes.
    private(set) var size = 0

    var keys: [Key] { Array(indices.keys) }

    /// The keys with a URL.
    func keys(of url: Key.URLName) -> [Key] { Array(keysByURL[url] ?? []) }

    /// Returns the value of a key, and marks it as just used.
    mutating func use(_ key: Key) -> Value? {
        guard let index = indices[key] else { return nil }
        if links[0].older != index {
            unlink(index)
            link(index)
        }
        return links[index].entry?.value
    }

    /// Adds a value as just used, in place of an older value of the key.
    mutating func insert(_ key: Key, _ value: Value, size: Int) {
        remove(key)
        if free.isEmpty {
            free = [links.count]
            links.append(Link())
        }
        let index = free.removeLast()
        links[index].entry = (key, value, size)
        link(index)
        indices[key] = index
        keysByURL[key.url, default: []].insert(key)
        self.size += size
    }

    mutating func remove(_ key: Key) {
        guard let index = indices.removeValue(forKey: key) else { return }
        size -= links[index].entry?.size ?? 0
        links[index].entry = nil
        unlink(index)
        free.append(index)
        keysByURL[key.url]?.remove(key)
        if keysByURL[key.url]?.isEmpty == true { keysByURL[key.url] = nil }
    }

    /// Removes the least recently used entries until the sum of the sizes is within a limit. Returns their keys.
    mutating func evict(to limit: Int) -> [Key] {
        var gone: [Key] = []
        while size > limit, let oldest = links[links[0].newer].entry {
            remove(oldest.key)
            gone.append(oldest.key)
        }
        return gone
    }

    private mutating func link(_ index: Int) {
        let newest = links[0].older
        (links[index].older, links[index].newer) = (newest, 0)
        (links[newest].newer, links[0].older) = (index, index)
    }

    private mutating func unlink(_ index: Int) {
        let (older, newer) = (links[index].older, links[index].newer)
        (links[older].newer, links[newer].older) = (newer, older)
    }
}
