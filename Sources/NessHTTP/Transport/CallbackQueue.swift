import Dispatch
import Foundation

/// The callbacks of one exchange, run in their order on a queue, with a limit. Once it is closed it takes no more.
///
/// On Linux one thread reads for all sessions of a process, and it reads one socket for as long as that has something: whoever cancels a task
/// waits for it. Handing its bytes on has to be quicker than a server can send, then, and nothing at all once nobody wants them. And what is
/// written to a disk more slowly than it comes would fill the memory. So that thread is kept a moment where too many callbacks are pending;
/// where that does not help, this says so, and the exchange can be given up.
final class CallbackQueue: Sendable {
    private struct State: Sendable {
        var pending = 0
        /// Whether the thread that adds waits for room.
        var isWaiting = false
        /// For how long it may still be kept.
        var patience = CallbackQueue.patience
        var overflow: (@Sendable () -> Bool)?
        var isClosed = false

        /// Whether somebody has to be woken.
        mutating func takeWaiting() -> Bool {
            defer { isWaiting = false }
            return isWaiting
        }
    }

    private let queue: DispatchQueue
    private let state = Lock(State())
    private let room = DispatchSemaphore(value: 0)

    /// How many callbacks may wait: 2 MiB.
    private static let limit = 128
    /// For how long the thread that reads for everyone may be kept in all, by one exchange.
    private static let patience: Duration = .milliseconds(500)

    /// Makes one.
    /// - Parameter queue: A serial queue, where the callbacks run.
    init(on queue: DispatchQueue) { self.queue = queue }

    /// Sets what is called when callbacks come faster than they run; until then there is no limit.
    /// - Parameter body: Closes this queue if the exchange may be given up; returns whether it did.
    func onOverflow(_ body: @escaping @Sendable () -> Bool) { state.withLock { $0.overflow = body } }

    /// Adds a callback. All are added by one thread, that which reads.
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

    /// Takes no more callbacks.
    /// - Parameter last: What runs when those that wait have.
    func close(then last: (@Sendable () -> Void)? = nil) {
        // What the closure holds is released outside the lock.
        let (wakes, _) = state.withLock { state in
            let overflow = state.overflow
            state.overflow = nil
            state.isClosed = true
            return (state.takeWaiting(), overflow)
        }
        if wakes { room.signal() }
        if let last { queue.async(execute: last) }
    }

    /// What is to be done before a callback is added.
    private enum Step: Sendable {
        case add
        case drop
        case wait(Duration)
        case giveUp(@Sendable () -> Bool)
    }

    /// Waits until there is room for a callback. Returns false if it is not wanted any more.
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
/// Has URLSession call its delegate where it is, on the thread that reads: the delegate hands everything on, and knows what of it is wanted.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    // `@unchecked`: has nothing of its own; the superclass guards itself.
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
