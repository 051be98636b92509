import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The cache on disk.
@Suite(.inTurn(.withoutSockets)) struct CacheFolderTests {
    private func files(_ folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "nesscache" }.sorted { $0.path < $1.path }
    }

    /// A manager that has just started, over the same folder, some seconds later.
    private func rig(_ folder: URL, limit: Int = 1 << 20, later: Double = 0) -> CacheRig {
        let rig = CacheRig(memoryLimit: 1 << 20, folder: (folder, limit), startingAt: CacheRig.start + later)
        rig.mock.on(.get, "/:name") { request in
            request.headers.contains("If-None-Match")
                ? .status(304)
                : .text(
                    "network", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "X-Kept": "a", "x-kept": "b", "Vary": "X-Kind"])
        }
        return rig
    }

    @Test("stored responses outlive the manager, with their age") func persistence() async throws {
        try await withFolder { folder in
            _ = try await rig(folder).get("x", ["X-Kind": "1"])
            let later = rig(folder, later: 59)
            let response = try await later.get("x", ["X-Kind": "1"])
            #expect(response.source == .cache)
            #expect(response.text == "network")
            #expect(response.headers["Age"] == "59")
            #expect(response.headers.members(of: "X-Kept") == ["a", "b"])
            // From memory now.
            #expect(later.cache.memorySize > 0)
            // Another variant: the server says that it is this one.
            #expect(try await later.get("x", ["X-Kind": "2"]).source == .revalidated)
            #expect(try await rig(folder, later: 60).get("x", ["X-Kind": "1"]).source == .revalidated)
            // Stored by a clock that was ahead: how old it is can't be known.
            #expect(try await rig(folder, later: 59).get("x", ["X-Kind": "1"]).source == .revalidated)
        }
    }

    @Test("a foreign entry, or a folder or link in the place of an entry, does no harm") func foreign() async throws {
        try await withFolder { folder in
            let manager = FileManager.default
            let first = rig(folder)
            for name in ["x", "y"] { _ = try await first.get(name) }
            let both = try files(folder)
            #expect(both.count == 2)
            // Each in the other's place.
            let contents = try both.map { try Data(contentsOf: $0) }
            try contents[1].write(to: both[0])
            try contents[0].write(to: both[1])
            for name in ["x", "y"] { #expect(try await rig(folder).get(name).source == .network) }
            for file in both { try manager.removeItem(at: file) }
            try manager.createDirectory(at: both[0], withIntermediateDirectories: false)
            try manager.createSymbolicLink(at: both[1], withDestinationURL: URL(fileURLWithPath: "/dev/zero"))
            let foreign = folder.appendingPathComponent("notes.txt")
            try Data("mine".utf8).write(to: foreign)
            let left = folder.appendingPathComponent("left.nesscache-part")
            let running = folder.appendingPathComponent("running.nesscache-part")
            for part in [left, running] { try Data("torn".utf8).write(to: part) }
            try manager.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: left.path)
            let second = rig(folder)
            for name in ["x", "y"] { #expect(try await second.get(name).text == "network") }
            await second.cache.removeAll()
            #expect(try Data(contentsOf: foreign) == Data("mine".utf8))
            #expect(!manager.fileExists(atPath: left.path))
            #expect(manager.fileExists(atPath: running.path), "another process may be writing it")
        }
    }

    @Test("a file of any size in the place of an entry is a miss") func huge() async throws {
        try await withFolder { folder in
            _ = try await rig(folder).get()
            let file = try #require(try files(folder).first)
            // Sparse: it takes no room on the disk.
            guard truncate(file.path, off_t(8) << 40) == 0 else { return }
            #expect(try await rig(folder, limit: .max).get().text == "network")
            #expect(try #require(FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber).intValue < 10_000)
        }
    }

    @Test("files that change or disappear while the cache is open are misses") func changing() async throws {
        try await withFolder { folder in
            let cache = CacheRig(memoryLimit: 0, folder: (folder, 1 << 20))
            cache.count(at: "/x", ["Cache-Control": "max-age=60"])
            _ = try await cache.get()
            let file = try #require(files(folder).first)
            try Data(count: 1 << 16).write(to: file)
            #expect(try await cache.get().text == "2")
            try FileManager.default.removeItem(at: folder)
            #expect(try await cache.get().text == "3")
            #expect(try await cache.get().text == "4")
        }
    }

    @Test("without a writable folder nothing is stored on disk, and requests still work") func unusable() async throws {
        try await withFolder { parent in
            let folder = parent.appendingPathComponent("file")
            try Data("a file".utf8).write(to: folder)
            let cache = rig(folder)
            #expect(try await cache.get("x").source == .network)
            #expect(try await cache.get("x").source == .cache)
            #expect(await cache.diskSize() == 0)
            #expect(try Data(contentsOf: folder) == Data("a file".utf8))
        }
    }

    @Test("the files stay within the limit; the least recently used goes first, even after a restart") func limit() async throws {
        try await withFolder { folder in
            _ = try await rig(folder).get("a")
            let one = await rig(folder).diskSize()
            let limit = one * 3 + one / 2
            let first = rig(folder, limit: limit)
            for name in ["b", "c", "d"] { _ = try await first.get(name) }
            #expect(await first.diskSize() == one * 3)
            #expect(try files(folder).count == 3)
            for name in ["b", "c", "d"] { #expect(try await rig(folder, limit: limit).get(name).source == .cache) }
            #expect(try await rig(folder).get("a").source == .network)
            // A smaller limit holds from the start.
            #expect(await rig(folder, limit: one * 2).diskSize() == one * 2)
            #expect(await rig(folder, limit: 0).diskSize() == 0)
            #expect(try files(folder).isEmpty)
            let none = rig(folder, limit: one - 1)
            _ = try await none.get("a")
            #expect(try files(folder).isEmpty)
        }
    }
}
