import Dispatch

/// Settling a promise, and running its links.
extension AnyPromise {
    /// Settles the promise if it is pending, and runs or schedules its links.
    /// - Parameters:
    ///   - error: The error; `nil` for a value.
    ///   - runner: The runner in which the caller runs; `nil` outside of a runner.
    ///   - link: The link whose body settles the promise; `nil` if no link does.
    ///   - store: Stores the value. It runs under the lock.
    @usableFromInline
    final func settle(_ error: (any Error)?, _ runner: Runner?, by link: AnyPromise?, storing store: () -> Void = {}) {
        guard let effects = markSettled(error, runner, by: link, store) else { return }
        perform(effects, runner, by: link)
    }

    /// The effects of settling a promise, in the order in which they happen.
    ///
    /// The handler runs first, so that the owner of the work learns of the end before other code runs. The promise then leaves the losers,
    /// and its links run. The edges close last, because a promise cannot leave by a closed link.
    private struct SettleEffects: Sendable {
        let handler: (@Sendable ((any Error)?) -> Void)?
        /// The edges to the promises that this one no longer waits on: the losers of a race, or the work behind a timeout.
        var left = Edges.none
        var destinations = (here: false, queues: [DispatchQueue]())
        /// The edges of a promise that nothing depends on.
        var closing = Edges.none
    }

    /// Sets the outcome, and returns the effects; `nil` if the promise has settled already.
    private func markSettled(_ error: (any Error)?, _ runner: Runner?, by link: AnyPromise?, _ store: () -> Void) -> SettleEffects? {
        state.withLock { state in
            guard state.status == .pending else { return nil }
            store()
            failure = error
            state.status = error == nil ? .fulfilled : .rejected
            #if DEBUG
            if let error { state.noteFailure(error, by: link) }
            #endif
            var effects = SettleEffects(handler: state.settleHandler.take())
            if !state.edges.isOnly(link) { effects.left = state.edges }
            if state.links.live == 0 {
                effects.closing = state.edges.take()
            } else {
                effects.destinations = state.links.destinations(from: runner?.queue)
            }
            return effects
        }
    }

    private func perform(_ effects: SettleEffects, _ runner: Runner?, by link: AnyPromise?) {
        // Without an error, because no drop ended the promise.
        effects.handler?(nil)
        if !effects.left.isEmpty { leave(effects.left, exceptBy: link) }
        for queue in effects.destinations.queues { Runner.schedule(self, on: queue) }
        if effects.destinations.here {
            if let runner {
                runner.enqueue(self)
            } else {
                let runner = Runner(queue: nil)
                drain(runner)
                runner.runQueued()
            }
        }
        closeUpwards(effects.closing)
    }

    /// Leaves the promises that this one waited on, except for the one that settles it by `link`.
    private func leave(_ edges: Edges, exceptBy link: AnyPromise?) {
        var walk = DropWalk()
        edges.forEach { edge in
            if edge.link !== link { edge.parent.leave(edge.link, with: PromiseError.dropped, in: &walk) }
        }
        walk.finish()
    }

    /// Settles the promise with an error if it is pending.
    @usableFromInline
    final func reject(_ error: any Error, _ runner: Runner?, by link: AnyPromise? = nil) {
        settle(error, runner, by: link)
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
        let before: Edges? = state.withLock { state in
            guard state.status == .pending else { return nil }
            defer { state.edges = edge }
            return state.edges
        }
        guard let before else { return leave(edge, exceptBy: nil) }
        closeUpwards(before)
        promise.register(link, runner)
        // If another promise waits on this one, it may be `promise` or a parent of it. Then neither could settle.
        if state.withLock({ $0.status == .pending && $0.links.live > 0 }), promise.waits(on: self) { drop(reason: PromiseError.cycle) }
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
    final var pendingEdges: Edges { state.withLock { $0.status == .pending ? $0.edges : .none } }

    // MARK: links

    /// Registers a link on this promise. Returns false if the link was closed before.
    @discardableResult @usableFromInline
    final func register(_ link: AnyPromise, _ runner: Runner? = nil) -> Bool {
        let next: Registration = state.withLock { state in
            guard link.phase == .new else { return .refused }
            if state.status != .pending, link.queue == nil {
                // The body runs now, inside this call, so no other code can reach the link before the body is done.
                link.phase = .closed
                return .runsNow
            }
            defer { state.links.append(link) }
            guard state.status != .pending, let queue = link.queue, !state.links.isScheduled(on: queue) else { return .waits }
            return .needsRunner(queue)
        }
        switch next {
        case .refused: return false
        case .waits: break
        case .needsRunner(let queue): Runner.schedule(self, on: queue)
        case .runsNow:
            if case .itself = link.target { link.state.withLock { $0.edges = .none } }
            run(link, runner)
        }
        return true
    }

    /// The next step for a link that is being registered.
    private enum Registration { case refused, waits, runsNow, needsRunner(DispatchQueue) }

    /// Runs those waiting links that may run on the runner's queue.
    final func drain(_ runner: Runner) {
        var previous: AnyPromise?
        while true {
            var closed = State.Closed()
            let next: AnyPromise? = state.withLock { state in
                if let previous { state.links.ran(previous) }
                if state.status != .pending, let link = state.links.startNext(on: runner.queue) { return link }
                closed = state.close()
                return nil
            }
            guard let next else { return closeUpwards(closed.edges) }
            run(next, runner)
            previous = next
        }
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
        link.incoming = state.withLock { $0.unhandled }
        defer { link.incoming = nil }
        #endif
        if link.queue == nil, HandlerScope.current != nil {
            // The body runs inside the call that settles the promise or adds the handler, but it does not belong to the scope of that call.
            HandlerScope.$current.withValue(nil) { body(self, link, error, runner) }
        } else {
            body(self, link, error, runner)
        }
    }

    /// Changes the links, then releases finished links of this promise and of those above it.
    final func release(_ change: (inout State) -> Void) { closeUpwards(releasing(change)) }

    private func releasing(_ change: (inout State) -> Void) -> Edges {
        state.withLock { state in
            change(&state)
            return state.close()
        }.edges
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
            case .one(let edge): current = edge.parent.releasing { $0.links.close(edge.link) }
            case .many(let several):
                stack += several
                current = .none
            }
        }
    }
}

extension AnyPromise.State {
    /// Links and edges that a promise no longer needs. The caller releases them outside the lock.
    struct Closed: Sendable {
        var links = LinkList.Removed()
        var edges = Edges.none
    }

    /// Takes the closed links out of the list, and the edges of a settled promise on which nothing depends any more.
    mutating func close() -> Closed {
        let removed = links.removeClosed()
        return Closed(links: removed, edges: status != .pending && links.live == 0 ? edges.take() : .none)
    }
}
