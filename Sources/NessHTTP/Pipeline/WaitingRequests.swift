/// Counts the requests of a manager that wait for others, by the stage at which they wait. Tests wait for its changes.
///
/// A request that does not have to wait costs nothing here.
package final class WaitingRequests: Sendable {
    private struct State: Sendable {
        var counts: [PipelineStage: Int] = [:]
        var listeners: [Int: @Sendable () -> Void] = [:]
        var lastListener = 0
    }

    private let state = Lock(State())

    init() {}

    /// The number of requests that wait at a stage. A request that was admitted counts until its task continues.
    package func count(at stage: PipelineStage) -> Int { state.withLock { $0.counts[stage] ?? 0 } }

    /// Calls a closure after each change, until `remove(_:)`.
    /// - Parameter listener: Runs in the task of the request, without a lock held.
    /// - Returns: The number for `remove(_:)`.
    package func listen(_ listener: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = listener
            return state.lastListener
        }
    }

    /// Removes a listener. A call that has begun may still end afterwards.
    /// - Parameter listener: The number of the listener.
    package func remove(_ listener: Int) {
        // The closure is released outside the lock.
        _ = state.withLock { $0.listeners.removeValue(forKey: listener) }
    }

    /// Counts a request that has joined a queue. Call it afterwards, so that a counted request is in the queue.
    func enter(_ stage: PipelineStage) { change(stage, by: 1) }

    /// Counts a request less, which no longer waits.
    func leave(_ stage: PipelineStage) { change(stage, by: -1) }

    private func change(_ stage: PipelineStage, by difference: Int) {
        let listeners = state.withLock { state in
            state.counts[stage, default: 0] += difference
            return state.listeners
        }
        for listener in listeners.values { listener() }
    }
}

/// A manager that counts its waiting requests.
protocol WaitCounting: AnyObject, Sendable {
    /// The numbers of requests that wait, by stage.
    var waiting: WaitingRequests { get }
}
