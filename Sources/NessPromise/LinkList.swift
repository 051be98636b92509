import Dispatch

/// The links that wait on one promise; nearly always there is one, and then no list is made for it.
///
/// From the second link on they are kept by queue, because the handlers of each queue run on their own, in the order of registration.
struct LinkList {
    private var only: AnyPromise?
    private var groups: LinkGroups?
    /// How many are not closed.
    private(set) var live = 0

    /// How many links and groups were looked at so far: tests assert that this grows with the number of links, not with its square.
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

    /// The first link in order that may run there, which then counts as running.
    mutating func startNext(on queue: DispatchQueue?) -> AnyPromise? {
        if let groups { return groups.startNext(on: queue) }
        guard let only, only.phase == .waiting, only.canRun(on: queue) else { return nil }
        only.begin()
        return only
    }

    /// The body of a link has run.
    mutating func ran(_ link: AnyPromise) {
        link.thread = 0
        groups?.ran(link)
        guard link.phase == .running else { return }
        if case .none = link.target {
            close(link)
        } else {
            link.phase = .done
        }
    }

    /// Takes a link out of account.
    mutating func close(_ link: AnyPromise) {
        let phase = link.phase
        link.phase = .closed
        guard phase != .closed && phase != .new else { return }
        live -= 1
        if phase == .waiting { groups?.waitsNoLonger(link) }
    }

    /// Takes the closed links out, if it is worth it, for the caller to release outside its lock.
    mutating func removeClosed() -> Removed {
        if live == 0 {
            let removed = Removed(only: only, groups: groups)
            (only, groups) = (nil, nil)
            return removed
        }
        return Removed(closed: groups?.removeClosed(live: live) ?? [])
    }

    /// Links on their way out.
    struct Removed {
        var only: AnyPromise?
        var groups: LinkGroups?
        var closed: [AnyPromise] = []
    }

    /// Whether a runner that is under way, or was scheduled, will come to a link on that queue.
    func isScheduled(on queue: DispatchQueue) -> Bool {
        if let groups { return groups.isScheduled(on: queue) }
        guard let only, only.phase == .waiting || only.isRunning else { return false }
        return only.queue?.isSame(as: queue) == true
    }

    /// Whether that thread runs a link of that queue.
    func isRunning(on queue: DispatchQueue, thread: ThreadID) -> Bool {
        if let groups { return groups.isRunning(on: queue, thread: thread) }
        guard let only, only.thread == thread else { return false }
        return only.queue?.isSame(as: queue) == true
    }

    /// All links, in the order of their registration.
    var all: [AnyPromise] { groups?.all ?? only.map { [$0] } ?? [] }

    /// Where the waiting links want to run: whether some may run on `queue`, and on which others.
    func destinations(from queue: DispatchQueue?) -> (here: Bool, queues: [DispatchQueue]) {
        if let groups { return groups.destinations(from: queue) }
        guard let only, only.phase == .waiting else { return (false, []) }
        if only.canRun(on: queue) { return (true, []) }
        return (false, only.queue.map { [$0] } ?? [])
    }
}

extension AnyPromise {
    /// Whether a runner on that queue, or on none, may run this link.
    final func canRun(on other: DispatchQueue?) -> Bool {
        guard let queue else { return true }
        guard let other else { return false }
        return queue.isSame(as: other)
    }

    /// Counts this link as running on this thread.
    final func begin() {
        phase = .running
        thread = currentThread()
    }

    /// Whether the body runs now, be the link closed or not.
    final var isRunning: Bool { thread != 0 }
}
