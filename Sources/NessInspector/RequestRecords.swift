import Foundation
import NessHTTP
import NessLock
import NessTesting

/// The requests that an inspector keeps: those that run, and the newest of the others.
final class RequestRecords: Sendable {
    /// The changes since a page asked last.
    struct Changes: Sendable {
        /// The new and the changed requests, in the order of their starts.
        var records: [RequestRecord]
        /// The numbers of all requests, the first time and if some were forgotten; `nil` in other cases.
        var kept: [Int]?
        var totals: Totals
    }

    /// The sums over all requests since the start or the last `clear()`.
    struct Totals: Sendable {
        var requests = 0
        var exchanges = 0
        var joined = 0
        var cached = 0
        var retries = 0
        var failed = 0
        var bytesSent: Int64 = 0
        var bytesReceived: Int64 = 0
    }

    private struct State: Sendable {
        /// The requests that run, by their identifiers.
        var running: [Int: RequestRecord] = [:]
        /// The others, by number.
        var records: [Int: RequestRecord] = [:]
        /// The numbers of the others, in the order of their ends.
        var ended: [Int] = []
        /// The number of pages that wait for a change.
        var waiting = 0
        var bytes = 0
        var count = 0
        /// The number of changes.
        var changes = 0
        /// The number of the change that last removed a record.
        var removal = 0
        var totals = Totals()

        mutating func remove(_ number: Int) -> RequestRecord? {
            let record = records.removeValue(forKey: number)
            bytes -= record?.bytes ?? 0
            removal = changes
            return record
        }
    }

    private let limits: Inspector.Limits
    private let state = Lock(State())
    private let changed = ChangeSignal()
    private let origin = ContinuousClock.now

    init(_ limits: Inspector.Limits) { self.limits = limits }

    /// The time since the inspector's start.
    var now: Duration { .now - origin }

    /// Adds a request. One that runs already is not added again: a manager may have the inspector twice.
    func start(_ request: HTTPRequest) {
        change { state, now in
            guard state.running[request.id] == nil else { return }
            state.count += 1
            state.totals.requests += 1
            let record = RequestRecord(number: state.count, request: request, start: now, change: state.changes, limits: limits)
            state.bytes += record.bytes
            state.running[request.id] = record
        }
    }

    /// Adds an event to a request that runs.
    func add(_ event: RequestRecord.Event, to request: HTTPRequest) {
        change { state, now in
            guard state.running[request.id] != nil else { return }
            state.totals.count(event)
            state.bytes += state.running[request.id]?.add(event, at: now, change: state.changes) ?? 0
        }
    }

    /// Adds the start of an attempt.
    /// - Parameter sent: The request of the attempt.
    func addAttempt(_ sent: HTTPRequest) {
        change { state, now in state.running[sent.id]?.addAttempt(sent, at: now, change: state.changes) }
    }

    private func change<Result: Sendable>(_ change: (inout State, _ now: Duration) -> Result) -> Result {
        let now = now
        let (result, notifies) = state.withLock { state in
            state.changes += 1
            return (change(&state, now), state.waiting > 0)
        }
        if notifies { changed.notify() }
        return result
    }

    /// Ends a request, and forgets the oldest ones that are too many or too large.
    func end(_ request: HTTPRequest) {
        // Released outside the lock, because what a request holds is the application's.
        _ = change { state, now -> [RequestRecord] in
            guard var record = state.running.removeValue(forKey: request.id) else { return [] }
            record.finish(at: now, change: state.changes)
            state.records[record.number] = record
            state.ended.append(record.number)
            var removed: [RequestRecord] = []
            while removed.count < state.ended.count,
                state.ended.count - removed.count > max(0, limits.maximumRequests) || state.bytes > limits.maximumBytes,
                let record = state.remove(state.ended[removed.count])
            {
                removed.append(record)
            }
            state.ended.removeFirst(removed.count)
            return removed
        }
    }

    /// Forgets the requests that have ended, and sets the totals to zero.
    func clear() {
        _ = change { state, _ -> [RequestRecord?] in
            let removed = state.ended.map { state.remove($0) }
            state.ended = []
            state.totals = Totals()
            return removed
        }
    }

    /// Returns the records with the given numbers, in this order, without those that are not kept.
    func records(_ numbers: [Int]) -> [RequestRecord] {
        state.withLock { state in
            numbers.compactMap { number in state.records[number] ?? state.running.values.first { $0.number == number } }
        }
    }

    /// Suspends until something has changed.
    /// - Parameter last: The number of the last change that the page has. It becomes the number of the newest.
    /// - Returns: The changes; `nil` if the task was canceled.
    func changes(after last: inout Int) async -> Changes? {
        let known = last
        // Counted before the first check, so that no change is missed.
        state.withLock { $0.waiting += 1 }
        defer { state.withLock { $0.waiting -= 1 } }
        guard await changed.wait(until: { [self] in state.withLock { $0.changes > known } }) else { return nil }
        return state.withLock { state in
            last = state.changes
            let all = [state.running.values, state.records.values].joined()
            let records = all.filter { $0.change > known }.sorted { $0.number < $1.number }
            let kept = known == 0 || state.removal > known ? all.map(\.number).sorted() : nil
            return Changes(records: records, kept: kept, totals: state.totals)
        }
    }
}

extension RequestRecords.Totals {
    fileprivate mutating func count(_ event: RequestRecord.Event) {
        switch event {
        case .begin(let exchange):
            if exchange.isJoined { joined += 1 } else { exchanges += 1 }
        case .retry: retries += 1
        case .outcome(let outcome, let metrics):
            bytesSent = bytesSent.saturatingAdd(metrics.bytesSent)
            bytesReceived = bytesReceived.saturatingAdd(metrics.bytesReceived)
            if outcome.error != nil {
                if !outcome.isDrop { failed += 1 }
            } else if let source = outcome.response?.source, source == .cache || source == .stale {
                cached += 1
            }
        default: break
        }
    }
}
