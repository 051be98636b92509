#if canImport(CNessCurl)
import NessPromise

/// The events of an exchange on their way from libcurl's thread to the waiting task.
///
/// If the task is slow, the mailbox fills up. The exchange then pauses, which slows the server down.
final class CurlMailbox: Sendable {
    /// The events that were pending, and the end of the exchange if it has ended.
    struct Batch: Sendable {
        var events: [TransportEvent] = []
        var end: Result<Void, any Error>?
        /// True if the exchange was paused because the mailbox was full, and can be resumed now.
        var goesOn = false
    }

    private struct State: Sendable {
        var events: [TransportEvent] = []
        /// The number of body bytes that the task has not yet processed, including those of its current batch.
        var byteCount = 0
        /// The number of body bytes in the task's current batch.
        var takenByteCount = 0
        var isPaused = false
        var end: Result<Void, any Error>?
        var wasCancelled = false
        var waiter: UnsafeContinuation<Void, Never>?
    }

    /// The number of bytes at which the exchange pauses.
    static let capacity = 256 << 10

    private let state = Lock(State())

    /// Adds events, in order. Has no effect after the end of the exchange.
    /// - Parameters:
    ///   - events: The events.
    ///   - end: The end of the exchange. `nil` while it continues.
    func put(_ events: [TransportEvent], end: Result<Void, any Error>? = nil) {
        let waiter: UnsafeContinuation<Void, Never>? = state.withLock { state in
            guard state.end == nil else { return nil }
            state.events += events
            state.byteCount += events.byteCount
            state.end = end
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Ends the exchange early. Pending events are discarded.
    func cancel(_ error: any Error) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return nil as UnsafeContinuation<Void, Never>? }
            state.events = []
            state.end = .failure(error)
            state.wasCancelled = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// True once the exchange has ended.
    var hasEnded: Bool { state.withLock { $0.end != nil } }

    /// True if the exchange was ended early.
    var wasCancelled: Bool { state.withLock { $0.wasCancelled } }

    /// Checks for room before a piece of the body is taken from libcurl.
    /// - Parameter pending: The number of bytes that are about to be added.
    /// - Returns: False if the exchange has to pause. A later batch, which makes room, has `goesOn` set.
    func hasRoom(besides pending: Int) -> Bool {
        state.withLock { state in
            if state.byteCount + pending < Self.capacity { return true }
            state.isPaused = true
            return false
        }
    }

    /// Waits for events. Called by one task at a time, after it has processed the previous batch.
    /// - Returns: The pending events, at least one event or the end.
    func next() async -> Batch {
        if let batch = take() { return batch }
        await withUnsafeContinuation { continuation in
            let isReady = state.withLock { state in
                if !state.events.isEmpty || state.end != nil || state.isPaused { return true }
                state.waiter = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
        return take() ?? Batch()
    }

    /// Takes the pending events. `nil` if the task has to wait.
    private func take() -> Batch? {
        state.withLock { state in
            state.byteCount -= state.takenByteCount
            state.takenByteCount = 0
            let goesOn = state.isPaused && state.byteCount < Self.capacity
            guard !state.events.isEmpty || state.end != nil || goesOn else { return nil }
            let batch = Batch(events: state.events, end: state.end, goesOn: goesOn)
            if goesOn { state.isPaused = false }
            state.events = []
            state.takenByteCount = batch.events.byteCount
            return batch
        }
    }
}

extension [TransportEvent] {
    /// The number of body bytes.
    fileprivate var byteCount: Int {
        reduce(0) { sum, event in
            if case .body(let data) = event { sum + data.count } else { sum }
        }
    }
}
#endif
