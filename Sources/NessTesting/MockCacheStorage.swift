import Foundation
import NessHTTP
import NessLock

/// A `CacheStorage` in memory for tests. It can fail, hang and lose records.
///
/// ```swift
/// let storage = MockCacheStorage { access in
///     if access == .read { throw Unreachable() }
/// }
/// let ness = Ness {
///     $0.cache = HTTPCache(memoryLimit: 0, storage: storage)
/// }
/// ```
public final class MockCacheStorage: CacheStorage {
    /// A call of the storage.
    public enum Access: Sendable, Hashable {
        /// `read(_:)`.
        case read
        /// `write(_:for:expiresAfter:)`, with its time.
        case write(expiresAfter: Duration)
        /// One of the methods that remove records.
        case remove
    }

    private let kept = Lock<[CacheStorageKey: Data]>([:])
    private let willAccess: @Sendable (Access) async throws -> Void

    /// Makes an empty storage.
    /// - Parameter willAccess: Runs before each call, in its task. An error that it throws is the result of the call, and a wait delays the
    ///   call.
    public init(willAccess: @escaping @Sendable (Access) async throws -> Void = { _ in }) { self.willAccess = willAccess }

    /// The records. A test may remove or damage them.
    public var records: [CacheStorageKey: Data] {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }

    /// Returns a record.
    public func read(_ key: CacheStorageKey) async throws -> Data? {
        try await willAccess(.read)
        return kept.withLock { $0[key] }
    }

    /// Stores a record. It never expires.
    public func write(_ record: Data, for key: CacheStorageKey, expiresAfter time: Duration) async throws {
        try await willAccess(.write(expiresAfter: time))
        kept.withLock { $0[key] = record }
    }

    /// Removes a record.
    public func remove(_ key: CacheStorageKey) async throws { try await removeAll { $0 == key } }

    /// Removes the records of a URL.
    public func removeAll(ofURL url: String) async throws { try await removeAll { $0.url == url } }

    /// Removes the records that a closure chooses.
    public func removeAll(where isRemoved: @Sendable (CacheStorageKey) -> Bool) async throws {
        try await willAccess(.remove)
        kept.withLock { records in records = records.filter { !isRemoved($0.key) } }
    }
}
