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
    struct Totals: Sendable, Encodable, Equatable {
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
        /// The records, by number.
        var records: [Int: RequestRecord] = [:]
        /// The numbers of the requests that run, by their identifiers.
        var running: [Int: Int] = [:]
        /// The numbers of the others, in the order of their ends.
        var ended: [Int] = []
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
        let now = now
        state.withLock { state in
            guard state.running[request.id] == nil else { return }
            state.count += 1
            state.changes += 1
            state.totals.requests += 1
            let record = RequestRecord(number: state.count, request: request, start: now, change: state.changes, limits: limits)
            state.bytes += record.bytes
            state.running[request.id] = state.count
            state.records[state.count] = record
        }
        changed.notify()
    }

    /// Adds an event to a request that runs.
    func add(_ event: RequestRecord.Event, to request: HTTPRequest) {
        change(request) { state, record, now in
            state.totals.count(event)
            state.bytes += record.add(event, at: now, change: state.changes)
        }
    }

    /// Adds the start of an attempt.
    /// - Parameter sent: The request of the attempt.
    func addAttempt(_ sent: HTTPRequest) {
        change(sent) { state, record, now in record.addAttempt(sent, at: now, change: state.changes) }
    }

    private func change(_ request: HTTPRequest, _ change: (inout State, inout RequestRecord, Duration) -> Void) {
        let now = now
        state.withLock { state in
            guard let number = state.running[request.id], var record = state.records.removeValue(forKey: number) else { return }
            state.changes += 1
            change(&state, &record, now)
            state.records[number] = record
        }
        changed.notify()
    }

    /// Ends a request, and forgets the oldest ones that are too many or too large.
    func end(_ request: HTTPRequest) {
        let now = now
        // Released outside the lock, because what a request holds is the application's.
        let removed = state.withLock { state -> [RequestRecord] in
            guard let number = state.running.removeValue(forKey: request.id) else { return [] }
            state.changes += 1
            state.records[number]?.finish(at: now, change: state.changes)
            state.ended.append(number)
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
        _ = removed
        changed.notify()
    }

    /// Forgets the requests that have ended, and sets the totals to zero.
    func clear() {
        let removed = state.withLock { state in
            state.changes += 1
            let removed = state.ended.map { state.remove($0) }
            state.ended = []
            state.totals = Totals()
            state.removal = state.changes
            return removed
        }
        _ = removed
        changed.notify()
    }

    /// Returns the records with the given numbers, in this order, without those that are not kept.
    func records(_ numbers: [Int]) -> [RequestRecord] { state.withLock { state in numbers.compactMap { state.records[$0] } } }

    /// Suspends until something has changed.
    /// - Parameter last: The number of the last change that the page has. It becomes the number of the newest.
    /// - Returns: The changes; `nil` if the task was canceled.
    func changes(after last: inout Int) async -> Changes? {
        let known = last
        guard await changed.wait(until: { [self] in state.withLock { $0.changes > known } }) else { return nil }
        return state.withLock { state in
            last = state.changes
            let records = state.records.values.filter { $0.change > known }.sorted { $0.number < $1.number }
            return Changes(
                records: records, kept: known == 0 || state.removal > known ? state.records.keys.sorted() : nil, totals: state.totals)
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
            // A transport of the application may report any number.
            bytesSent = bytesSent.addingClamped(metrics.bytesSent)
            bytesReceived = bytesReceived.addingClamped(metrics.bytesReceived)
            if outcome.error != nil {
                if !outcome.isDrop { failed += 1 }
            } else if let source = outcome.response?.source, source == .cache || source == .stale {
                cached += 1
            }
        default: break
        }
    }
}

extension Int64 {
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}
