import Foundation

/// A place outside the process's memory where an `HTTPCache` keeps its records, such as a folder or a server of several machines.
///
/// The cache decides what is stored, for whom, for how long, and when it is removed. A storage only keeps bytes under a key, and needs to
/// understand neither. `CacheFolder` is a storage in files; `Examples/SharedCache` is one in Redis.
///
/// ```swift
/// struct TableStorage: CacheStorage {
///     let table: Table
///
///     func read(_ key: CacheStorageKey) async throws -> Data? {
///         try await table.row(key.rawValue)?.bytes
///     }
///
///     func write(
///         _ record: Data, for key: CacheStorageKey,
///         expiresAfter time: Duration
///     ) async throws {
///         let row = Row(bytes: record, url: key.url, expires: .now + time)
///         try await table.set(key.rawValue, row)
///     }
///
///     func remove(_ key: CacheStorageKey) async throws {
///         try await table.delete { $0.key == key.rawValue }
///     }
///
///     func removeAll(ofURL url: String) async throws {
///         try await table.delete { $0.url == url }
///     }
///
///     func removeAll(
///         where isRemoved: @Sendable (CacheStorageKey) -> Bool
///     ) async throws {
///         for name in try await table.keys() {
///             guard let key = CacheStorageKey(rawValue: name) else { continue }
///             if isRemoved(key) { try await remove(key) }
///         }
///     }
/// }
/// ```
///
/// **Calls.** The cache calls `read` if no response in memory matches a request, and `write` for each response that it stores, unless the
/// response has a secret header field. It calls `removeAll(ofURL:)` after a write to the URL such as a POST, `remove` if a response must
/// not be kept, and `removeAll(where:)` for `removeAll()`, `removeAll(of:)` and `Ness.reset()`. Calls run concurrently, each in a separate
/// task. Changes of one URL run one after another. The cache never cancels a call.
///
/// **Records.** A record has a checksum, its format's version, and its key. Bytes that are incomplete, changed or foreign count as
/// missing, so a storage may return anything without harm. Replace a record in one step, so that no reader finds half of it. The storage
/// must be private: a person who can read it sees header fields and bodies, and a person who can write to it chooses what requests receive.
///
/// **Failures.** No error and no delay of a storage fails a request. An error of `read` counts as a missing record. If `write` throws, for
/// example because the storage is full, the cache removes the older record of the key. A removal that throws is repeated before the next
/// call; until it succeeds, the cache reads nothing. A request waits at most for the cache's `storageTimeout`. While a call takes longer,
/// the cache does without the storage, so a storage should end its calls after some seconds.
///
/// **Test.** `CacheStorageConformance` of NessTesting checks a storage against this contract.
public protocol CacheStorage: Sendable {
    /// Returns a record.
    /// - Parameter key: The key of the record.
    /// - Returns: The bytes of the latest `write` for the key, which must not change afterwards. `nil` if no record has the key, or if the
    ///   record was evicted or has expired.
    /// - Throws: Any error, if the storage cannot tell. It counts as a missing record.
    func read(_ key: CacheStorageKey) async throws -> Data?

    /// Stores a record, in place of the older one with the key.
    /// - Parameters:
    ///   - record: The bytes.
    ///   - key: The key of the record.
    ///   - time: The time after which the cache no longer needs the record: at least a week, at most some seventy years. The storage may
    ///     remove the record earlier, to make room, or keep it longer.
    /// - Throws: Any error, if the record was not stored.
    func write(_ record: Data, for key: CacheStorageKey, expiresAfter time: Duration) async throws

    /// Removes the record of a key. A missing record is not an error.
    /// - Parameter key: The key of the record.
    /// - Throws: Any error, if the record may still be there.
    func remove(_ key: CacheStorageKey) async throws

    /// Removes all records of a URL, of all users.
    /// - Parameter url: The value of `CacheStorageKey.url`.
    /// - Throws: Any error, if a record may still be there.
    func removeAll(ofURL url: String) async throws

    /// Removes the records that a closure chooses. Called rarely: when a user signs out, and when the cache is emptied.
    /// - Parameter isRemoved: Returns true for a key whose record is removed.
    /// - Throws: Any error, if a chosen record may still be there.
    func removeAll(where isRemoved: @Sendable (CacheStorageKey) -> Bool) async throws
}

/// The key of a record in a `CacheStorage`: the digests of the URL, of the credential and of the user.
///
/// It reveals none of them. A user has different digests for different URLs, so the keys do not show what one user requests.
public struct CacheStorageKey: RawRepresentable, Hashable, Sendable {
    private static let digestLength = 64

    /// The key as text: 64 to 194 of the characters `0`–`9`, `a`–`f` and `-`. It can be the name of a file.
    public let rawValue: String

    /// The digest of the URL: the first 64 characters of `rawValue`. All records of a URL share it.
    public var url: String { part(0) }

    /// The digest of the user's stable name. Empty if the authentication gives none.
    var user: String { part(2) }

    /// Makes a key from its text. Fails if the string is not the `rawValue` of a key.
    /// - Parameter rawValue: The text.
    public init?(rawValue: String) {
        let digests = rawValue.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isDigit: (UInt8) -> Bool = { (48...57).contains($0) || (97...102).contains($0) }
        guard digests.count <= 3, digests[0].count == Self.digestLength,
            digests.allSatisfy({ ($0.isEmpty || $0.count == Self.digestLength) && $0.allSatisfy(isDigit) })
        else { return nil }
        self.rawValue = rawValue
    }

    /// Makes the key of digests.
    package init(url: String, credential: String = "", user: String = "") {
        rawValue = url + (credential.isEmpty && user.isEmpty ? "" : "-\(credential)") + (user.isEmpty ? "" : "-\(user)")
    }

    private func part(_ index: Int) -> String {
        let parts = rawValue.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return index < parts.count ? String(decoding: parts[index], as: UTF8.self) : ""
    }
}
