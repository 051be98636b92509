import Dispatch

/// How a promise settles, and how it comes to wait on others.
extension Promise {
    /// Settles the promise if it is pending.
    /// - Parameters:
    ///   - outcome: The value or the error.
    ///   - runner: Where the caller runs, if it is one of our own.
    ///   - link: The link that the outcome came by, if it came by one.
    /// - Returns: Whether this call settled it.
    @discardableResult
    final func settle(_ outcome: Outcome, _ runner: Runner?, by link: AnyLink? = nil) -> Bool {
        let plan: Settling? = lock.withLock { state in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            var plan = Settling(
                destinations: state.links.destinations(from: runner?.queue), onSettle: state.onSettle, left: .none, closing: .none)
            state.onSettle = nil
            // What else it was waiting for, it waits for no longer: the losers of a race, the work behind a timeout.
            if case .one(let edge) = state.edges, edge.link === link {} else { plan.left = state.edges }
            if state.links.live == 0 { plan.closing = state.takeEdges() }
            return plan
        }
        guard let plan else { return false }
        plan.onSettle?(nil)
        leave(plan.left, exceptBy: link)
        for queue in plan.destinations.queues { Runner.schedule(self, on: queue) }
        if plan.destinations.here {
            if let runner { runner.enqueue(self) } else { Runner(queue: nil).run(self) }
        }
        closeUpwards(plan.closing)
        return true
    }

    private func leave(_ edges: Edges, exceptBy link: AnyLink?) {
        if case .none = edges { return }
        var walk = DropWalk()
        edges.forEach { edge in
            if edge.link !== link { edge.node.leave(edge.link, in: &walk, becauseOf: nil) }
        }
        walk.finish()
    }

    /// Settles as `promise` does. What this promise waited on before is let go.
    final func follow(_ promise: Promise<Value>, _ runner: Runner?) {
        guard promise !== self else {
            settle(.failure(PromiseError.cycle), runner)
            return
        }
        let link = ClosureLink<Value>(target: self) { [self] outcome, link, runner in settle(outcome, runner, by: link) }
        let before: Edges? = lock.withLock { state in
            guard state.outcome == nil else { return nil }
            let before = state.edges
            state.edges = .one(Edge(node: promise, link: link))
            return before
        }
        guard let before else { return leave(.one(Edge(node: promise, link: link)), exceptBy: nil) }
        closeUpwards(before)
        promise.register(link, runner)
        // Somebody waits on this promise: it may be the one that this promise now waits on.
        if lock.withLock({ $0.outcome == nil && $0.links.live > 0 }), promise.waits(on: self) {
            drop(becauseOf: PromiseError.cycle)
        }
    }

    // MARK: registering

    /// Adds a link. Returns false if it was closed before it could be added.
    @discardableResult
    final func register(_ link: Link<Value>, _ runner: Runner? = nil) -> Bool {
        let next: Registering<Value> = lock.withLock { state in
            guard link.phase == .unregistered else { return .refused }
            guard let outcome = state.outcome else {
                state.links.append(link)
                return .nothing
            }
            if let queue = link.queue {
                let scheduled = state.links.isScheduled(on: queue)
                state.links.append(link)
                return scheduled ? .nothing : .schedule(queue)
            }
            state.links.append(link)
            link.phase = .running
            link.thread = currentThread()
            return .run(outcome)
        }
        switch next {
        case .nothing: break
        case .refused: return false
        case .schedule(let queue): Runner.schedule(self, on: queue)
        case .run(let outcome):
            if let runner {
                link.run(outcome, runner)
                ran(link)
            } else {
                let runner = Runner(queue: nil)
                link.run(outcome, runner)
                ran(link)
                runner.runQueued()
            }
        }
        return true
    }

    private func ran(_ link: Link<Value>) {
        closeUpwards(
            release { state in
                state.links.ran(link)
            })
    }

    /// Changes the links; lets go of what is done with, and returns the edges to close if nothing is left to do here.
    final func release(_ change: @Sendable (inout State) -> Void) -> Edges {
        let (edges, released): (Edges, [Link<Value>]) = lock.withLock { state in
            change(&state)
            let released = state.links.removeClosed()
            return (state.outcome != nil && state.links.live == 0 ? state.takeEdges() : .none, released)
        }
        _ = released
        return edges
    }

    /// Adds a step and returns the promise of its result.
    final func step<NewValue: Sendable>(
        on queue: DispatchQueue?, seesDrop: Bool, _ body: @escaping @Sendable (Outcome) throws -> Step<NewValue>
    ) -> Promise<NewValue> {
        let child = Promise<NewValue>(makeDropError: makeDropError)
        let link = StepLink(queue: queue, child: child, seesDrop: seesDrop, body: body)
        child.lock.withLock { $0.edges = .one(Edge(node: self, link: link)) }
        register(link)
        return child
    }

    /// Whether this promise can't settle before `other` does.
    private func waits(on other: any PromiseNode) -> Bool {
        var stack: [any PromiseNode] = [self]
        var seen: Set<ObjectIdentifier> = []
        while let node = stack.popLast() {
            if node === other { return true }
            guard seen.insert(ObjectIdentifier(node)).inserted else { continue }
            node.pendingEdges.forEach { stack.append($0.node) }
        }
        return false
    }
}

/// What is left to do, outside the lock, when a promise has settled.
private struct Settling: Sendable {
    var destinations: (here: Bool, queues: [DispatchQueue])
    var onSettle: (@Sendable ((any Error)?) -> Void)?
    var left: Edges
    var closing: Edges
}

/// What is left to do, outside the lock, when a link was registered.
private enum Registering<Value: Sendable>: Sendable {
    case nothing
    case refused
    case schedule(DispatchQueue)
    case run(Result<Value, any Error>)
}
