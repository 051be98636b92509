/// A key of `CacheEntries`. All entries of a URL can be removed together.
protocol CacheEntryKey: Hashable, Sendable {
    associatedtype URLName: Hashable & Sendable
    var url: URLName { get }
}

extension CacheKey: CacheEntryKey {}
extension CacheStorageKey: CacheEntryKey {}

/// Values by key, each with a size, in the order of their last use. An access takes a binary search among the values.
struct CacheEntries<Key: CacheEntryKey, Value: Sendable>: Sendable {
    private var entries: [Key: (value: Value, size: Int, place: WaiterQueue<Key>.ID)] = [:]
    /// The keys, least recently used first.
    private var order = WaiterQueue<Key>()
    /// The keys by URL, so that all entries of one URL can be removed together.
    private var keysByURL: [Key.URLName: Set<Key>] = [:]
    /// The sum of the sizes.
    private(set) var size = 0

    var keys: [Key] { Array(entries.keys) }

    /// The keys with a URL.
    func keys(of url: Key.URLName) -> [Key] { Array(keysByURL[url] ?? []) }

    /// Returns the value of a key, and marks it as just used.
    mutating func use(_ key: Key) -> Value? {
        guard let index = entries.index(forKey: key) else { return nil }
        order.leave(entries.values[index].place)
        entries.values[index].place = order.join(key)
        return entries.values[index].value
    }

    /// Adds a value as just used, in place of an older value of the key.
    mutating func insert(_ key: Key, _ value: Value, size: Int) {
        remove(key)
        entries[key] = (value, size, order.join(key))
        keysByURL[key.url, default: []].insert(key)
        self.size += size
    }

    mutating func remove(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        order.leave(entry.place)
        size -= entry.size
        keysByURL[key.url]?.remove(key)
        if keysByURL[key.url]?.isEmpty == true { keysByURL[key.url] = nil }
    }

    /// Removes the least recently used entries until the sum of the sizes is within a limit. Returns their keys.
    mutating func evict(to limit: Int) -> [Key] {
        var gone: [Key] = []
        while size > limit, let oldest = order.firstElement {
            remove(oldest)
            gone.append(oldest)
        }
        return gone
    }
}
