/// Timers in the order of their deadlines: a binary heap. It knows no clock; its owner says what time it is.
///
/// Adding a timer costs the logarithm of the number of timers at most. Cancelling one costs the same however many there are: the timer gives
/// its action back at once, and leaves an entry behind. The entry goes when it comes to the top, or when such entries outnumber the timers.
struct TimerHeap<Action> {
    private struct Entry: Sendable {
        let deadline: Duration
        /// Numbers the timers as they are added. Timers with one deadline are due in that order.
        let id: Int

        func isEarlier(than other: Entry) -> Bool { (deadline, id) < (other.deadline, other.id) }
    }

    /// The number of entries that are kept whether or not they are cancelled.
    private static var leastEntries: Int { 16 }

    /// The entry at `n` is earlier than those at `2n + 1` and `2n + 2`.
    private var entries: [Entry] = []
    private var actions: [Int: Action] = [:]
    private var lastID = 0
    /// The number of entries that were compared so far. Tests show with it what an operation costs.
    private(set) var comparisons = 0

    /// The number of timers.
    var count: Int { actions.count }

    /// The number of entries, those of cancelled timers among them.
    var entryCount: Int { entries.count }

    /// The deadline of the earliest timer, or an earlier one of a timer that was cancelled. It is exact after `takeDue(at:)`.
    var earliest: Duration? { actions.isEmpty ? nil : entries.first?.deadline }

    /// Adds a timer.
    /// - Returns: The identifier by which it can be cancelled.
    mutating func add(_ deadline: Duration, _ action: Action) -> Int {
        lastID += 1
        actions[lastID] = action
        entries.append(Entry(deadline: deadline, id: lastID))
        siftUp(entries.count - 1)
        return lastID
    }

    /// Removes a timer.
    /// - Returns: Its action, to be released outside the owner's lock; `nil` if the timer was cancelled or taken before.
    mutating func cancel(_ id: Int) -> Action? {
        let action = actions.removeValue(forKey: id)
        compactIfNeeded()
        return action
    }

    /// Removes the timers whose deadline has come.
    /// - Returns: Their actions, the earliest first.
    mutating func takeDue(at now: Duration) -> [Action] {
        var due: [Action] = []
        while let first = entries.first, first.deadline <= now || actions[first.id] == nil {
            removeTop()
            if let action = actions.removeValue(forKey: first.id) { due.append(action) }
        }
        compactIfNeeded()
        return due
    }

    /// Drops the entries of cancelled timers if there are more of them than timers. An entry is looked at a few times in its life that way.
    private mutating func compactIfNeeded() {
        guard entries.count > Self.leastEntries, entries.count > 2 * count else { return }
        entries = entries.filter { actions[$0.id] != nil }
        for index in entries.indices.prefix(entries.count / 2).reversed() { siftDown(index) }
        // The dictionary keeps its size otherwise, however few timers are left.
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
