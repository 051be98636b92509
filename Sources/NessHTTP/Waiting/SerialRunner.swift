import NessLock

/// Runs closures one at a time, in the order in which they were submitted, without holding a lock.
///
/// If no closure runs, the submitting thread runs the new one. It then also runs the closures that other threads submit meanwhile. A
/// closure may submit further closures.
final class SerialRunner: Sendable {
    private struct State: Sendable {
        var waiting = WaiterQueue<@Sendable () -> Void>()
        var isRunning = false
    }

    private let state = Lock(State())

    /// Runs a closure, or leaves it to the thread that currently runs closures.
    func run(_ work: @escaping @Sendable () -> Void) {
        let isBusy = state.withLock { state in
            state.waiting.join(work)
            defer { state.isRunning = true }
            return state.isRunning
        }
        guard !isBusy else { return }
        while let next = take() { next() }
    }

    private func take() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let next = state.waiting.takeFirst()
            if next == nil { state.isRunning = false }
            return next
        }
    }
}
