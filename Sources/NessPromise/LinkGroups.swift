import Dispatch

/// The links of one promise, grouped by queue. To add, run or close a link, a constant number of links and groups is visited on average.
///
/// It belongs to one `LinkList`. `@unchecked Sendable`: the lock of the promise guards it.
final class LinkGroups: @unchecked Sendable {
    private struct Group {
        let queue: DispatchQueue?
        /// The links, each with the number of its registration, counted over all groups.
        var entries: [(number: Int, link: AnyPromise)] = []
        /// The index of the first entry that may wait. The entries before it no longer wait.
        var head = 0
        /// The running links. A queue nearly always runs one link of a promise at a time.
        var running: [AnyPromise] = []
    }

    private var groups: [Group] = []
    /// The index of each group by its queue. The key `nil` stands for links that run on any queue.
    private var indices: [ObjectIdentifier?: Int] = [:]
    private var entryCount = 0
    private var nextNumber = 0
    private(set) var steps = 0

    // MARK: adding and leaving

    func append(_ link: AnyPromise) {
        steps += 1
        let index = index(of: link.queue) ?? addGroup(link.queue)
        groups[index].entries.append((nextNumber, link))
        nextNumber += 1
        entryCount += 1
        if link.isRunning { groups[index].running.append(link) }
    }

    /// Removes the closed links once they outnumber the others, so that each link is moved about once.
    func removeClosed(live: Int) -> [AnyPromise] {
        guard entryCount > 2 * live + 16 else { return [] }
        steps += entryCount + groups.count
        var removed: [AnyPromise] = []
        var remaining: [Group] = []
        for var group in groups {
            let entries = group.entries
            let head = group.head
            (group.entries, group.head) = ([], 0)
            for (index, entry) in entries.enumerated() {
                if entry.link.phase == .closed {
                    removed.append(entry.link)
                } else {
                    group.entries.append(entry)
                    if index < head { group.head += 1 }
                }
            }
            if !group.entries.isEmpty || !group.running.isEmpty { remaining.append(group) }
        }
        entryCount -= removed.count
        groups = remaining
        indices = [:]
        for (index, group) in groups.enumerated() { indices[group.queue.map { ObjectIdentifier($0) }] = index }
        return removed
    }

    // MARK: running

    /// Returns the first waiting link that may run on a queue, and marks it as running.
    func startNext(on queue: DispatchQueue?) -> AnyPromise? {
        var first: (index: Int, number: Int, link: AnyPromise)?
        if let queue, let index = index(of: queue) { first = candidate(at: index) }
        if let index = index(of: nil), let other = candidate(at: index), other.number < first?.number ?? .max { first = other }
        guard let first else { return nil }
        groups[first.index].head += 1
        groups[first.index].running.append(first.link)
        first.link.begin()
        return first.link
    }

    /// Returns the first waiting link of a group.
    private func candidate(at index: Int) -> (index: Int, number: Int, link: AnyPromise)? {
        steps += 1
        while groups[index].head < groups[index].entries.count {
            let entry = groups[index].entries[groups[index].head]
            if entry.link.phase == .waiting { return (index, entry.number, entry.link) }
            groups[index].head += 1
            steps += 1
        }
        return nil
    }

    /// Notes that the body of a link has run.
    func ran(_ link: AnyPromise) {
        guard let index = index(of: link.queue) else { return }
        steps += groups[index].running.count
        groups[index].running.removeAll { $0 === link }
    }

    // MARK: queries

    func isScheduled(on queue: DispatchQueue) -> Bool {
        steps += 1
        guard let index = index(of: queue) else { return false }
        return !groups[index].running.isEmpty || candidate(at: index) != nil
    }

    func isRunning(on queue: DispatchQueue, thread: ThreadID) -> Bool {
        index(of: queue).map { groups[$0].running.contains { $0.thread == thread } } ?? false
    }

    /// All links, in the order of registration.
    var all: [AnyPromise] {
        let entries = groups.count == 1 ? groups[0].entries : groups.flatMap(\.entries).sorted { $0.number < $1.number }
        return entries.map(\.link)
    }

    func destinations(from queue: DispatchQueue?) -> (here: Bool, queues: [DispatchQueue]) {
        steps += groups.count
        let current = queue.flatMap { index(of: $0) }
        var here = false
        var queues: [DispatchQueue] = []
        for index in groups.indices where candidate(at: index) != nil {
            if let other = groups[index].queue, index != current { queues.append(other) } else { here = true }
        }
        return (here, queues)
    }

    // MARK: indices of groups

    private func index(of queue: DispatchQueue?) -> Int? { indices[queue.map { ObjectIdentifier($0) }] }

    private func addGroup(_ queue: DispatchQueue?) -> Int {
        let index = groups.count
        groups.append(Group(queue: queue))
        // Growing from one entry to two and then to four would cost more than the memory.
        groups[index].entries.reserveCapacity(4)
        indices[queue.map { ObjectIdentifier($0) }] = index
        return index
    }
}
