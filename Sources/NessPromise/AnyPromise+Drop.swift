import Dispatch

/// The effect of a drop on one promise. `DropWalk` carries the drop from promise to promise.
extension AnyPromise {
    /// Ends this promise if it is pending. If it has settled, ends the pending promises that depend on it.
    final func drop(in walk: inout DropWalk, with inherited: (any Error)?) {
        // An inherited error was already changed by the error mappings up the chain.
        let given = inherited ?? walk.reason
        if given == nil, state.withLock({ $0.status != .pending && $0.links.live == 0 }) { return }
        let error = given ?? dropError
        if !endByDrop(error, &walk) { dropDependents(error, &walk) }
    }

    /// Ends the promise if it is pending. Returns false if it has settled.
    private func endByDrop(_ error: any Error, _ walk: inout DropWalk) -> Bool {
        var handler: (@Sendable ((any Error)?) -> Void)?
        var left = Edges.none
        var destinations = (here: false, queues: [DispatchQueue]())
        let isFirst = state.withLock { state in
            guard state.status == .pending else { return false }
            (failure, state.status) = (error, .dropped)
            (handler, left) = (state.settleHandler.take(), state.edges.take())
            destinations = state.links.destinations(from: nil)
            return true
        }
        guard isFirst else { return false }
        for queue in destinations.queues { walk.notify(.dependents, on: queue) { [self] runner in drain(runner) } }
        if destinations.here { walk.notify(.dependents, on: nil) { [self] runner in drain(runner) } }
        if let handler { walk.notify(.owner, on: nil) { _ in handler(error) } }
        // The parent that decided on the error is given that error, so that a long chain is searched only once. Every other parent makes
        // its own error, and so does a parent whose errors this promise changes.
        let origin = errorMapping == nil ? left.origin : nil
        left.forEach { $0.parent.leave($0.link, with: error, in: &walk, dropping: $0.parent === origin ? error : nil) }
        return true
    }

    /// Passes the drop of a settled promise on. All handlers down the chain that have not started see the error.
    private func dropDependents(_ error: any Error, _ walk: inout DropWalk) {
        var unfinished: [(link: AnyPromise, waited: Bool)] = []
        release { state in
            for link in state.links.all where link.phase != .closed { unfinished.append((link, link.phase == .waiting)) }
            for (link, waited) in unfinished where waited { state.links.close(link) }
        }
        for (link, waited) in unfinished {
            if waited { notifyOfDrop(link, step: 1, error, &walk) }
            if let dependent = link.dependent { walk.add(dependent, step: 1, with: dependent.errorMapping?(error) ?? error) }
        }
    }

    /// Runs a link's body with the drop's error, if the body also runs for drops. Otherwise only releases the body. The link must no longer
    /// wait.
    private func notifyOfDrop(_ link: AnyPromise, step: Int, _ error: any Error, _ walk: inout DropWalk) {
        let body = link.body
        link.body = nil
        guard link.seesDrop, let body else { return }
        walk.notify(.handler, step: step, on: link.queue) { [self] runner in run(body, of: link, error, runner) }
    }

    /// Removes a link whose promise no longer waits on this one. If it was the last link, it drops this promise as well.
    /// - Parameters:
    ///   - link: The link.
    ///   - error: The error of the promise that leaves.
    ///   - walk: The drop that this belongs to.
    ///   - ownError: The error of this promise, if it is dropped; `nil` for its `dropError`.
    final func leave(_ link: AnyPromise, with error: any Error, in walk: inout DropWalk, dropping ownError: (any Error)? = nil) {
        var waited = false
        var isOrphan = false
        release { state in
            guard link.phase != .closed else { return }
            waited = link.phase == .waiting
            state.links.close(link)
            isOrphan = state.status == .pending && state.links.live == 0
        }
        if waited { notifyOfDrop(link, step: 0, error, &walk) }
        if isOrphan { walk.add(self, step: -1, with: ownError) }
    }

    /// Returns true if a blocking wait on a thread would keep `link` from ever running.
    final func isBlocked(_ link: AnyPromise, byWaitingOn thread: ThreadID) -> Bool {
        state.withLock { state in
            if link.phase == .running && link.thread == thread { return true }
            guard link.phase == .waiting, let queue = link.queue else { return false }
            return state.links.isRunning(on: queue, thread: thread)
        }
    }
}
