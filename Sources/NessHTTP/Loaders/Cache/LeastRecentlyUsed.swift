/// Names with a size each, in the order of their last use. It tells which names to evict when the sum of the sizes is too large.
struct LeastRecentlyUsed<Name: Hashable & Sendable>: Sendable {
    private struct Record: Sendable {
        let size: Int
        var use: Int
    }

    private var records: [Name: Record] = [:]
    /// Every use, in order. Only the last use of a name counts; removing the older ones would mean a search.
    private var uses: [(name: Name, use: Int)] = []
    private var firstUse = 0
    private var nextUse = 0
    /// The sum of the sizes.
    private(set) var size = 0

    var names: some Collection<Name> { records.keys }

    /// The size of a name. `nil` if the name is not present.
    func size(of name: Name) -> Int? { records[name]?.size }

    /// Adds a name as just used. A name that is present gets the new size.
    mutating func insert(_ name: Name, size: Int) {
        remove(name)
        records[name] = Record(size: size, use: nextUse)
        self.size += size
        noteUse(of: name)
    }

    /// Marks a name as just used.
    mutating func touch(_ name: Name) {
        guard records[name] != nil else { return }
        records[name]?.use = nextUse
        noteUse(of: name)
    }

    mutating func remove(_ name: Name) { size -= records.removeValue(forKey: name)?.size ?? 0 }

    /// Removes the least recently used names until the sum is within a limit. Returns the removed names.
    mutating func evict(to limit: Int) -> [Name] {
        var gone: [Name] = []
        while size > limit, firstUse < uses.count {
            let (name, use) = uses[firstUse]
            firstUse += 1
            guard records[name]?.use == use else { continue }
            remove(name)
            gone.append(name)
        }
        return gone
    }

    private mutating func noteUse(of name: Name) {
        uses.append((name, nextUse))
        nextUse += 1
        guard uses.count > 64 + 2 * records.count else { return }
        uses = uses[firstUse...].filter { records[$0.name]?.use == $0.use }
        firstUse = 0
    }
}
