import Foundation
import NessLock

/// Keeps the errors and delays of a storage from requests.
///
/// A caller waits for a limited time. While an operation takes longer than that, no other one starts, so a storage that hangs delays the
/// requests in flight only once. A removal that failed is owed: it runs before the next operation, so that no removed record is found
/// again.
///
/// Changes of one URL run in their order, so that no write ends after a later removal.
final class GuardedStorage: Sendable {
    /// The records that are removed.
    enum Removal: Sendable {
        case record(CacheStorageKey)
        /// The URL by its digest.
        case url(String)
        /// The user by the stable name.
        case user(ExactText)
        case all
    }

    private struct State: Sendable {
        var nextID = 0
        /// The running operations, and those of them that take longer than the timeout.
        var running: Set<Int> = [], late: Set<Int> = []
        var owed: [Int: Removal] = [:]
        /// The number of running or waiting writes of each URL.
        var writes: [String: Int] = [:]
        /// The number of running removals of a user or of everything.
        var wideRemovals = 0

        mutating func newID() -> Int {
            nextID += 1
            return nextID
        }
    }

    /// The most removals that are owed. Beyond them, everything is removed.
    private static let owedLimit = 10_000

    private let storage: any CacheStorage
    private let timeout: Duration
    private let state = Lock(State())
    private let changes = Limiter<String>(limit: 1)

    init(_ storage: any CacheStorage, timeout: Duration) {
        self.storage = storage
        self.timeout = timeout
    }

    /// Finds the responses with a key, newest first.
    func responses(_ key: CacheStorageKey, _ clock: PipelineClock) async -> [CachedResponse] {
        guard !isLate else { return [] }
        return await run(clock, untilCancelled: true) { [self] in
            try await removeOwed()
            return try await stored(key)
        } ?? []
    }

    /// Writes a response into the record of its key, in place of the older one.
    /// - Parameters:
    ///   - response: The response.
    ///   - key: Its key.
    ///   - isWanted: Returns true as long as the response may still be stored.
    func write(
        _ response: CachedResponse, _ key: CacheStorageKey, _ clock: PipelineClock, if isWanted: @escaping @Sendable () -> Bool
    ) async {
        await change(orElse: .record(key), clock) { [self] in
            try await removeOwed()
            // A write keeps the other variants of its record. While the records of a user, or all records, are being removed, it could
            // restore one of them.
            guard count(1, key.url) else { return owe(.record(key)) }
            defer { count(-1, key.url) }
            try await inOrder(key.url) { [self] in
                guard isWanted() else { return }
                do {
                    let responses = (response.isOnlyVariant ? [] : try await stored(key)).adding(response)
                    let time = responses.map { $0.usefulTime(at: response.received) }.max() ?? 0
                    try await storage.write(CacheRecord.encode(responses, key), for: key, expiresAfter: .seconds(time))
                } catch {
                    // The older record is outdated.
                    try await storage.remove(key)
                }
            }
        }
    }

    /// Removes records, now or before the next operation.
    func remove(_ removal: Removal, _ clock: PipelineClock) async {
        await change(orElse: removal, clock) { [self] in try await perform(removal) }
    }

    // MARK: operations

    private func stored(_ key: CacheStorageKey) async throws -> [CachedResponse] {
        try await storage.read(key).map { CacheRecord.decode($0, key) } ?? []
    }

    private func perform(_ removal: Removal) async throws {
        switch removal {
        case .record(let key): try await inOrder(key.url) { [self] in try await storage.remove(key) }
        case .url(let url): try await inOrder(url) { [self] in try await storage.removeAll(ofURL: url) }
        case .user(let user):
            try await removeAll { !$0.user.isEmpty && $0.user.isExactly(CacheKey.digest(of: user, urlDigest: $0.url)) }
        case .all: try await removeAll { _ in true }
        }
    }

    private func removeAll(where isRemoved: @escaping @Sendable (CacheStorageKey) -> Bool) async throws {
        state.withLock { $0.wideRemovals += 1 }
        defer { state.withLock { $0.wideRemovals -= 1 } }
        await finishWrites()
        try await storage.removeAll(where: isRemoved)
    }

    private func removeOwed() async throws {
        if state.withLock({ $0.owed.isEmpty }) { return }
        // Of several requests that find removals owed, one performs them, and the others wait. No URL has the empty name.
        try await inOrder("") { [self] in
            while let (id, removal) = state.withLock({ $0.owed.first }) {
                try await perform(removal)
                state.withLock { $0.owed[id] = nil }
            }
        }
    }

    private func owe(_ removal: Removal) {
        state.withLock { state in
            if state.owed.count >= Self.owedLimit { state.owed = [state.newID(): .all] }
            state.owed[state.newID()] = removal
        }
    }

    /// Waits for the writes that have started. Later writes store nothing, because the cache has forgotten their fetches.
    private func finishWrites() async {
        for url in state.withLock({ Array($0.writes.keys) }) { try? await inOrder(url) {} }
    }

    /// Counts a write that starts (1) or ends (-1).
    /// - Returns: False if it must not start.
    @discardableResult
    private func count(_ change: Int, _ url: String) -> Bool {
        state.withLock { state in
            if change > 0, state.wideRemovals > 0 { return false }
            let count = (state.writes[url] ?? 0) + change
            state.writes[url] = count == 0 ? nil : count
            return true
        }
    }

    /// Runs a change after all earlier changes of the same URL.
    private func inOrder(_ url: String, _ body: @Sendable () async throws -> Void) async throws {
        let (lane, waiter) = changes.enter(url)
        try await waiter?.wait()
        defer { changes.leave(lane) }
        try await body()
    }

    // MARK: time

    /// True while an operation takes longer than the timeout.
    private var isLate: Bool { state.withLock { !$0.late.isEmpty } }

    /// Runs a change. If it cannot run or fails, a removal is owed instead.
    private func change(orElse removal: Removal, _ clock: PipelineClock, _ body: @escaping @Sendable () async throws -> Void) async {
        guard !isLate else { return owe(removal) }
        await run(clock, untilCancelled: false) { [self] in
            do { try await body() } catch { owe(removal) }
        }
    }

    /// Runs an operation in its own task, and waits for it until the timeout. It continues in any case.
    /// - Parameter untilCancelled: True if a cancellation of the calling task ends the wait. False for a change: a reset has to wait for it
    ///   in any case.
    /// - Returns: The value of the operation. `nil` if it failed, or if it takes too long.
    @discardableResult
    private func run<Value: Sendable>(
        _ clock: PipelineClock, untilCancelled: Bool, _ body: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
        let ignored: @Sendable () -> Void = {}
        let waiter = ValueWaiter<Value?>(leave: untilCancelled ? ignored : nil)
        let id = state.withLock { state in
            let id = state.newID()
            state.running.insert(id)
            return id
        }
        let stopTimer = clock.startTimer(after: timeout) { [self] in
            state.withLock { state in
                if state.running.contains(id) { state.late.insert(id) }
            }
            waiter.resume(.success(nil))
        }
        Task { [self] in
            let value = try? await body()
            stopTimer()
            state.withLock { state in
                state.running.remove(id)
                state.late.remove(id)
            }
            waiter.resume(.success(value))
        }
        return (try? await waiter.wait()) ?? nil
    }
}
