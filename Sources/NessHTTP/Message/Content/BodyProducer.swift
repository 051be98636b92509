import Dispatch
import Foundation
import NessLock
import NessPromise

/// Reads one stream in a separate task, and hands the pieces over one at a time.
///
/// The task asks the sequence for a piece only after the reader has taken all bytes of the piece before, so at most one piece is in memory.
/// The last piece of a stream with a known length waits until the sequence has ended: a server never takes a request for complete whose
/// sequence turns out to be too long.
package final class BodyProducer: Sendable {
    private struct State: Sendable {
        /// The bytes that the reader has not yet taken.
        var piece = Data()
        /// The last piece by the announced length. It is withheld until the sequence ends.
        var last = Data()
        /// The number of bytes that the sequence has given.
        var count: Int64 = 0
        var hasStarted = false
        /// True while a piece is handed over.
        var isHandingOver = false
        var end: Result<Void, any Error>?
        /// The task. It may continue after the end: a closure may ignore the error of two pieces that overlap.
        var task: Task<Void, Never>?
        /// The task, if it waits for the reader.
        var waiting: UnsafeContinuation<Void, Never>?
        var onReady: (@Sendable () -> Void)?
    }

    private let stream: BodyStream
    private let state = Lock(State())

    init(_ stream: BodyStream) { self.stream = stream }

    // MARK: the reader

    /// Takes bytes. The first call starts the task. Never waits.
    /// - Parameter count: The largest number of bytes to return, at least one.
    /// - Returns: The bytes; empty at the end; `nil` if the reader has to wait.
    /// - Throws: `TransportError` of the kind `invalidRequest`, or `CancellationError` after `cancel()`.
    func take(upTo count: Int) throws -> Data? {
        startIfNeeded()
        let (taken, waiting): (Data?, UnsafeContinuation<Void, Never>?) = try state.withLock { state in
            guard state.piece.isEmpty else {
                let taken = state.piece.prefix(count)
                state.piece = state.piece.dropFirst(taken.count)
                guard state.piece.isEmpty else { return (taken, nil) }
                // An empty slice would keep the memory of the whole piece.
                state.piece = Data()
                return (taken, state.waiting.take())
            }
            guard let end = state.end else { return (nil, nil) }
            try end.get()
            return (Data(), nil)
        }
        waiting?.resume()
        return taken
    }

    /// Calls a closure once, when `take(upTo:)` no longer returns `nil`: immediately, or later on the task's thread. A later call replaces
    /// the closure.
    package func whenReady(_ body: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            let isReady = !state.piece.isEmpty || state.end != nil
            state.onReady = isReady ? nil : body
            return isReady
        }
        if isReady { body() }
    }

    /// True while the reader waits for a piece.
    var isAwaited: Bool { state.withLock { $0.onReady != nil } }

    /// Suspends until `take(upTo:)` no longer returns `nil`.
    /// - Throws: `CancellationError` if the calling task is canceled, without waiting for the sequence.
    func untilReady() async throws {
        let ready = Promise<Void>()
        whenReady { ready.settle(.success(())) }
        // The promise fails only if this task is canceled.
        _ = try? await ready.value
        try Task.checkCancellation()
    }

    /// Cancels the task, whether or not the sequence reacts. Its pieces are discarded. Safe from any thread.
    package func cancel() {
        let (task, waiting, ready) = state.withLock { state in
            state.piece = Data()
            state.last = Data()
            // A successful end is replaced as well: otherwise a reader would take the discarded bytes for the end of the body.
            state.end = .failure(CancellationError())
            return (state.task, state.waiting.take(), state.onReady.take())
        }
        if let task { Self.cancel(task) }
        waiting?.resume()
        ready?()
    }

    /// Cancels a task on another thread: the sequence's own handlers run in the call, and the calling thread may drive all transfers.
    private static func cancel(_ task: Task<Void, Never>) { DispatchQueue.global().async { task.cancel() } }

    // MARK: the task

    private func startIfNeeded() {
        let starts = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted && state.end == nil
        }
        guard starts else { return }
        do {
            // Claimed before this call returns, so that a second attempt finds the sequence claimed.
            try stream.claim(for: self)
        } catch {
            return finish(.failure(error))
        }
        let task = Task { await run() }
        let isLate = state.withLock { state in
            state.task = task
            return state.end != nil
        }
        if isLate { Self.cancel(task) }
    }

    private func run() async {
        do {
            try await stream.pieces { try await self.handOver($0) }
            let count = state.withLock { $0.count }
            if let length = stream.length, count != length {
                throw TransportError(.invalidRequest, "the body's sequence ended after \(count) of \(length) bytes")
            }
            finish(.success(()))
        } catch let error as TransportError where error.kind == .invalidRequest {
            // The length is wrong, or the sequence reads another body, whose error already explains the failure.
            finish(.failure(error))
        } catch {
            finish(.failure(TransportError(.invalidRequest, "the body's sequence failed with \(type(of: error))", underlying: error)))
        }
    }

    /// Gives a piece to the reader, and returns when the reader has taken it.
    private func handOver(_ piece: Data) async throws {
        try Task.checkCancellation()
        if piece.isEmpty { return }
        let isLast: Bool? = try state.withLock { state in
            if state.isHandingOver { return nil }
            state.count += Int64(piece.count)
            guard let length = stream.length, state.count >= length else {
                state.isHandingOver = true
                return false
            }
            guard state.count == length else {
                throw TransportError(.invalidRequest, "the body's sequence produced more than the \(length) bytes announced")
            }
            state.last = piece
            return true
        }
        guard let isLast else {
            finish(.failure(Self.overlap))
            throw Self.overlap
        }
        if isLast { return }
        await withUnsafeContinuation { continuation in
            let (isOpen, ready): (Bool, (@Sendable () -> Void)?) = state.withLock { state in
                guard state.end == nil else { return (false, nil) }
                state.piece = piece
                state.waiting = continuation
                return (true, state.onReady.take())
            }
            if !isOpen { continuation.resume() }
            ready?()
        }
        // The task may be canceled a moment after the reader has left.
        let hasEnded = state.withLock { state in
            state.isHandingOver = false
            return state.end != nil
        }
        if hasEnded { throw CancellationError() }
    }

    /// The error of a piece that is written while another one is being written, or whose write is not awaited. It occurs only if several
    /// tasks share a writer, which the compiler does not always prevent.
    private static var overlap: TransportError { TransportError(.invalidRequest, "a piece of the body was written while another one was") }

    private func finish(_ end: Result<Void, any Error>) {
        let ready: (@Sendable () -> Void)? = state.withLock { state in
            guard state.end == nil else { return nil }
            if case .success = end, !state.isHandingOver {
                state.piece = state.last
                state.end = end
            } else {
                state.end = end.flatMap { .failure(Self.overlap) }
            }
            state.last = Data()
            return state.onReady.take()
        }
        ready?()
    }
}
