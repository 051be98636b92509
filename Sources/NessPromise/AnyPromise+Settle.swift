import Dispatch

/// How a promise settles, and how its links run.
extension AnyPromise {
    /// Takes the lock for settling. Returns false, without the lock, if the promise has settled.
    @usableFromInline
    final func beginSettling() -> Bool {
        lock()
        if status == .pending { return true }
        unlock()
        return false
    }

    /// Settles: the lock is held, a value is in its place if there is no error. Gives the lock back and has the links run.
    /// - Parameters:
    ///   - error: The error, or nil.
    ///   - runner: Where the caller runs, if it is one of our own.
    ///   - link: The link that the outcome came by, if it came by one.
    @usableFromInline
    final func finishSettling(_ error: (any Error)?, _ runner: Runner?, by link: AnyPromise?) {
        failure = error
        status = error == nil ? .fulfilled : .rejected
        let destinations = links.live == 0 ? (here: false, queues: []) : links.destinations(from: runner?.queue)
        let told = settled
        settled = nil
        // What else it was waiting for, it waits for no longer: the losers of a race, the work behind a timeout.
        var left = edges
        if case .one(let edge) = edges, edge.link === link { left = .none }
        let closing = links.live == 0 ? edges.take() : .none
        unlock()
        told?(nil)
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

    /// Rejects the promise if it is pending. Returns whether this call did.
    @discardableResult @usableFromInline
    final func reject(_ error: any Error, _ runner: Runner?, by link: AnyPromise? = nil) -> Bool {
        guard beginSettling() else { return false }
        finishSettling(error, runner, by: link)
        return true
    }

    /// Settles as `promise` does, which `link` carries over. What this promise waited on before is let go.
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
        // Somebody waits on this promise: it may be the one that this promise now waits on.
        if locked({ status == .pending && links.live > 0 }), promise.waits(on: self) { drop(reason: PromiseError.cycle) }
    }

    /// Whether this promise can't settle before `other` does.
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

    /// What this promise waits on, while it is pending.
    final var pendingEdges: Edges { locked { status == .pending ? edges : .none } }

    // MARK: links

    /// Adds a link. Returns false if it was closed before it could be added.
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
        // It runs now, inside this call: nothing can reach it before it is done.
        link.phase = .closed
        unlock()
        if case .itself = link.target { link.edges = .none }
        run(link, runner)
        return true
    }

    /// Runs the waiting links that the runner may run.
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

    /// Runs the body of a link that has been started. The promise has settled, so its outcome can be read without the lock.
    private func run(_ link: AnyPromise, _ runner: Runner?) {
        guard let body = link.body else { return }
        link.body = nil
        run(body, of: link, failure, runner)
    }

    /// Runs the body of a link, which was taken out of it.
    final func run(_ body: Body, of link: AnyPromise, _ error: (any Error)?, _ runner: Runner?) {
        if link.queue == nil, HandlerScope.current != nil {
            // It runs inside the call that settles or registers, but does not belong to that call's work.
            HandlerScope.$current.withValue(nil) { body(self, link, error, runner) }
        } else {
            body(self, link, error, runner)
        }
    }

    /// Changes the links; lets go of what is done with, here and upwards.
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

    /// Closes edges upwards, as far as each closed one leaves its promise with nothing to do.
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
