/// A binary heap of timers, ordered by deadline. The owner passes the current time in.
///
/// Adding a timer takes O(log n) time. Canceling one takes constant time on average: it returns the action immediately, but leaves an entry
/// in the heap. The heap removes that entry when it reaches the top, or when such entries outnumber the timers.
struct TimerHeap<Action> {
    private struct Entry: Sendable {
        let deadline: Duration
        /// The number of the timer, in the order in which timers were added. Timers with the same deadline fire in that order.
        let id: Int

        func isEarlier(than other: Entry) -> Bool { (deadline, id) < (other.deadline, other.id) }
    }

    /// The heap does not compact itself below this number of entries.
    private static var leastEntries: Int { 16 }

    /// The entry at `n` is earlier than those at `2n + 1` and `2n + 2`.
    private var entries: [Entry] = []
    private var actions: [Int: Action] = [:]
    private var lastID = 0
    /// The number of comparisons so far. Tests verify the cost of an operation with it.
    private(set) var comparisons = 0

    /// The number of timers.
    var count: Int { actions.count }

    /// The number of entries, including those of canceled timers.
    var entryCount: Int { entries.count }

    /// The deadline of the earliest timer, or the earlier deadline of a canceled timer. It is exact after `takeDue(at:)`.
    var earliest: Duration? { actions.isEmpty ? nil : entries.first?.deadline }

    /// Adds a timer.
    /// - Returns: The identifier for `cancel(_:)`.
    mutating func add(_ deadline: Duration, _ action: Action) -> Int {
        lastID += 1
        actions[lastID] = action
        entries.append(Entry(deadline: deadline, id: lastID))
        siftUp(entries.count - 1)
        return lastID
    }

    /// Removes a timer.
    /// - Returns: The timer's action; `nil` if the timer was canceled or due before. The owner should release it outside its lock.
    mutating func cancel(_ id: Int) -> Action? {
        let action = actions.removeValue(forKey: id)
        compactIfNeeded()
        return action
    }

    /// Removes the timers whose deadline has passed.
    /// - Returns: Their actions, ordered by deadline.
    mutating func takeDue(at now: Duration) -> [Action] {
        var due: [Action] = []
        while let first = entries.first, first.deadline <= now || actions[first.id] == nil {
            removeTop()
            if let action = actions.removeValue(forKey: first.id) { due.append(action) }
        }
        compactIfNeeded()
        return due
    }

    /// Removes the entries of canceled timers if they outnumber the timers. Amortized over all operations, each entry is moved a constant
    /// number of times.
    private mutating func compactIfNeeded() {
        guard entries.count > Self.leastEntries, entries.count > 2 * count else { return }
        entries = entries.filter { actions[$0.id] != nil }
        for index in entries.indices.prefix(entries.count / 2).reversed() { siftDown(index) }
        // A dictionary does not shrink by itself.
        if actions.capacity > 8 * max(count, Self.leastEntries) { actions = Dictionary(uniqueKeysWithValues: actions.map { ($0, $1) }) }
    }

    private mutating func removeTop() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        let entry = entries[start]
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            comparisons += 1
            guard entry.isEarlier(than: entries[parent]) else { break }
            entries[index] = entries[parent]
            index = parent
        }
        entries[index] = entry
    }

    private mutating func siftDown(_ start: Int) {
        let entry = entries[start]
        var index = start
        while true {
            var child = 2 * index + 1
            guard child < entries.count else { break }
            comparisons += 2
            if child + 1 < entries.count, entries[child + 1].isEarlier(than: entries[child]) { child += 1 }
            guard entries[child].isEarlier(than: entry) else { break }
            entries[index] = entries[child]
            index = child
        }
        entries[index] = entry
    }
}

extension TimerHeap: Sendable where Action: Sendable {}
