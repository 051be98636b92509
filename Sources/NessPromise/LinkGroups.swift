import Dispatch

/// The links of one promise, grouped by queue. To add, run or close a link, a constant number of links and groups is visited on average.
///
/// It belongs to one `LinkList`. `@unchecked Sendable`: the lock of the promise guards it.
final class LinkGroups: @unchecked Sendable {
    private struct Entry {
        /// The number of the registration, counted over all groups.
        let number: Int
        let link: AnyPromise
    }

    private struct Group {
        let queue: DispatchQueue?
        var entries: [Entry] = []
        /// The index of the first entry that may wait. The entries before it no longer wait.
        var head = 0
        var waiting = 0
        /// The running link. A queue nearly always runs one link of a promise at a time, which needs no array.
        var running: AnyPromise?
        var othersRunning: [AnyPromise] = []

        var isRunning: Bool { running != nil || !othersRunning.isEmpty }

        mutating func began(_ link: AnyPromise) {
            if running == nil {
                running = link
            } else {
                othersRunning.append(link)
            }
        }

        mutating func ended(_ link: AnyPromise) {
            if running === link {
                running = nil
            } else {
                othersRunning.removeAll { $0 === link }
            }
        }
    }

    /// Up to this number of groups, a linear search is faster than hashing.
    private static let few = 4

    private var groups: [Group] = []
    /// The index of the group of links that run on any queue.
    private var immediate: Int?
    /// The indices of the groups by queue, once there are more than `few`.
    private var indices: [ObjectIdentifier: Int] = [:]
    private var entryCount = 0
    private var nextNumber = 0
    private(set) var steps = 0

    // MARK: adding and leaving

    func append(_ link: AnyPromise) {
        steps += 1
        let index = index(of: link.queue) ?? addGroup(link.queue)
        groups[index].entries.append(Entry(number: nextNumber, link: link))
        nextNumber += 1
        entryCount += 1
        if link.phase == .waiting { groups[index].waiting += 1 }
        if link.isRunning { groups[index].began(link) }
    }

    /// Notes that a link was closed before its body started.
    func waitsNoLonger(_ link: AnyPromise) {
        steps += 1
        if let index = index(of: link.queue) { groups[index].waiting -= 1 }
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
            if !group.entries.isEmpty || group.isRunning { remaining.append(group) }
        }
        entryCount -= removed.count
        groups = remaining
        immediate = groups.firstIndex { $0.queue == nil }
        indices = [:]
        if groups.count > Self.few { for index in groups.indices { note(index) } }
        return removed
    }

    // MARK: running

    /// Returns the first waiting link that may run on a queue, and marks it as running.
    func startNext(on queue: DispatchQueue?) -> AnyPromise? {
        var first: (index: Int, number: Int, link: AnyPromise)?
        if let queue, let index = index(of: queue) { first = candidate(at: index) }
        if let index = immediate, let other = candidate(at: index), other.number < first?.number ?? .max { first = other }
        guard let first else { return nil }
        groups[first.index].head += 1
        groups[first.index].waiting -= 1
        groups[first.index].began(first.link)
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
        steps += 1 + groups[index].othersRunning.count
        groups[index].ended(link)
    }

    // MARK: queries

    func isScheduled(on queue: DispatchQueue) -> Bool {
        steps += 1
        guard let index = index(of: queue) else { return false }
        return groups[index].waiting > 0 || groups[index].isRunning
    }

    func isRunning(on queue: DispatchQueue, thread: ThreadID) -> Bool {
        guard let index = index(of: queue) else { return false }
        return groups[index].running?.thread == thread || groups[index].othersRunning.contains { $0.thread == thread }
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
        for (index, group) in groups.enumerated() where group.waiting > 0 {
            if let other = group.queue, index != current { queues.append(other) } else { here = true }
        }
        return (here, queues)
    }

    // MARK: indices of groups

    private func index(of queue: DispatchQueue?) -> Int? {
        guard let queue else { return immediate }
        if groups.count <= Self.few { return groups.firstIndex { $0.queue === queue } }
        return indices[ObjectIdentifier(queue)]
    }

    private func addGroup(_ queue: DispatchQueue?) -> Int {
        let index = groups.count
        groups.append(Group(queue: queue))
        // Growing from one entry to two and then to four would cost more than the memory.
        groups[index].entries.reserveCapacity(4)
        if queue == nil { immediate = index }
        if groups.count == Self.few + 1 {
            for index in groups.indices { note(index) }
        } else if groups.count > Self.few {
            note(index)
        }
        return index
    }

    private func note(_ index: Int) {
        guard let queue = groups[index].queue else { return }
        indices[ObjectIdentifier(queue)] = index
    }
}
