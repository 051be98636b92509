import Dispatch

/// Settling a promise, and running its links.
extension AnyPromise {
    /// Takes the lock for settling. Returns false, without holding the lock, if the promise has settled already.
    @usableFromInline
    final func beginSettling() -> Bool {
        lock()
        if status == .pending { return true }
        unlock()
        return false
    }

    /// Settles the promise, releases its lock, and runs or schedules its links. The caller holds the lock, and has stored the value if
    /// there is no error.
    /// - Parameters:
    ///   - error: The error; `nil` for a value.
    ///   - runner: The runner in which the caller runs; `nil` outside of a runner.
    ///   - link: The link whose body settles the promise; `nil` if no link does.
    @usableFromInline
    final func finishSettling(_ error: (any Error)?, _ runner: Runner?, by link: AnyPromise?) {
        failure = error
        status = error == nil ? .fulfilled : .rejected
        #if DEBUG
        if let error { noteFailure(error, by: link) }
        #endif
        let destinations = links.live == 0 ? (here: false, queues: []) : links.destinations(from: runner?.queue)
        let onSettled = settleHandler
        settleHandler = nil
        // The promise no longer waits on the others: the losers of a race, or the work behind a timeout.
        var left = edges
        if case .one(let edge) = edges, edge.link === link { left = .none }
        let closing = links.live == 0 ? edges.take() : .none
        unlock()
        onSettled?(nil)
        if case .none = left {} else { leave(left, exceptBy: link) }
        for queue in destinations.queues { Runner.schedule(self, on: queue) }
        if destinations.here {
            if let runner {
                runner.enqueue(self)
            } else {
                let runner = Runner(queue: nil)
                drain(runner)
                runner.runQueued()
            }
        }
        closeUpwards(closing)
    }

    private func leave(_ edges: Edges, exceptBy link: AnyPromise?) {
        var walk = DropWalk()
        edges.forEach { edge in
            if edge.link !== link { edge.parent.leave(edge.link, in: &walk, becauseOf: nil) }
        }
        walk.finish()
    }

    /// Settles the promise with an error if it is pending. Returns true if this call settled it.
    @discardableResult @usableFromInline
    final func reject(_ error: any Error, _ runner: Runner?, by link: AnyPromise? = nil) -> Bool {
        guard beginSettling() else { return false }
        finishSettling(error, runner, by: link)
        return true
    }

    /// Makes this promise settle as another one settles. `link` carries the outcome. This promise leaves the promises that it waited on
    /// before.
    @usableFromInline
    final func follow(_ promise: AnyPromise, by link: AnyPromise, _ runner: Runner?) {
        guard promise !== self else {
            reject(PromiseError.cycle, runner)
            return
        }
        let edge = Edges.one(Edge(parent: promise, link: link))
        guard beginSettling() else { return leave(edge, exceptBy: nil) }
        let before = edges
        edges = edge
        unlock()
        closeUpwards(before)
        promise.register(link, runner)
        // Another promise waits on this one. It may be `promise`, and then neither could settle.
        if locked({ status == .pending && links.live > 0 }), promise.waits(on: self) { drop(reason: PromiseError.cycle) }
    }

    /// Returns true if this promise cannot settle before `other` does.
    private func waits(on other: AnyPromise) -> Bool {
        var stack: [AnyPromise] = [self]
        var seen: Set<ObjectIdentifier> = []
        while let promise = stack.popLast() {
            if promise === other { return true }
            guard seen.insert(ObjectIdentifier(promise)).inserted else { continue }
            promise.pendingEdges.forEach { stack.append($0.parent) }
        }
        return false
    }

    /// The edges to the promises that this one waits on; none once it has settled.
    final var pendingEdges: Edges { locked { status == .pending ? edges : .none } }

    // MARK: links

    /// Registers a link on this promise. Returns false if the link was closed before.
    @discardableResult @usableFromInline
    final func register(_ link: AnyPromise, _ runner: Runner? = nil) -> Bool {
        lock()
        guard link.phase == .new else {
            unlock()
            return false
        }
        guard status != .pending else {
            links.append(link)
            unlock()
            return true
        }
        if let queue = link.queue {
            let isScheduled = links.isScheduled(on: queue)
            links.append(link)
            unlock()
            if !isScheduled { Runner.schedule(self, on: queue) }
            return true
        }
        // The body runs now, inside this call, so no other code can reach the link before the body is done.
        link.phase = .closed
        unlock()
        if case .itself = link.target { link.edges = .none }
        run(link, runner)
        return true
    }

    /// Runs those waiting links that may run on the runner's queue.
    final func drain(_ runner: Runner) {
        var previous: AnyPromise?
        while true {
            lock()
            if let previous { links.ran(previous) }
            guard status != .pending, let link = links.startNext(on: runner.queue) else { break }
            unlock()
            run(link, runner)
            previous = link
        }
        let removed = links.removeClosed()
        let closing = status != .pending && links.live == 0 ? edges.take() : .none
        unlock()
        closeUpwards(closing)
        withExtendedLifetime(removed) {}
    }

    /// Runs the body of a link. The promise has settled, so its outcome can be read without the lock.
    private func run(_ link: AnyPromise, _ runner: Runner?) {
        guard let body = link.body else { return }
        link.body = nil
        run(body, of: link, failure, runner)
    }

    /// Runs a body that was taken out of its link.
    final func run(_ body: Body, of link: AnyPromise, _ error: (any Error)?, _ runner: Runner?) {
        #if DEBUG
        if error != nil { link.incoming = locked { unhandled } }
        defer { if error != nil { link.incoming = nil } }
        #endif
        if link.queue == nil, HandlerScope.current != nil {
            // The body runs inside the call that settles the promise or adds the handler, but it does not belong to the scope of that call.
            HandlerScope.$current.withValue(nil) { body(self, link, error, runner) }
        } else {
            body(self, link, error, runner)
        }
    }

    /// Changes the links, then releases finished links of this promise and of those above it.
    final func release(_ change: (inout LinkList) -> Void) { closeUpwards(releasing(change)) }

    private func releasing(_ change: (inout LinkList) -> Void) -> Edges {
        lock()
        change(&links)
        let removed = links.removeClosed()
        let closing = status != .pending && links.live == 0 ? edges.take() : .none
        unlock()
        withExtendedLifetime(removed) {}
        return closing
    }

    /// Closes the links behind these edges, and continues with the parents that have no open link left.
    private func closeUpwards(_ edges: Edges) {
        var current = edges
        var stack: [Edge] = []
        while true {
            switch current {
            case .none:
                guard let edge = stack.popLast() else { return }
                current = .one(edge)
            case .one(let edge): current = edge.parent.releasing { $0.close(edge.link) }
            case .many(let several):
                stack += several
                current = .none
            }
        }
    }
}
