import Foundation
import NessLock

/// Protects requests from the errors and delays of a storage.
///
/// A caller waits for a limited time. While an operation takes longer than that, no other one starts, so a storage that hangs delays the
/// requests in flight only once. A removal that failed is owed: it runs before the next operation, so that no removed record is found
/// again.
///
/// Changes of one URL run one after another, so that no write ends after a later removal.
final class GuardedStorage: Sendable {
    /// A removal of records.
    enum Removal: Sendable {
        case record(CacheStorageKey)
        /// Removes the records of a URL, given its digest.
        case url(String)
        /// Removes the records of a user, given the stable name.
        case user(ExactText)
        case all
    }

    private struct State: Sendable {
        var nextID = 0
        /// The running operations, and those of them that take longer than the timeout.
        var running: Set<Int> = [], late: Set<Int> = []
        /// The removals that have to run before the next operation.
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
    /// The key of the removals that are owed, which run one after another. No URL has the empty name.
    private static let owedKey = ""

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
            guard beginWrite(to: key.url) else { return owe(.record(key)) }
            defer { endWrite(to: key.url) }
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
        // Of several requests that find removals owed, one performs them, and the others wait.
        try await inOrder(Self.owedKey) { [self] in
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

    /// Counts a write, which `endWrite` ends. Returns false if it must not start.
    private func beginWrite(to url: String) -> Bool {
        state.withLock { state in
            guard state.wideRemovals == 0 else { return false }
            state.writes[url, default: 0] += 1
            return true
        }
    }

    private func endWrite(to url: String) {
        state.withLock { $0.writes[url] = $0.writes[url].flatMap { count in count > 1 ? count - 1 : nil } }
    }

    /// Runs a change after all earlier changes with the same key, which is a URL or `owedKey`.
    private func inOrder(_ key: String, _ body: @Sendable () async throws -> Void) async throws {
        let (lane, waiter) = changes.enter(key)
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
        // The waiter is in no queue that it would have to leave when the task is canceled.
        let leave: @Sendable () -> Void = {}
        let waiter = ValueWaiter<Value?>(leave: untilCancelled ? leave : nil)
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
