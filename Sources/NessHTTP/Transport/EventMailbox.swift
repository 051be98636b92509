import Foundation
import NessLock

/// The events of an exchange on their way from the thread that reads to the task that called `Transport.send`.
///
/// The mailbox fills up if the task is slow. A transport with back pressure calls `room(besides:)` before it reads more, and does
/// not read while the mailbox is full. If a transport cannot stop, the bytes that do not fit are written to a file.
final class EventMailbox: Sendable {
    /// The events that were pending, and the end of the exchange if it has ended.
    struct Batch: Sendable {
        var events: [TransportEvent] = []
        var end: Result<Void, any Error>?
        /// True if the exchange was paused because the mailbox was full, and can be resumed now.
        var resumesExchange = false
    }

    /// The events on their way, and the end.
    struct State: Sendable {
        var pending = EventBatch()
        /// The bytes of the body after the pending ones. `nil` if the mailbox does not spill.
        var spill: SpillFile?
        var isPaused = false
        /// The end of the exchange. The task gets it after the pending events.
        var end: Result<Void, any Error>?
        /// The error of the first cancellation, which is then the end as well.
        var cancellation: (any Error)?
        var waiter: UnsafeContinuation<Void, Never>?

        var spilledCount: Int { spill?.count ?? 0 }
        var isReady: Bool { !pending.isEmpty || spilledCount > 0 || end != nil || isPaused }

        mutating func takeWaiter() -> UnsafeContinuation<Void, Never>? {
            defer { waiter = nil }
            return waiter
        }
    }

    /// The number of pending body bytes at which the mailbox is full.
    let capacity: Int
    private let state: Lock<State>

    /// Makes an empty mailbox.
    /// - Parameters:
    ///   - capacity: The number of pending body bytes at which the mailbox is full. The batch that the task processes does not count.
    ///   - spillLimit: The most bytes that are spilled to a file when the mailbox is full. `nil` to keep all bytes in memory.
    init(capacity: Int = 512 << 10, spillLimit: Int64? = nil) {
        self.capacity = capacity
        state = Lock(State(spill: spillLimit.map { SpillFile(limit: $0) }))
    }

    // MARK: the thread that reads

    /// Adds events, in order.
    /// - Parameters:
    ///   - batch: The events.
    ///   - end: The end of the exchange. `nil` while it continues.
    /// - Returns: False if the exchange had ended, or ends because the spill failed. The events are then lost.
    @discardableResult
    func put(_ batch: EventBatch, end: Result<Void, any Error>? = nil) -> Bool {
        let (isTaken, waiter): (Bool, UnsafeContinuation<Void, Never>?) = state.withLock { state in
            guard state.end == nil else { return (false, nil) }
            do {
                try add(batch, to: &state)
            } catch {
                // The task gets the bytes that arrived before.
                state.end = .failure(error)
                return (false, state.takeWaiter())
            }
            state.end = end
            return (true, state.takeWaiter())
        }
        waiter?.resume()
        return isTaken
    }

    /// Ends the exchange with an error, after the pending events.
    func end(_ error: any Error) { put(EventBatch(), end: .failure(error)) }

    private func add(_ batch: EventBatch, to state: inout State) throws {
        if state.spill == nil || (state.spilledCount == 0 && state.pending.byteCount + batch.byteCount <= capacity) {
            return state.pending.add(batch)
        }
        for event in batch.events {
            // Only bytes of the body are spilled. Other events, such as the progress of the request's body, may overtake them.
            if case .body(let data) = event { try state.spill?.append(data) } else { state.pending.add(event) }
        }
    }

    /// Returns how many more bytes of the body fit. If no byte fits, the exchange is paused and must not read. The batch that makes room
    /// again has `resumesExchange` set.
    /// - Parameter unsent: The number of bytes that are about to be added.
    func room(besides unsent: Int) -> Int {
        state.withLock { state in
            let room = capacity - state.pending.byteCount - state.spilledCount - unsent
            if room <= 0 { state.isPaused = true }
            return max(0, room)
        }
    }

    /// True while the exchange is paused because the mailbox was full.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// True once the exchange has ended, even if the task has not seen the end.
    var hasEnded: Bool { state.withLock { $0.end != nil } }

    /// The error with which the exchange has ended.
    var failure: (any Error)? {
        state.withLock { state in
            guard case .failure(let error)? = state.end else { return nil }
            return error
        }
    }

    // MARK: any thread

    /// Ends the exchange immediately. Events that the task has not seen are discarded.
    func cancel(_ error: any Error) {
        // The events and the file are released outside the lock.
        let (waiter, _, _) = state.withLock { state in
            let released = (state.takeWaiter(), state.pending, state.spill)
            (state.pending, state.spill) = (EventBatch(), nil)
            if state.cancellation == nil { (state.cancellation, state.end) = (error, .failure(error)) }
            return released
        }
        waiter?.resume()
    }

    // MARK: the task

    /// Passes the events on, in order, until the end of the exchange. Called once, by the task that called `Transport.send`.
    /// - Parameters:
    ///   - receive: Receives the events.
    ///   - resume: Resumes the exchange after it has paused.
    /// - Throws: The error of the exchange; the error of `receive`; the error of `cancel(_:)`.
    func deliver(to receive: (TransportEvent) async throws -> Void, resume: () -> Void) async throws {
        while true {
            let batch = await next()
            if batch.resumesExchange { resume() }
            for event in batch.events {
                // No event follows a cancellation.
                if let error = state.withLock({ $0.cancellation }) { throw error }
                try await receive(event)
            }
            if let end = batch.end { return try end.get() }
        }
    }

    /// Waits for events. Called by one task at a time.
    /// - Returns: The pending events, or the end.
    func next() async -> Batch {
        while true {
            if let batch = take() { return batch }
            await withUnsafeContinuation { continuation in
                let isReady = state.withLock { state in
                    if !state.isReady { state.waiter = continuation }
                    return state.isReady
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// Takes the pending events. `nil` if the task has to wait.
    private func take() -> Batch? {
        state.withLock { state in
            guard state.isReady else { return nil }
            var batch = Batch(events: state.pending.events)
            state.pending = EventBatch()
            if batch.events.isEmpty, state.spilledCount > 0 {
                do {
                    if let piece = try state.spill?.take(upTo: capacity) { batch.events = [.body(piece)] }
                } catch {
                    (state.end, state.spill) = (.failure(error), nil)
                }
            }
            // The exchange continues once the file is empty. Before that, it would only add to the file.
            guard state.spilledCount == 0 else { return batch }
            (batch.end, batch.resumesExchange) = (state.end, state.isPaused)
            state.isPaused = false
            return batch
        }
    }
}
