import Dispatch
import NessLock

extension Promise {
    /// Blocks this thread until the promise settles, for scripts and tests.
    ///
    /// A wait that could never end fails immediately with `PromiseError.wouldDeadlock`:
    ///
    /// - on a queue, or inside a handler, that this promise still needs
    /// - in too many tasks at the same time, because each blocks one of the few threads on which tasks run. On Linux, closures on global
    ///   queues also run on these threads
    ///
    /// If the promise needs this thread in another way, such as for a lock that the caller holds, the wait ends with
    /// `PromiseError.timedOut`.
    ///
    /// A promise that has not settled in time stays pending, and its work continues.
    /// - Parameter timeout: The longest time to wait. Zero or less does not wait.
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
        if settled.wait(timeout: .now() + timeout.clampedForSleep / .seconds(1)) == .timedOut { release { $0.links.close(link) } }
        guard let outcome else { throw PromiseError.timedOut }
        return try outcome.get()
    }

    /// True if a promise up the chain needs this thread, because it runs on this thread's queue or waits for a handler that this thread
    /// runs.
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

extension DispatchQueue {
    /// True if the calling code runs on this queue, or on a queue that targets it. Always false for a global queue, because another thread
    /// can run its closures.
    fileprivate var isCurrent: Bool {
        if isGlobal { return false }
        // Each call makes a new key. With a shared key, a queue's mark would hide the mark of the queue that it targets.
        let mark = DispatchSpecificKey<Bool>()
        setSpecific(key: mark, value: true)
        defer { setSpecific(key: mark, value: nil) }
        return DispatchQueue.getSpecific(key: mark) == true
    }
}

/// Counts the shared threads that `wait(timeout:)` blocks. Tasks run on about as many threads as there are cores. One thread must stay free
/// for the task that settles the promise.
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
