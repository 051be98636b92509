import Dispatch

/// The links that wait on one promise in the order of their registration; nearly always there is one, and then no array is made for it.
struct LinkList {
    private var first: AnyPromise?
    private var rest: [AnyPromise] = []
    /// Nothing in `rest` before this index waits.
    private var start = 0
    /// How many are not closed.
    private(set) var live = 0

    mutating func append(_ link: AnyPromise) {
        link.phase = .waiting
        live += 1
        if first == nil && rest.isEmpty {
            first = link
        } else {
            rest.append(link)
        }
    }

    /// The first link in order that may run there, which then counts as running.
    mutating func startNext(on queue: DispatchQueue?) -> AnyPromise? {
        if let first, first.phase == .waiting, first.canRun(on: queue) { return begin(first) }
        while start < rest.count, rest[start].phase != .waiting { start += 1 }
        var index = start
        while index < rest.count {
            let link = rest[index]
            if link.phase == .waiting, link.canRun(on: queue) { return begin(link) }
            index += 1
        }
        return nil
    }

    private func begin(_ link: AnyPromise) -> AnyPromise {
        link.phase = .running
        link.thread = currentThread()
        return link
    }

    /// The body of a link has run.
    mutating func ran(_ link: AnyPromise) {
        guard link.phase == .running else { return }
        if case .none = link.target {
            close(link)
        } else {
            link.phase = .done
        }
    }

    /// Takes a link out of account.
    mutating func close(_ link: AnyPromise) {
        let counted = link.phase != .closed && link.phase != .new
        link.phase = .closed
        if counted { live -= 1 }
    }

    /// Takes the closed links out, if it is worth it, for the caller to release outside its lock.
    mutating func removeClosed() -> Removed {
        if live == 0 {
            let removed = Removed(first: first, rest: rest)
            (first, rest, start) = (nil, [], 0)
            return removed
        }
        guard rest.count > 2 * live + 16 else { return Removed() }
        let closed = rest.filter { $0.phase == .closed }
        rest.removeAll { $0.phase == .closed }
        start = 0
        return Removed(rest: closed)
    }

    /// Links on their way out.
    struct Removed {
        var first: AnyPromise?
        var rest: [AnyPromise] = []
    }

    /// Whether a runner that is under way, or was scheduled, will come to a link on that queue.
    func isScheduled(on queue: DispatchQueue) -> Bool {
        contains { ($0.phase == .waiting || $0.phase == .running) && $0.queue?.isSame(as: queue) == true }
    }

    func contains(where predicate: (AnyPromise) -> Bool) -> Bool {
        if rest.reversed().contains(where: predicate) { return true }
        return first.map(predicate) ?? false
    }

    func forEach(_ body: (AnyPromise) -> Void) {
        if let first { body(first) }
        for link in rest { body(link) }
    }

    /// Where the waiting links want to run: whether some may run on `queue`, and on which others.
    func destinations(from queue: DispatchQueue?) -> (here: Bool, queues: [DispatchQueue]) {
        if let first, rest.isEmpty, first.phase == .waiting, first.canRun(on: queue) { return (true, []) }
        var here = false
        var queues: [DispatchQueue] = []
        forEach { link in
            guard link.phase == .waiting else { return }
            if link.canRun(on: queue) {
                here = true
            } else if let other = link.queue, !queues.contains(where: { $0.isSame(as: other) }) {
                queues.append(other)
            }
        }
        return (here, queues)
    }
}

extension AnyPromise {
    /// Whether a runner on that queue, or on none, may run this link.
    final func canRun(on other: DispatchQueue?) -> Bool {
        guard let queue else { return true }
        guard let other else { return false }
        return queue.isSame(as: other)
    }
}
