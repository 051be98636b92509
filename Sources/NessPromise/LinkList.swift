import Dispatch

/// The links of one promise. Nearly every promise has at most one, which needs no list.
///
/// With two or more links they are grouped by queue, because the handlers of each queue run independently, in the order of registration.
struct LinkList: Sendable {
    private var only: AnyPromise?
    private var groups: LinkGroups?
    /// The number of links that are not closed.
    private(set) var live = 0

    /// For tests: the number of links and groups that were visited so far. It grows with the number of links, not with its square.
    var steps: Int { groups?.steps ?? 0 }

    mutating func append(_ link: AnyPromise) {
        link.phase = .waiting
        live += 1
        if let groups {
            groups.append(link)
        } else if let first = only {
            let groups = LinkGroups()
            groups.append(first)
            groups.append(link)
            (only, self.groups) = (nil, groups)
        } else {
            only = link
        }
    }

    /// Returns the first waiting link that may run on a queue, and marks it as running.
    mutating func startNext(on queue: DispatchQueue?) -> AnyPromise? {
        if let groups { return groups.startNext(on: queue) }
        guard let only, only.phase == .waiting, only.canRun(on: queue) else { return nil }
        only.begin()
        return only
    }

    /// Notes that a link's body has run. Without dependents the link is closed; otherwise it is kept until they end.
    mutating func ran(_ link: AnyPromise) {
        link.thread = 0
        groups?.ran(link)
        guard link.phase == .running else { return }
        if case .none = link.target { close(link) } else { link.phase = .done }
    }

    /// Closes a link. It stays in the list until `removeClosed()`.
    mutating func close(_ link: AnyPromise) {
        let phase = link.phase
        link.phase = .closed
        // Only a registered link counts as live.
        guard phase != .closed && phase != .new else { return }
        live -= 1
    }

    /// Removes the closed links if they outnumber the others. The caller releases the returned links outside its lock.
    mutating func removeClosed() -> Removed {
        if live == 0 {
            let removed = Removed(only: only, groups: groups)
            (only, groups) = (nil, nil)
            return removed
        }
        return Removed(closed: groups?.removeClosed(live: live) ?? [])
    }

    /// Removed links, to be released outside the lock.
    struct Removed: Sendable {
        var only: AnyPromise?
        var groups: LinkGroups?
        var closed: [AnyPromise] = []
    }

    /// Returns true if a running or scheduled runner will run a new link of a queue.
    func isScheduled(on queue: DispatchQueue) -> Bool {
        if let groups { return groups.isScheduled(on: queue) }
        guard let only, only.phase == .waiting || only.isRunning else { return false }
        return only.queue === queue
    }

    /// Returns true if a thread runs a link of a queue. Another link has to wait: as there are two, they are in groups.
    func isRunning(on queue: DispatchQueue, thread: ThreadID) -> Bool { groups?.isRunning(on: queue, thread: thread) ?? false }

    /// All links, in the order of registration.
    var all: [AnyPromise] { groups?.all ?? only.map { [$0] } ?? [] }

    /// Returns whether some waiting links may run on `queue`, and the other queues on which waiting links have to run.
    func destinations(from queue: DispatchQueue?) -> (here: Bool, queues: [DispatchQueue]) {
        if let groups { return groups.destinations(from: queue) }
        guard let only, only.phase == .waiting else { return (false, []) }
        if only.canRun(on: queue) { return (true, []) }
        return (false, only.queue.map { [$0] } ?? [])
    }
}

extension AnyPromise {
    /// Returns true if a runner may run this link. `other` is the runner's queue, or `nil`.
    final func canRun(on other: DispatchQueue?) -> Bool { queue == nil || queue === other }

    /// Marks this link as running on the current thread.
    final func begin() {
        phase = .running
        thread = currentThread()
    }

    /// True while the body runs, even if the link was closed meanwhile.
    final var isRunning: Bool { thread != 0 }
}
