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

        mutating func remove(_ number: Int) {
            bytes -= records.removeValue(forKey: number)?.bytes ?? 0
            removal = changes
        }
    }

    private let limits: Inspector.Limits
    private let state = Lock(State())
    private let changed = ChangeSignal()
    private let origin = ContinuousClock.now

    init(_ limits: Inspector.Limits) { self.limits = limits }

    /// The time since the inspector's start.
    var now: Duration { .now - origin }

    /// Adds a request.
    func start(_ request: HTTPRequest) {
        let now = now
        state.withLock { state in
            state.count += 1
            state.changes += 1
            state.totals.requests += 1
            let record = RequestRecord(number: state.count, request: request, start: now, change: state.changes)
            state.bytes += record.bytes
            state.running[request.id] = state.count
            state.records[state.count] = record
        }
        changed.notify()
    }

    /// Adds an event to a request that runs.
    func add(_ event: RequestRecord.Event, to request: HTTPRequest) {
        let now = now
        state.withLock { state in
            guard let number = state.running[request.id] else { return }
            state.changes += 1
            state.totals.count(event)
            let (change, bodyLimit) = (state.changes, limits.maximumBodyBytes)
            state.bytes += state.records[number]?.add(event, at: now, change: change, bodyLimit: bodyLimit) ?? 0
        }
        changed.notify()
    }

    /// Ends a request, and forgets the oldest ones that are too many or too large.
    func end(_ request: HTTPRequest) {
        let now = now
        state.withLock { state in
            guard let number = state.running.removeValue(forKey: request.id) else { return }
            state.changes += 1
            state.records[number]?.finish(at: now, change: state.changes)
            state.ended.append(number)
            let excess = state.ended.count - max(0, limits.maximumRequests)
            var removed = 0
            while removed < state.ended.count, removed < excess || state.bytes > limits.maximumBytes {
                state.remove(state.ended[removed])
                removed += 1
            }
            state.ended.removeFirst(removed)
        }
        changed.notify()
    }

    /// Forgets the requests that have ended, and sets the totals to zero.
    func clear() {
        state.withLock { state in
            state.changes += 1
            for number in state.ended { state.remove(number) }
            state.ended = []
            state.totals = Totals()
            state.removal = state.changes
        }
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
        case .outcome(let metrics):
            bytesSent += metrics.bytesSent
            bytesReceived += metrics.bytesReceived
            switch metrics.outcome {
            case .success(let response): if response.source == .cache || response.source == .stale { cached += 1 }
            case .failure(let error): if (error as? NessError)?.kind != .dropped { failed += 1 }
            }
        default: break
        }
    }
}
