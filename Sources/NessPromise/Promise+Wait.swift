import Dispatch

extension Promise {
    /// Blocks this thread until the promise settles: for scripts and tests.
    ///
    /// Where the wait could never end it fails at once: on the queue, or in the handler, that this promise still needs; and in too many
    /// tasks, or closures on global queues, at a time, since each keeps one of the few threads on which tasks run. A promise that has not
    /// settled in time goes on.
    /// - Parameter timeout: How long to wait at most; zero or less only looks.
    /// - Returns: The value.
    /// - Throws: The promise's error; `PromiseError.timedOut` if it has not settled in time; `PromiseError.wouldDeadlock`.
    @discardableResult
    public final func wait(timeout: Duration) throws -> Value {
        if let outcome { return try outcome.get() }
        guard timeout > .zero else { throw PromiseError.timedOut }
        guard !isBlockedByThisThread else { throw PromiseError.wouldDeadlock }
        let isOnSharedThread = DispatchQueue.isOnGlobalThread || withUnsafeCurrentTask { $0 != nil }
        if isOnSharedThread { guard BlockedThreads.enter() else { throw PromiseError.wouldDeadlock } }
        defer { if isOnSharedThread { BlockedThreads.leave() } }
        let settled = DispatchSemaphore(value: 0)
        let link = AnyPromise.link()
        link.body = { _, _, _, _ in settled.signal() }
        register(link)
        if settled.wait(timeout: .now() + timeout.dispatchInterval) == .timedOut { release { $0.close(link) } }
        guard let outcome else { throw PromiseError.timedOut }
        return try outcome.get()
    }

    /// Whether this promise needs, somewhere up its chain, a queue or a handler that this thread is busy with.
    private var isBlockedByThisThread: Bool {
        let thread = currentThread()
        var stack: [AnyPromise] = [self]
        var seen: Set<ObjectIdentifier> = []
        while let promise = stack.popLast() {
            guard seen.insert(ObjectIdentifier(promise)).inserted else { continue }
            var isBlocked = false
            promise.pendingEdges.forEach { edge in
                isBlocked = isBlocked || edge.parent.isBlocked(edge.link, byWaitingOn: thread) || (edge.link.queue?.isCurrent ?? false)
                stack.append(edge.parent)
            }
            if isBlocked { return true }
        }
        return false
    }
}

extension Duration {
    fileprivate var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = clampedForSleep.components
        return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
    }
}

extension DispatchQueue {
    private static let marker = DispatchSpecificKey<ObjectIdentifier>()

    /// Whether this code runs on this queue, or on one that targets it. Never for the global queues, where another thread can take over.
    fileprivate var isCurrent: Bool {
        if isGlobal { return false }
        // On Linux each `DispatchQueue.main` is another object, so the marker there is one for all.
        let identity = isSame(as: .main) ? ObjectIdentifier(DispatchQueue.self) : ObjectIdentifier(self)
        setSpecific(key: Self.marker, value: identity)
        return DispatchQueue.getSpecific(key: Self.marker) == identity
    }
}

/// Counts the shared threads that a wait blocks. Tasks run on about as many threads as there are cores; one has to stay free for the task
/// that settles the promise.
private enum BlockedThreads {
    private static let count = Lock(0)
    private static let limit = cores - 1

    static func enter() -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    static func leave() { count.withLock { $0 -= 1 } }
}
