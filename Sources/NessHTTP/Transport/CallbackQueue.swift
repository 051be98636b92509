import Dispatch
import Foundation

/// The callbacks of one exchange, run in order on a serial queue, with a limit. A closed queue accepts no callbacks.
///
/// On Linux one thread reads for all sessions of a process. It reads from one socket as long as that socket has bytes, and a task's
/// cancellation waits for this thread. Therefore the thread must process bytes faster than a server can send them, and must skip bytes that
/// no one wants.
///
/// If bytes arrive faster than a disk can store them, pending callbacks would fill the memory. Therefore this queue blocks the reading
/// thread for a short time while too many callbacks are pending. If that does not help, it calls `onOverflow`, so that the exchange can be
/// abandoned.
final class CallbackQueue: Sendable {
    private struct State: Sendable {
        var pending = 0
        /// True while the adding thread waits for room.
        var isWaiting = false
        /// The time for which the thread may still be blocked.
        var patience = CallbackQueue.patience
        var overflow: (@Sendable () -> Bool)?
        var isClosed = false

        /// Returns true if a waiting thread has to be woken, and resets the mark.
        mutating func takeWaiting() -> Bool {
            defer { isWaiting = false }
            return isWaiting
        }
    }

    private let queue: DispatchQueue
    private let state = Lock(State())
    private let room = DispatchSemaphore(value: 0)

    /// The most pending callbacks. They hold about 2 MiB.
    private static let limit = 128
    /// The total time for which one exchange may block the thread that reads for all sessions.
    private static let patience: Duration = .milliseconds(500)

    /// Makes an open queue.
    /// - Parameter queue: The serial queue on which the callbacks run.
    init(on queue: DispatchQueue) { self.queue = queue }

    /// Sets the handler that is called when callbacks arrive faster than they run. Without a handler there is no limit.
    /// - Parameter body: Closes this queue if the exchange may be abandoned, and returns true if it did.
    func onOverflow(_ body: @escaping @Sendable () -> Bool) { state.withLock { $0.overflow = body } }

    /// Adds a callback. Only the thread that reads adds callbacks.
    func add(_ callback: @escaping @Sendable () -> Void) {
        guard isAdmitted() else { return }
        queue.async { [self] in
            callback()
            let wakes = state.withLock { state in
                state.pending -= 1
                return state.takeWaiting()
            }
            if wakes { room.signal() }
        }
    }

    /// Closes the queue: later callbacks are dropped.
    /// - Parameter last: Runs after the pending callbacks.
    func close(then last: (@Sendable () -> Void)? = nil) {
        // The handler is released outside the lock.
        let (wakes, _) = state.withLock { state in
            let overflow = state.overflow
            state.overflow = nil
            state.isClosed = true
            return (state.takeWaiting(), overflow)
        }
        if wakes { room.signal() }
        if let last { queue.async(execute: last) }
    }

    /// The next step for a new callback.
    private enum Step: Sendable {
        case add
        case drop
        case wait(Duration)
        case giveUp(@Sendable () -> Bool)
    }

    /// Waits until there is room for a callback. Returns false if the callback is dropped.
    private func isAdmitted() -> Bool {
        while true {
            switch state.withLock({ Self.next(&$0) }) {
            case .add: return true
            case .drop: return false
            case .wait(let patience):
                let start = ContinuousClock.now
                let milliseconds = Int(patience / .milliseconds(1))
                let isLate = room.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut
                let rest = isLate ? .zero : patience - (ContinuousClock.now - start)
                state.withLock { ($0.isWaiting, $0.patience) = (false, rest) }
            case .giveUp(let overflow):
                if overflow() { return false }
                state.withLock { $0.pending += 1 }
                return true
            }
        }
    }

    private static func next(_ state: inout State) -> Step {
        if state.isClosed { return .drop }
        guard state.pending >= limit, let overflow = state.overflow else {
            state.pending += 1
            return .add
        }
        guard state.patience >= .milliseconds(1) else { return .giveUp(overflow) }
        state.isWaiting = true
        return .wait(state.patience)
    }
}

#if canImport(FoundationNetworking)
/// Runs URLSession's delegate calls directly on the thread that reads. The delegate passes them to the exchange's `CallbackQueue`.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    // `@unchecked`: the class has no state of its own, and the superclass is thread-safe.
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
