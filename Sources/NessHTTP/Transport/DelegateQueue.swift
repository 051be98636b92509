import Foundation

/// The serial queue on which URLSession calls its delegate, with a limit.
///
/// On Linux URLSession puts every 16 KiB it reads on this queue, however many wait there already: what is written to a disk more slowly than it
/// comes would fill the memory. All sessions share one thread that reads, and it is that thread which adds to this queue. So the queue has
/// it wait a moment where too many callbacks are pending; where that does not help, it says so, and the exchange can be given up.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    // `@unchecked`: `counts` is guarded by `lock`; the rest is the superclass's, which guards itself.
    private let lock = NSCondition()
    private var pending = 0
    private var patience = DelegateQueue.patience
    private var overflow: (@Sendable () -> Bool)?
    private var hasOverflown = false

    /// How many callbacks may wait: 4 MiB.
    private static let limit = 256
    /// For how long the thread that reads for everyone may be kept in all, by one exchange.
    private static let patience: TimeInterval = 0.5

    override init() {
        super.init()
        maxConcurrentOperationCount = 1
    }

    /// Sets what is called when callbacks come faster than they run.
    /// - Parameter body: Ends the exchange if it may be ended; returns whether it did.
    func onOverflow(_ body: @escaping @Sendable () -> Bool) { lock.withLock { overflow = body } }

    /// Whether the calling code runs as one of this queue's operations, in its order.
    var isCurrent: Bool { OperationQueue.current === self }

    #if canImport(FoundationNetworking)
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        if !waitForRoom() { return block() }
        super.addOperation { [self] in
            block()
            lock.withLock {
                pending -= 1
                lock.signal()
            }
        }
    }

    /// Returns false if what comes now is not wanted any more: it is run at once, so that nothing of it is kept.
    private func waitForRoom() -> Bool {
        lock.lock()
        defer { lock.unlock() }
        if hasOverflown { return false }
        while pending >= Self.limit, let overflow {
            let start = Date()
            if patience > 0, lock.wait(until: start.addingTimeInterval(patience)) {
                patience -= Date().timeIntervalSince(start)
                continue
            }
            patience = 0
            hasOverflown = overflow()
            if hasOverflown { return false }
            break
        }
        pending += 1
        return true
    }
    #endif
}
