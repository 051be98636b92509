import Dispatch

/// The links of one promise in the order of their registration; nearly always there is one, and then no array is made for it.
struct LinkList<Value: Sendable>: Sendable {
    private var first: Link<Value>?
    private var rest: [Link<Value>] = []
    /// Nothing in `rest` before this index waits.
    private var start = 0
    /// How many are not closed.
    private(set) var live = 0

    mutating func append(_ link: Link<Value>) {
        link.phase = .waiting
        live += 1
        if first == nil && rest.isEmpty {
            first = link
        } else {
            rest.append(link)
        }
    }

    /// The first link in order that may run there, which then counts as running.
    mutating func startNext(on queue: DispatchQueue?) -> Link<Value>? {
        if let first, first.phase == .waiting, first.canRun(on: queue) { return start(first) }
        while start < rest.count, rest[start].phase != .waiting { start += 1 }
        var index = start
        while index < rest.count {
            let link = rest[index]
            if link.phase == .waiting, link.canRun(on: queue) { return start(link) }
            index += 1
        }
        return nil
    }

    private func start(_ link: Link<Value>) -> Link<Value> {
        link.phase = .running
        link.thread = currentThread()
        return link
    }

    /// The body of a link has run.
    mutating func ran(_ link: Link<Value>) {
        guard link.phase == .running else { return }
        if link.dependent == nil {
            closed(link)
        } else {
            link.phase = .done
        }
    }

    /// Takes a link out of account. Returns whether it was in account.
    @discardableResult
    mutating func closed(_ link: AnyLink) -> Bool {
        let counted = link.phase != .closed && link.phase != .unregistered
        link.phase = .closed
        if counted { live -= 1 }
        return counted
    }

    /// Takes the closed links out, if it is worth it, for the caller to release outside its lock.
    mutating func removeClosed() -> [Link<Value>] {
        if live == 0 {
            let all = rest + [first].compactMap { $0 }
            (first, rest, start) = (nil, [], 0)
            return all
        }
        guard rest.count > 2 * live + 16 else { return [] }
        let closed = rest.filter { $0.phase == .closed }
        rest.removeAll { $0.phase == .closed }
        start = 0
        return closed
    }

    /// Whether a runner that is under way, or was scheduled, will come to a link on that queue.
    func isScheduled(on queue: DispatchQueue) -> Bool {
        contains { ($0.phase == .waiting || $0.phase == .running) && $0.queue?.isSame(as: queue) == true }
    }

    func contains(where predicate: (Link<Value>) -> Bool) -> Bool {
        if rest.reversed().contains(where: predicate) { return true }
        return first.map(predicate) ?? false
    }

    func forEach(_ body: (Link<Value>) -> Void) {
        if let first { body(first) }
        rest.forEach(body)
    }

    /// Where the waiting links want to run: whether some may run on `queue`, and on which others.
    func destinations(from queue: DispatchQueue?) -> (here: Bool, queues: [DispatchQueue]) {
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
