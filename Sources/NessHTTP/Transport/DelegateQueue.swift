import Foundation

#if canImport(FoundationNetworking)
/// Runs URLSession's delegate calls directly on the thread that reads, because another queue would have no limit.
///
/// On Linux one thread reads for all sessions of a process. It reads from one socket as long as that socket has bytes, and a task's
/// cancellation waits for this thread. Therefore the delegate only moves bytes to the exchange's mailbox, and skips bytes that no one wants.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    // `@unchecked`: the class has no state of its own, and the superclass is thread-safe.
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
