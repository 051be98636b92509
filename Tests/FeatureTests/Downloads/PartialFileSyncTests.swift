import Foundation
import NessLock
import TestSupport
import Testing

@testable import NessHTTP

/// The bytes that a killed process, a crash of the system or a failing disk loses.
@Suite(.inTurn(.withoutSockets)) struct PartialFileSyncTests: PartialFileSuite {
    @Test("a killed process loses at most a second and 8 MiB; a system crash loses what was not synced")
    func notes() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part"), now = Lock(Duration.zero), piece = 1 << 20
            let file = try PartialFile(path: place.path, source: "s", boot: "now", elapsed: { now.withLock { $0 } })
            let exchange = try await started(file, length: 100 << 20, Data(count: 10))
            #expect(try await found(place, boot: "now") == 10)
            try await exchange.write(Data(count: 5))
            now.withLock { $0 = .milliseconds(999) }
            try await exchange.write(Data(count: 5))
            #expect(try await found(place, boot: "now") == 10)
            now.withLock { $0 = .seconds(1) }
            try await exchange.write(Data(count: 1))
            #expect(try await found(place, boot: "now") == 21)
            #expect(try await found(place, boot: "later") == 0)

            for _ in 0..<7 { try await exchange.write(Data(count: piece)) }
            #expect(try await found(place, boot: "now") == 21)
            try await exchange.write(Data(count: piece))
            // A sync that starts now does not change the result.
            #expect(try await found(place, boot: "now") == 21 + 8 << 20)
            // The last piece has started the sync.
            await file.afterWrites {}
            #expect(try await found(place, boot: "later") == 21 + 8 << 20)
            await file.close()
            #expect(try await found(place, boot: "later") == 21 + 8 << 20)
        }
    }

    @Test("the folder of a record is synced after the record is removed, and only if there was one")
    func removal() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.json"), synced = Log<String>()
            var records = RecordFile(path: place.path, boot: nil)
            records.removeForGood { synced.add($0) }
            #expect(synced.entries.isEmpty)
            try Data("{}".utf8).write(to: place)
            records.removeForGood { synced.add($0) }
            #expect(synced.entries == [folder.path] && folder.entries.isEmpty)
        }
    }

    @Test("a record's note from an earlier run counts only within the same boot, and a torn note never counts")
    func notesOfAnotherRun() async throws {
        try await withPartialFile { file, place in
            _ = try await started(file, length: 1_000, Data(count: 100))
            await file.close()
            let again = try PartialFile(path: place.path, source: "s", boot: "now", elapsed: { .zero })
            let rest = sink(again, .part(from: 100, to: 1_000))
            #expect(try await rest.begin(try response(206, ["Content-Range": "bytes 100-999/1000", "ETag": "\"v1\""]), judgedBy: []))
            try await rest.write(Data(count: 50))
            #expect(try await found(place, boot: "now") == 150)
            #expect(try await found(place, boot: "later") == 100)
            let record = place.path + ".json", whole = try #require(FileManager.default.contents(atPath: record))
            let first = try #require(whole.firstIndex(of: UInt8(ascii: "\n")))
            for end in first..<whole.count {
                try whole.prefix(end).write(to: URL(fileURLWithPath: record))
                #expect(try await found(place, boot: "now") == 100)
            }
            await again.close()
        }
    }

    @Test("while a sync runs, no other record is written; while the disk rests, the received bytes are noted every 8 MiB")
    func slowDisk() async throws {
        let most: Int64 = 8 << 20
        try await withPartialFile(boot: "now") { file, place in
            // As while a sync runs.
            file.state.withLock { $0.pacing.nextSync = nil }
            let exchange = try await started(file, length: 100 << 20, Data(count: 10))
            #expect(place.deletingLastPathComponent().entries == ["a.ness-part"])
            // As after a slow sync.
            file.state.withLock { $0.pacing.nextSync = ContinuousClock.now.advanced(by: .seconds(3_600)) }
            try await exchange.write(Data(count: 1))
            #expect(try await found(place, boot: "now") == 11)
            try await exchange.write(Data(count: Int(most) - 1))
            #expect(try await found(place, boot: "now") == 11)
            try await exchange.write(Data(count: 1))
            #expect(try await found(place, boot: "now") == 11 + most)
            await file.close()
        }
    }

    @Test("bytes are synced every 8 MiB and every 10 seconds, and the disk rests as long as each sync took")
    func syncs() async throws {
        let now = Lock(Duration.zero), most: Int64 = 8 << 20
        try await withPartialFile(boot: "now", elapsed: { now.withLock { $0 } }) { file, place in
            let exchange = try await started(file, length: 100 << 20, Data(count: Int(most) - 1))
            #expect(try await synced(file, place) == 0)
            let start = ContinuousClock.now
            try await exchange.write(Data(count: 1))
            #expect(try await synced(file, place) == most)
            let nextSync = file.state.withLock { $0.pacing.nextSync }
            let next = try #require(nextSync)
            #expect(next > start)
            file.state.withLock { $0.pacing.nextSync = .now }
            now.withLock { $0 = .milliseconds(9_999) }
            try await exchange.write(Data(count: 1))
            #expect(try await synced(file, place) == most)
            now.withLock { $0 = .seconds(10) }
            try await exchange.write(Data(count: 1))
            #expect(try await synced(file, place) == most + 2)
            await file.close()
        }
    }

    /// Returns the number of bytes that count after a crash of the system. Waits for the sync that runs.
    private func synced(_ file: PartialFile, _ place: URL) async throws -> Int64 {
        await file.afterWrites {}
        return try await found(place, boot: "later")
    }

    @Test("after a restart no earlier byte counts, and the new bytes are noted immediately")
    func restarted() async throws {
        try await withPartialFile(boot: "now") { file, place in
            _ = try await started(file, length: 100, Data(count: 10))
            file.sync()
            #expect(try await found(place, boot: "later") == 10)
            try await file.restart()
            _ = try await started(file, length: 100, Data(count: 20))
            #expect(try await found(place, boot: "now") == 20)
            #expect(try await found(place, boot: "later") == 0)
            await file.close()
        }
    }

    // MARK: disks that fail

    @Test("after a failed sync a download fails, and only bytes that an earlier sync saved are kept", arguments: [0, 1] as [Int64])
    func failedSync(saved: Int64) async throws {
        let isBroken = Lock(false)
        let syncFile: @Sendable (OpenFile, OpenFile.Sync) throws -> Void = { file, strength in
            if isBroken.withLock({ $0 }) { throw FileError("the disk failed") }
            try file.sync(strength)
        }
        try await withPartialFile(boot: "now", syncFile: syncFile) { file, place in
            let exchange = try await started(file, length: 2, Data(count: 1))
            if saved > 0 { file.sync() }
            isBroken.withLock { $0 = true }
            file.sync()
            #expect(try await found(place, boot: "now") == saved)
            // The system reports lost bytes only once.
            isBroken.withLock { $0 = false }
            await #expect(throws: FileError.self) { try await exchange.write(Data(count: 1)) }
            await file.close()
            #expect(try await found(place, boot: "now") == saved)
            #expect(place.deletingLastPathComponent().entries == (saved > 0 ? ["a.ness-part", "a.ness-part.json"] : []))
        }
    }

    @Test("a complete file gets its final name only if all its bytes are on the disk", arguments: ["works", "fails", "has failed"])
    func lastSync(disk: String) async throws {
        let isBroken = Lock(disk != "works"), syncs = Log<OpenFile.Sync>()
        let syncFile: @Sendable (OpenFile, OpenFile.Sync) throws -> Void = { file, strength in
            syncs.add(strength)
            if isBroken.withLock({ $0 }) { throw FileError("the disk failed") }
            try file.sync(strength)
        }
        try await withPartialFile(syncFile: syncFile) { file, place in
            let folder = place.deletingLastPathComponent(), end = folder.appendingPathComponent("a")
            _ = try await started(file)
            if disk == "has failed" {
                file.sync()
                isBroken.withLock { $0 = false }
            }
            if disk == "works" {
                _ = try await file.finish(as: end, replaces: true)
                #expect(folder.entries == ["a"])
            } else {
                await #expect(throws: FileError.self) { _ = try await file.finish(as: end, replaces: true) }
                // A second sync could succeed, and the lost bytes would count.
                isBroken.withLock { $0 = false }
                await file.close()
                #expect(folder.entries.isEmpty)
            }
            let wanted: [OpenFile.Sync] = disk == "has failed" ? [.inOrder] : [.whole]
            #expect(syncs.entries == wanted)
        }
    }
}
