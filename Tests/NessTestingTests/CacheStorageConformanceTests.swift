import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The checks of `CacheStorageConformance`: a good storage passes them, and each finds its fault.
@Suite(.inTurn(.withoutSockets)) struct CacheStorageConformanceTests {
    @Test("a storage that keeps its records passes", arguments: CacheStorageConformance.checks)
    func good(_ check: CacheStorageConformance.Check) async {
        let problems = await check.problems(of: MockCacheStorage())
        #expect(problems.isEmpty)
    }

    @Test("the storage in a folder passes", arguments: CacheStorageConformance.checks)
    func folder(_ check: CacheStorageConformance.Check) async throws {
        try await withFolder { folder in
            let problems = await check.problems(of: CacheFolder(folder, limit: 1 << 24))
            #expect(problems.isEmpty)
        }
    }

    @Test("a storage with a fault fails the check of its rule, with the reason", arguments: FaultyStorage.Fault.allCases)
    func faulty(_ fault: FaultyStorage.Fault) async throws {
        let check = try #require(CacheStorageConformance.checks.first { $0.id == fault.rawValue })
        let problems = await check.problems(of: FaultyStorage(fault))
        #expect(!problems.isEmpty && problems.allSatisfy { $0.hasPrefix("\(check.id): \(check.title) ") })
    }

    @Test("an error of the storage is a problem") func error() async {
        let storage = MockCacheStorage { access in if access == .read { throw CocoaError(.fileReadUnknown) } }
        for check in CacheStorageConformance.checks { #expect(await !check.problems(of: storage).isEmpty, "\(check)") }
    }
}

/// A storage that breaks one rule.
struct FaultyStorage: CacheStorage {
    enum Fault: String, CaseIterable, Sendable {
        case missing, bytes, slice, replaced, keys, remove, expiry, concurrent, whole
        case removeURL = "remove-url"
        case removeChosen = "remove-chosen"
    }

    let fault: Fault
    private let good = MockCacheStorage()

    init(_ fault: Fault) { self.fault = fault }

    func read(_ key: CacheStorageKey) async throws -> Data? {
        let record = try await good.read(place(key))
        switch fault {
        case .missing: return record ?? Data()
        case .bytes: return record.map { Data(String(decoding: $0, as: UTF8.self).utf8) }
        case .whole: return record.map { $0.prefix(1_000) }
        default: return record
        }
    }

    func write(_ record: Data, for key: CacheStorageKey, expiresAfter time: Duration) async throws {
        var record = record
        switch fault {
        case .slice where record.startIndex != 0: record = Data(count: record.count)
        case .replaced:
            if let older = try await read(key), older.count > record.count { record += older.dropFirst(record.count) }
        case .expiry where time > .seconds(1 << 31): return
        default: break
        }
        try await good.write(record, for: place(key), expiresAfter: time)
    }

    func remove(_ key: CacheStorageKey) async throws {
        if fault == .remove { try await good.removeAll(ofURL: key.url) } else { try await good.remove(place(key)) }
    }

    func removeAll(ofURL url: String) async throws {
        if fault == .removeURL { good.records = [:] } else { try await good.removeAll(ofURL: url) }
    }

    func removeAll(where isRemoved: @Sendable (CacheStorageKey) -> Bool) async throws {
        // The first page of many.
        let limit = fault == .removeChosen ? 1_000 : .max
        for key in good.records.keys.prefix(limit) where isRemoved(key) { try await good.remove(key) }
    }

    private func place(_ key: CacheStorageKey) -> CacheStorageKey {
        switch fault {
        case .keys: CacheStorageKey(rawValue: key.url) ?? key
        case .concurrent: CacheStorageKey(rawValue: String(repeating: "0", count: 64)) ?? key
        default: key
        }
    }
}
