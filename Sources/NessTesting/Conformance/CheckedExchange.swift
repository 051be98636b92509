import Foundation
import NessHTTP
import NessLock

/// The events of an exchange so far, and its end.
struct ExchangeRecord: Sendable {
    /// A head of a response.
    struct Head: Sendable {
        let statusCode: Int
        let headers: HTTPHeaders
    }

    /// The heads, in order. A right exchange has one.
    var heads: [Head] = []
    /// The bytes of the body.
    var body = Data()
    /// The number of pieces in which the body arrived.
    var pieceCount = 0
    /// The reported numbers of sent bytes.
    var sent: [Int64] = []
    /// The number of body pieces that arrived before a head.
    var piecesBeforeHead = 0
    /// The number of calls of `receive` that started before an earlier call had returned.
    var overlapCount = 0
    /// The number of events after the end of `send`.
    var lateCount = 0
    /// The number of events after an error of `receive`.
    var countAfterError = 0
    /// The end of `send`; `nil` while it runs.
    var end: Result<Void, any Error>?

    /// The first status; `nil` before the head.
    var statusCode: Int? { heads.first?.statusCode }
    /// The header fields of the first head.
    var headers: HTTPHeaders { heads.first?.headers ?? [:] }
    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }

    /// The error that `send` threw; `nil` if it returned.
    var error: (any Error)? { if case .failure(let error)? = end { error } else { nil } }
    /// The transport's error; `nil` if `send` returned or threw another.
    var transportError: TransportError? { error as? TransportError }
    /// True if `send` threw `CancellationError`.
    var isCancelled: Bool { error is CancellationError }
    /// True if `send` returned.
    var hasSucceeded: Bool { if case .success? = end { true } else { false } }

    /// The end and the response, for a problem.
    var summary: String {
        // Only the first bytes are decoded: a long body that is not text would take a second.
        let beginning = String(decoding: body.prefix(40), as: UTF8.self).debugDescription
        let response = statusCode.map { "\($0) with \(body.count) bytes \(beginning)" } ?? "no head"
        switch end {
        case nil: return "an exchange that has not ended, with \(response)"
        case .success: return response
        case .failure(let error as TransportError): return "the error \(error.kind) (\(error.reason)) after \(response)"
        case .failure(let error): return "the error \(String(reflecting: error)) after \(response)"
        }
    }
}

/// An exchange that a check has started. It records each event.
final class CheckedExchange: Sendable {
    private struct State: Sendable {
        var record = ExchangeRecord()
        var callsInProgress = 0
        var hasThrown = false
    }

    private let state = Lock(State())
    private let changed = ChangeSignal()
    private let task = Lock<Task<Void, Never>?>(nil)

    /// Starts an exchange in a separate task.
    /// - Parameters:
    ///   - request: The request. The files of its body are looked up first, as the pipeline does.
    ///   - transport: The transport.
    ///   - isResolved: True if the request's files were looked up already.
    ///   - start: The exchange starts when this gate is open.
    ///   - onEvent: Runs inside each call of `receive`, after the event was recorded.
    init(
        _ request: HTTPRequest, over transport: any Transport, isResolved: Bool = false, after start: TestGate? = nil,
        onEvent: @escaping @Sendable (CheckedExchange, TransportEvent) async throws -> Void = { _, _ in }
    ) {
        // Under the lock, so that a cancellation from inside `receive` finds the task.
        task.withLock { task in
            task = Task { [self] in
                await start?.wait()
                do {
                    var request = request
                    if !isResolved, let body = request.body { request.body = try await body.resolved() }
                    try await transport.send(request) { try await self.receive($0, onEvent) }
                    end(.success(()))
                } catch {
                    end(.failure(error))
                }
            }
        }
    }

    /// The events so far, and the end.
    var record: ExchangeRecord { state.withLock { $0.record } }

    /// Cancels the task that called `send`.
    func cancel() { task.withLock { $0 }?.cancel() }

    /// Waits for the end of `send`.
    func end() async -> ExchangeRecord {
        await changed.wait(heedingCancellation: false) { record.end != nil }
        return record
    }

    /// Waits until the events meet a condition.
    /// - Returns: False if the exchange ended before.
    @discardableResult
    func wait(until condition: @Sendable (ExchangeRecord) -> Bool) async -> Bool {
        await changed.wait {
            let record = record
            return condition(record) ? true : (record.end == nil ? false : nil)
        }
    }

    private func receive(
        _ event: TransportEvent, _ onEvent: @Sendable (CheckedExchange, TransportEvent) async throws -> Void
    ) async throws {
        state.withLock { state in
            state.callsInProgress += 1
            if state.callsInProgress > 1 { state.record.overlapCount += 1 }
            if state.hasThrown { state.record.countAfterError += 1 }
            if state.record.end == nil { state.record.add(event) } else { state.record.lateCount += 1 }
        }
        changed.notify()
        defer { state.withLock { $0.callsInProgress -= 1 } }
        do {
            try await onEvent(self, event)
        } catch {
            state.withLock { $0.hasThrown = true }
            throw error
        }
    }

    private func end(_ result: Result<Void, any Error>) {
        state.withLock { $0.record.end = result }
        changed.notify()
    }
}

extension ExchangeRecord {
    fileprivate mutating func add(_ event: TransportEvent) {
        if case .sent(let count) = event { sent.append(count) }
        if case .head(let statusCode, let headers) = event { heads.append(Head(statusCode: statusCode, headers: headers)) }
        guard case .body(let data) = event else { return }
        if heads.isEmpty { piecesBeforeHead += 1 }
        pieceCount += 1
        body.append(data)
    }
}
