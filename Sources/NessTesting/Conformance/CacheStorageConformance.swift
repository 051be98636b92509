import Foundation
import NessHTTP
import NessLock

/// A test of any `CacheStorage` against the contract in its documentation.
///
/// ```swift
/// @Test(arguments: CacheStorageConformance.checks)
/// func conforms(_ check: CacheStorageConformance.Check) async {
///     let problems = await check.problems(of: MyStorage())
///     #expect(problems.isEmpty)
/// }
/// ```
///
/// It needs no test framework. Each check first removes all records, so pass a storage that is used for nothing else. No check waits for
/// time to pass: none knows whether the storage removes a record that has expired.
public enum CacheStorageConformance {
    /// A check of one rule.
    public struct Check: Sendable, Identifiable, CustomStringConvertible {
        /// The stable identifier, in kebab-case.
        public let id: String
        /// The rule that a storage has to keep, in one sentence.
        public let title: String
        let body: @Sendable (any CacheStorage, Problems) async throws -> Void

        init(_ id: String, _ title: String, _ body: @escaping @Sendable (any CacheStorage, Problems) async throws -> Void) {
            (self.id, self.title, self.body) = (id, title, body)
        }

        /// The identifier.
        public var description: String { id }

        /// Runs the check.
        /// - Parameter storage: The storage. Its records are removed.
        /// - Returns: The problems: what was expected, and what the storage returned. Empty if the storage keeps the rule.
        public func problems(of storage: any CacheStorage) async -> [String] {
            let problems = Problems()
            do {
                try await storage.removeAll { _ in true }
                try await body(storage, problems)
            } catch {
                problems.add("\(error)")
            }
            return problems.all.map { "\(id): \(title) \($0)" }
        }
    }

    /// The problems of a check.
    final class Problems: Sendable {
        private let list = Lock<[String]>([])

        var all: [String] { list.withLock { $0 } }
        func add(_ problem: String) { list.withLock { $0.append(problem) } }

        /// Records a problem unless a storage has a record, or none.
        func expect(_ storage: any CacheStorage, has record: Data?, at key: CacheStorageKey, _ moment: String) async throws {
            func text(_ record: Data?) -> String {
                record.map { "\($0.count) bytes \(String(decoding: $0.prefix(20), as: UTF8.self).debugDescription)" } ?? "no record"
            }
            let found = try await storage.read(key)
            if found != record { add("\(moment): expected \(text(record)), got \(text(found))") }
        }
    }

