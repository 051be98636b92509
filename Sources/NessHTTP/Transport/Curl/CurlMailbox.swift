#if canImport(CNessCurl)
import NessPromise

/// The events of an exchange on their way from libcurl's thread to the task that waits for them.
///
/// A task that takes them slowly fills the mailbox. The exchange then pauses, so that the server is held back.
final class CurlMailbox: Sendable {
    /// The events that came together, and the end if it came.
    struct Batch: Sendable {
        var events: [TransportEvent] = []
        var end: Result<Void, any Error>?
        /// True if the exchange was paused because the mailbox was full, and can go on now.
        var goesOn = false
    }

    private struct State: Sendable {
        var events: [TransportEvent] = []
        /// The bytes of body that the task has not dealt with, those of the batch in its hands included.
        var byteCount = 0
        /// The bytes in the task's hands.
        var takenByteCount = 0
        var isPaused = false
        var end: Result<Void, any Error>?
        var wasCancelled = false
        var waiter: UnsafeContinuation<Void, Never>?
    }

    /// The number of bytes from which the exchange pauses.
    static let capacity = 256 << 10

    private let state = Lock(State())

    /// Adds events, in order. An exchange that has ended takes none.
    /// - Parameters:
    ///   - events: The events.
    ///   - end: The end of the exchange; nil while it goes on.
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

    /// Ends the exchange before its own end: what came and was not taken is lost.
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

    /// True once the exchange was ended before its own end.
    var wasCancelled: Bool { state.withLock { $0.wasCancelled } }

    /// Asks for room before a piece of body is taken from libcurl.
    /// - Parameter pending: The bytes that are about to be put.
    /// - Returns: False if the exchange has to pause; the batch that makes room says so.
    func hasRoom(besides pending: Int) -> Bool {
        state.withLock { state in
            if state.byteCount + pending < Self.capacity { return true }
            state.isPaused = true
            return false
        }
    }

    /// Waits for events. Called by one task at a time, which has dealt with the batch before.
    /// - Returns: The events that have come, at least one of them or the end.
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

    /// The events that are there; nil if the task has to wait.
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
    /// The number of bytes of body.
    fileprivate var byteCount: Int {
        reduce(0) { sum, event in
            if case .body(let data) = event { sum + data.count } else { sum }
        }
    }
}
#endif
