import NessLock

/// Counts the waiting requests of a manager, by the line in which they wait. Tests observe its changes.
///
/// A request that does not have to wait costs nothing here.
package final class WaitingRequests: Sendable {
    private struct State: Sendable {
        var counts: [WaitingLine: Int] = [:]
        var listeners: [Int: @Sendable () -> Void] = [:]
        var lastListener = 0
    }

    private let state = Lock(State())

    init() {}

    /// The number of requests that wait in a line: see `during(_:_:)`.
    package func count(at line: WaitingLine) -> Int { state.withLock { $0.counts[line] ?? 0 } }

    /// Calls a closure after each change, until `remove(_:)`.
    /// - Parameter listener: Runs in the task of the request, or on the thread that drops it, without a lock held.
    /// - Returns: The number for `remove(_:)`.
    package func listen(_ listener: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = listener
            return state.lastListener
        }
    }

    /// Removes a listener. A call that has started may still end afterwards.
    /// - Parameter listener: The number of the listener.
    package func remove(_ listener: Int) {
        // The closure is released outside the lock.
        _ = state.withLock { $0.listeners.removeValue(forKey: listener) }
    }

    /// Counts a request during its wait. A drop ends the count immediately, or as soon as the request's task has suspended; the end of the
    /// wait does so once the task continues.
    /// - Parameters:
    ///   - line: The line in which the request waits.
    ///   - wait: The wait. The request has joined the queue before, so that a counted request is in the queue.
    func during<Value: Sendable>(
        _ line: WaitingLine, isolation: isolated (any Actor)? = #isolation, _ wait: () async throws -> Value
    ) async rethrows -> Value {
        let phase = Lock(Phase.outside)
        @Sendable func leave() {
            let wasCounted = phase.withLock { phase in
                defer { phase = .left }
                return phase == .counted
            }
            guard wasCounted else { return }
            change(line, by: -1)
            notify()
        }
        defer { leave() }
        return try await withTaskCancellationHandler {
            // The request is counted here, so that the cancellation of a counted request always finds the handler.
            let isFirst = phase.withLock { phase in
                guard phase == .outside else { return false }
                phase = .counted
                change(line, by: 1)
                return true
            }
            if isFirst { notify() }
            return try await wait()
        } onCancel: {
            leave()
        }
    }

    private enum Phase: Sendable { case outside, counted, left }

    private func change(_ line: WaitingLine, by difference: Int) { state.withLock { $0.counts[line, default: 0] += difference } }

    private func notify() {
        for listener in state.withLock(\.listeners).values { listener() }
    }
}

/// A line in which requests wait.
package enum WaitingLine: Sendable, Hashable {
    /// The line for a slot among the concurrent exchanges.
    case hostQueue
    /// The line for the manager's rate limit.
    case throttle
    /// The line for a refreshed credential.
    case refresh
}