    /// The checks.
    public static let checks: [Check] = [
        Check("missing", "A key without a record has none.") { storage, problems in
            try await problems.expect(storage, has: nil, at: key(1), "in an empty storage")
            try await storage.remove(key(1))
            try await storage.removeAll(ofURL: key(1).url)
        },
        Check("bytes", "A record is returned as it was written, with every byte.") { storage, problems in
            for record in [Data(0...255), Data("\r\n$-1\r\n\u{0}".utf8), Data([0]), conformanceData(3 << 20)] {
                try await write(record, at: key(1), in: storage)
                try await problems.expect(storage, has: record, at: key(1), "after the write")
            }
        },
        Check("slice", "A record may be a slice of other bytes.") { storage, problems in
            try await write(Data("before it".utf8).suffix(2), at: key(1), in: storage)
            try await problems.expect(storage, has: Data("it".utf8), at: key(1), "after the write")
        },
        Check("replaced", "A write replaces the older record, even a longer one.") { storage, problems in
            for text in ["a longer record", "short"] { try await write(Data(text.utf8), at: key(1), in: storage) }
            try await problems.expect(storage, has: Data("short".utf8), at: key(1), "after the second write")
        },
        Check("keys", "Records of one URL, for different credentials and users, are separate.") { storage, problems in
            try await writeForOwners(1, in: storage)
            for owner in owners { try await problems.expect(storage, has: Data("\(owner)".utf8), at: key(1, owner), "owner \(owner)") }
        },
        Check("remove", "A removal of a record keeps all others.") { storage, problems in
            try await writeForOwners(1, in: storage)
            try await storage.remove(key(1))
            for owner in owners {
                let record = owner == 0 ? nil : Data("\(owner)".utf8)
                try await problems.expect(storage, has: record, at: key(1, owner), "owner \(owner)")
            }
        },
        Check("remove-url", "A removal of a URL removes the records of all users, and keeps those of other URLs.") { storage, problems in
            for number in 1...2 { try await writeForOwners(number, in: storage) }
            try await storage.removeAll(ofURL: key(1).url)
            for owner in owners {
                try await problems.expect(storage, has: nil, at: key(1, owner), "of the URL, owner \(owner)")
                try await problems.expect(storage, has: Data("\(owner)".utf8), at: key(2, owner), "of another URL, owner \(owner)")
            }
            try await write(Data("new".utf8), at: key(1), in: storage)
            try await problems.expect(storage, has: Data("new".utf8), at: key(1), "written afterwards")
        },
        Check("remove-chosen", "The closure of a removal gets every key, and chooses which records are removed.") { storage, problems in
            let keys = Set((0..<1_200).map { key($0, $0 % owners.count) }), offered = Lock<Set<CacheStorageKey>>([])
            for key in keys { try await write(Data(key.rawValue.utf8), at: key, in: storage) }
            let chosen = Set(keys.filter { $0.rawValue.utf8.last.map { $0.isMultiple(of: 2) } == true })
            try await storage.removeAll { key in
                offered.withLock { _ = $0.insert(key) }
                return chosen.contains(key)
            }
            let missing = keys.subtracting(offered.withLock { $0 }).count
            if missing > 0 { problems.add("\(missing) of \(keys.count) keys were not offered") }
            for key in keys {
                try await problems.expect(storage, has: chosen.contains(key) ? nil : Data(key.rawValue.utf8), at: key, "after the removal")
            }
        },
        Check("expiry", "A record is there until it expires, even with the longest time.") { storage, problems in
            for (number, seconds) in [3_600, 2_500_000_000 as Int64].enumerated() {
                try await storage.write(Data("record".utf8), for: key(number), expiresAfter: .seconds(seconds) + .nanoseconds(1))
                try await problems.expect(storage, has: Data("record".utf8), at: key(number), "for \(seconds) s")
            }
        },
        Check("concurrent", "Concurrent calls for different keys get their own records.") { storage, problems in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<64 { group.addTask { try await write(Data("\(number)".utf8), at: key(number), in: storage) } }
                try await group.waitForAll()
                for number in 0..<64 {
                    group.addTask {
                        try await problems.expect(storage, has: Data("\(number)".utf8), at: key(number), "key \(number)")
                    }
                }
                try await group.waitForAll()
            }
        },
        Check("whole", "A reader finds a whole record while another replaces it.") { storage, problems in
            let records = [conformanceData(1 << 20), conformanceData(1 << 19)]
            try await write(records[0], at: key(1), in: storage)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for number in 0..<20 { try await write(records[number % 2], at: key(1), in: storage) }
                }
                group.addTask {
                    for _ in 0..<20 {
                        let found = try await storage.read(key(1))
                        if !records.contains(where: { $0 == found }) { problems.add("a reader found \(found?.count ?? 0) bytes") }
                    }
                }
                try await group.waitForAll()
            }
        },
    ]

    /// The owners of records: nobody, a credential, a user, both.
    private static let owners = 0..<4

    private static func key(_ number: Int, _ owner: Int = 0) -> CacheStorageKey {
        CacheStorageKey(url: digest(number), credential: owner & 1 == 0 ? "" : digest(7), user: owner & 2 == 0 ? "" : digest(8))
    }

    /// Writes a record of a URL for each owner.
    private static func writeForOwners(_ number: Int, in storage: any CacheStorage) async throws {
        for owner in owners { try await write(Data("\(owner)".utf8), at: key(number, owner), in: storage) }
    }

    private static func digest(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "a", count: 64 - digits.utf8.count) + digits
    }

    private static func write(_ record: Data, at key: CacheStorageKey, in storage: any CacheStorage) async throws {
        try await storage.write(record, for: key, expiresAfter: .seconds(3_600))
    }
}
