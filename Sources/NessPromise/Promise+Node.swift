import Dispatch

extension Promise: PromiseNode {
    final func drain(_ runner: Runner) {
        var previous: Link<Value>?
        while true {
            let (next, edges, released): ((Link<Value>, Outcome)?, Edges, [Link<Value>]) = lock.withLock { state in
                if let previous { state.links.ran(previous) }
                guard let outcome = state.outcome, let link = state.links.startNext(on: runner.queue) else {
                    let released = state.links.removeClosed()
                    return (nil, state.outcome != nil && state.links.live == 0 ? state.takeEdges() : .none, released)
                }
                return ((link, outcome), .none, [])
            }
            guard let (link, outcome) = next else {
                _ = released
                return closeUpwards(edges)
            }
            link.run(outcome, runner)
            previous = link
        }
    }

    final func drop(in walk: inout DropWalk, becauseOf given: (any Error)?) {
        if given == nil, lock.withLock({ $0.outcome != nil && $0.links.live == 0 }) { return }
        let error = given ?? makeDropError?() ?? PromiseError.dropped
        let plan: Dropping<Value> = lock.withLock { state in
            var plan = Dropping<Value>()
            if state.outcome == nil {
                state.outcome = .failure(error)
                plan.destinations = state.links.destinations(from: nil)
                plan.onSettle = state.onSettle
                state.onSettle = nil
                plan.left = state.takeEdges()
            } else {
                state.links.forEach { link in
                    if link.phase != .closed { plan.unfinished.append((link, link.phase == .waiting)) }
                }
                for (link, waited) in plan.unfinished where waited { state.links.closed(link) }
                if state.links.live == 0 { plan.closing = state.takeEdges() }
            }
            return plan
        }
        for queue in plan.destinations.queues { walk.tell(on: queue) { [self] runner in drain(runner) } }
        if plan.destinations.here { walk.tell(on: nil) { [self] runner in drain(runner) } }
        if let onSettle = plan.onSettle { walk.tell(on: nil) { _ in onSettle(error) } }
        plan.left.forEach { $0.node.leave($0.link, in: &walk, becauseOf: error) }
        for (link, waited) in plan.unfinished {
            if waited && link.seesDrop { walk.tell(on: link.queue) { runner in link.runDropped(error, runner) } }
            if let dependent = link.dependent { walk.visit(dependent, becauseOf: error) }
        }
        closeUpwards(plan.closing)
    }

    final func leave(_ link: AnyLink, in walk: inout DropWalk, becauseOf error: (any Error)?) {
        let plan: Leaving<Value>? = lock.withLock { state in
            guard link.phase != .closed else { return nil }
            let waited = link.phase == .waiting
            state.links.closed(link)
            let idle = state.links.live == 0
            let released = state.links.removeClosed()
            let isSettled = state.outcome != nil
            return Leaving(
                waited: waited, orphaned: idle && !isSettled, closing: idle && isSettled ? state.takeEdges() : .none, released: released)
        }
        guard let plan else { return }
        if plan.waited && link.seesDrop {
            let error = error ?? PromiseError.dropped
            walk.tell(on: link.queue) { runner in link.runDropped(error, runner) }
        }
        if plan.orphaned { walk.visit(self, becauseOf: error) }
        closeUpwards(plan.closing)
    }

    final func close(_ link: AnyLink) -> Edges { release { $0.links.closed(link) } }

    final var pendingEdges: Edges { lock.withLock { $0.outcome == nil ? $0.edges : .none } }

    final func isBlocked(_ link: AnyLink, byWaitingOn thread: ThreadID) -> Bool {
        lock.withLock { state in
            if link.phase == .running && link.thread == thread { return true }
            guard link.phase == .waiting || link.phase == .unregistered, let queue = link.queue else { return false }
            return state.links.contains { $0.phase == .running && $0.thread == thread && $0.queue?.isSame(as: queue) == true }
        }
    }
}

/// What is left to do, outside the lock, when a promise was dropped.
private struct Dropping<Value: Sendable>: Sendable {
    var destinations: (here: Bool, queues: [DispatchQueue]) = (false, [])
    var onSettle: (@Sendable ((any Error)?) -> Void)?
    var left = Edges.none
    var unfinished: [(link: Link<Value>, waited: Bool)] = []
    var closing = Edges.none
}

/// What is left to do, outside the lock, when a link was given up by the promise that waited by it.
private struct Leaving<Value: Sendable>: Sendable {
    var waited: Bool
    var orphaned: Bool
    var closing: Edges
    var released: [Link<Value>]
}
