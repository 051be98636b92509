import Dispatch
import Foundation

/// The serial queue on which URLSession calls its delegate, with a limit.
///
/// On Linux URLSession puts every 16 KiB it reads on this queue, however many wait there already: what is written to a disk more slowly than it
/// comes would fill the memory. All sessions share one thread that reads, and it is that thread which adds to this queue. So the queue has
/// it wait a moment where too many callbacks are pending; where that does not help, it says so, and the exchange can be given up.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    private struct State: Sendable {
        var pending = 0
        /// Whether the thread that adds waits for room.
        var isWaiting = false
        /// For how long it may still be kept.
        var patience = DelegateQueue.patience
        var overflow: (@Sendable () -> Bool)?
        var hasOverflown = false
    }

    // `@unchecked`: all of this class's own is guarded by this lock; the rest is the superclass's, which guards itself.
    private let state = Lock(State())
    private let room = DispatchSemaphore(value: 0)

    /// How many callbacks may wait: 2 MiB.
    private static let limit = 128
    /// For how long the thread that reads for everyone may be kept in all, by one exchange.
    private static let patience: Duration = .milliseconds(500)

    override init() {
        super.init()
        maxConcurrentOperationCount = 1
    }

    /// Sets what is called when callbacks come faster than they run.
    /// - Parameter body: Ends the exchange if it may be ended; returns whether it did.
    func onOverflow(_ body: @escaping @Sendable () -> Bool) { state.withLock { $0.overflow = body } }

    /// Whether the calling code runs as one of this queue's operations, in its order.
    var isCurrent: Bool { OperationQueue.current === self }

    #if canImport(FoundationNetworking)
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        guard isAdmitted() else { return block() }
        super.addOperation { [self] in
            block()
            let wakes = state.withLock { state in
                state.pending -= 1
                defer { state.isWaiting = false }
                return state.isWaiting
            }
            if wakes { room.signal() }
        }
    }

    /// What is to be done before a callback is added.
    private enum Step: Sendable {
        case add
        /// Nothing of it is wanted any more: it is run at once, so that nothing of it is kept.
        case run
        case wait(Duration)
        case giveUp(@Sendable () -> Bool)
    }

    /// Waits until there is room for a callback. Returns false if it is not wanted any more.
    private func isAdmitted() -> Bool {
        while true {
            switch state.withLock({ Self.next(&$0) }) {
            case .add: return true
            case .run: return false
            case .wait(let patience):
                let start = ContinuousClock.now
                let milliseconds = Int(patience / .milliseconds(1))
                let isLate = room.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut
                let rest = isLate ? .zero : patience - (ContinuousClock.now - start)
                state.withLock { ($0.isWaiting, $0.patience) = (false, rest) }
            case .giveUp(let overflow):
                let isGivenUp = overflow()
                state.withLock { state in
                    state.hasOverflown = isGivenUp
                    if !isGivenUp { state.pending += 1 }
                }
                return !isGivenUp
            }
        }
    }

    private static func next(_ state: inout State) -> Step {
        if state.hasOverflown { return .run }
        guard state.pending >= limit, let overflow = state.overflow else {
            state.pending += 1
            return .add
        }
        guard state.patience >= .milliseconds(1) else { return .giveUp(overflow) }
        state.isWaiting = true
        return .wait(state.patience)
    }
    #endif
}
