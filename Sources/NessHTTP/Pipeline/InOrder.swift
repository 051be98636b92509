import Dispatch

/// Runs pieces of work one at a time, in the order in which they were given, without a lock held.
///
/// The thread that gives a piece while none runs runs it, and then the pieces that other threads have given meanwhile. Work may give more work.
final class InOrder: Sendable {
    private struct State: Sendable {
        var waiting = WaiterQueue<@Sendable () -> Void>()
        var isRunning = false
    }

    private let state = Lock(State())

    /// Runs a piece of work, or leaves it to the thread that runs pieces at the moment.
    func run(_ work: @escaping @Sendable () -> Void) {
        let isBusy = state.withLock { state in
            state.waiting.join(work)
            defer { state.isRunning = true }
            return state.isRunning
        }
        guard !isBusy else { return }
        while let next = take() { next() }
    }

    /// Runs a piece of work, and waits until it has run. No piece may wait for the thread that calls this, nor call it.
    func runAndWait(_ work: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        run {
            work()
            isDone.signal()
        }
        isDone.wait()
    }

    private func take() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let next = state.waiting.takeFirst()
            if next == nil { state.isRunning = false }
            return next
        }
    }
}
