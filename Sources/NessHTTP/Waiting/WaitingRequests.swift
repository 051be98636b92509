import NessLock

/// Counts the waiting requests of a manager, by the place where they wait. Tests observe its changes.
///
/// A request that does not have to wait costs nothing here.
package final class WaitingRequests: Sendable {
    private struct State: Sendable {
        var counts: [WaitingPlace: Int] = [:]
        var listeners: [Int: @Sendable () -> Void] = [:]
        var lastListener = 0
    }

    private let state = Lock(State())

    init() {}

    /// The number of requests that wait at a place: see `during(_:_:)`.
    package func count(at place: WaitingPlace) -> Int { state.withLock { $0.counts[place] ?? 0 } }

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

    /// Counts a request during its wait. A drop ends the count on the thread of the drop. Otherwise the count ends when the request's task
    /// continues.
    /// - Parameters:
    ///   - place: The place where the request waits.
    ///   - wait: The wait. The request has joined the queue before, so that a counted request is in the queue.
    func during<Value: Sendable>(
        _ place: WaitingPlace, isolation: isolated (any Actor)? = #isolation, _ wait: () async throws -> Value
    ) async rethrows -> Value {
        let phase = Lock(Phase.outside)
        @Sendable func leave() {
            let wasCounted = phase.withLock { phase in
                defer { phase = .left }
                return phase == .counted
            }
            guard wasCounted else { return }
            change(place, by: -1)
            notify()
        }
        defer { leave() }
        return try await withTaskCancellationHandler {
            // The request is counted here, so that the cancellation of a counted request always finds the handler.
            let isFirst = phase.withLock { phase in
                guard phase == .outside else { return false }
                phase = .counted
                change(place, by: 1)
                return true
            }
            if isFirst { notify() }
            return try await wait()
        } onCancel: {
            leave()
        }
    }

    private enum Phase: Sendable { case outside, counted, left }

    private func change(_ place: WaitingPlace, by difference: Int) { state.withLock { $0.counts[place, default: 0] += difference } }

    private func notify() {
        for listener in state.withLock(\.listeners).values { listener() }
    }
}
