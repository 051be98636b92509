import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Cases that sockets show only by chance: abandoned exchanges that still report events, and file systems that lack a feature.
@Suite(.inTurn(.withoutSockets)) struct PartialFileTests: PartialFileSuite {
    @Test("the progress that parallel exchanges of a download report never decreases")
    func progressInOrder() async throws {
        let count = 1_000
        try await withPartialFile { file, _ in
            let recorded = Log<Int64>()
            try file.updateRecord(of: file.recordAndGeneration.generation) { record in
                record.total = Int64(4 * count)
                record.spans = PartialRecord.spans(of: Int64(4 * count), cutInto: 4)
            }
            let generation = file.recordAndGeneration.generation
            try await withThrowingTaskGroup(of: Void.self) { group in
                for span in 0..<4 {
                    group.addTask {
                        for _ in 0..<count {
                            try await file.write(Data("x".utf8), toSpan: span, in: generation)
                            file.reportProgress { bytes, _ in recorded.add(bytes) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let counts = recorded.entries
            #expect(counts == counts.sorted() && counts.last == Int64(4 * count))
            await file.close()
        }
    }

    @Test(
        "a file that no later run can resume has no record and is removed without a sync, regardless of the version that the server names",
        arguments: ["s", nil])
    func ofNoUse(source: String?) async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part"), syncs = Tally()
            let syncFile: @Sendable (OpenFile, OpenFile.Sync) throws -> Void = { _, _ in syncs.enter() }
            let file = try PartialFile(path: place.path, source: source, syncFile: syncFile, elapsed: { .zero })
            let generation = file.recordAndGeneration.generation
            try file.updateRecord(of: generation) { $0.validator = "\"v1\"" }
            try await file.write(Data("abc".utf8), toSpan: 0, in: generation)
            // As the background does for a long file.
            file.sync()
            let isOfUse = source != nil
            #expect(folder.entries == (isOfUse ? ["a.ness-part", "a.ness-part.json"] : ["a.ness-part"]))
            await file.close()
            #expect(folder.entries == (isOfUse ? ["a.ness-part", "a.ness-part.json"] : []))
            #expect(syncs.total == (isOfUse ? 2 : 1))
        }
    }

    @Test("received bytes are removed if their record cannot be written") func withoutRecord() async throws {
        try await withPartialFile { file, place in
            // A record is written under this name first.
            try FileManager.default.createDirectory(atPath: place.path + ".json.new", withIntermediateDirectories: false)
            _ = try await started(file)
            await file.close()
            #expect(place.deletingLastPathComponent().entries == ["a.ness-part.json.new"])
        }
    }

    @Test("the record of bytes that a download does not continue is removed before any other byte is written")
    func startsOver() async throws {
        try await withPartialFile { file, place in
            let folder = place.deletingLastPathComponent()
            _ = try await started(file)
            await file.close()
            #expect(folder.entries == ["a.ness-part", "a.ness-part.json"])
            let other = try PartialFile(path: place.path, source: "t", elapsed: { .zero })
            #expect(folder.entries == ["a.ness-part"])
            _ = try await started(other)
            #expect(folder.entries == ["a.ness-part", "a.ness-part.json"])
            try await other.restart()
            #expect(folder.entries == ["a.ness-part"])
            await other.close()
            #expect(folder.entries.isEmpty)
        }
    }

    @Test("an exchange from before a restart cannot write or start, and no exchange can after the end")
    func stale() async throws {
        try await withPartialFile { file, place in
            let whole = try response(200, ["Content-Length": "10", "ETag": "\"v1\""])
            let asleep = sink(file, .part(from: 5, to: 10)), probe = sink(file, .part(from: 0, to: 1)), late = sink(file, .whole)
            let early = try await started(file, length: 10, Data("01234".utf8)), generation = file.recordAndGeneration.generation
            try await file.restart()
            await #expect(throws: CancellationError.self) { try await early.write(Data("56789".utf8)) }
            // The head of a partial response would write its bytes at a wrong offset, or start the file over.
            for (sink, range) in [(asleep, "5-9"), (probe, "0-0")] {
                let part = try response(206, ["Content-Range": "bytes \(range)/10", "ETag": "\"v1\""])
                await #expect(throws: CancellationError.self) { _ = try await sink.begin(part, judgedBy: []) }
            }
            await #expect(throws: CancellationError.self) { _ = try await late.begin(whole, judgedBy: []) }
            // The restart may follow the check of a head.
            #expect(throws: CancellationError.self) { try file.updateRecord(of: generation) { $0.validator = "\"v1\"" } }
            #expect(file.record.count == 0 && file.record.validator == nil)

            let fresh = try await started(file, length: 10, Data("abcde".utf8))
            await file.close()
            await #expect(throws: CancellationError.self) { try await fresh.write(Data("fghij".utf8)) }
            // The head of another answer must not remove the record of the current owner.
            await #expect(throws: CancellationError.self) { _ = try await fresh.begin(whole, judgedBy: []) }
            await #expect(throws: CancellationError.self) { try await file.restart() }
            await #expect(throws: CancellationError.self) { try await file.open() }
            let last = file.recordAndGeneration.generation
            #expect(throws: CancellationError.self) { try file.updateRecord(of: last) { $0.validator = nil } }
            #expect(try Data(contentsOf: place) == Data("abcde".utf8))
            #expect(FileManager.default.fileExists(atPath: place.path + ".json"))
            let again = try PartialFile(path: place.path, source: "s", elapsed: { .zero })
            #expect(again.record.count == 5 && again.record.validator == "\"v1\"")
            await again.close()
        }
    }

    @Test("a download that is dropped while its file is synced produces no file")
    func cancelledFinish() async throws {
        try await withPartialFile { file, place in
            _ = try await started(file)
            let end = place.deletingLastPathComponent().appendingPathComponent("a")
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await file.finish(as: end, replaces: true)
            }
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            await file.close()
            #expect(place.deletingLastPathComponent().entries == ["a.ness-part", "a.ness-part.json"])
        }
    }

    @Test(
        "on a file system without links a download still gets a free name, never one that is taken, and leaves no empty file if it fails",
        arguments: [EPERM, ENOTSUP, EIO])
    func withoutLinks(code: Int32) async throws {
        try await withFolder { folder in
            let from = folder.appendingPathComponent("from"), to = folder.appendingPathComponent("to")
            try Data("new".utf8).write(to: from)
            let link: (String, String) -> Int32 = { _, _ in
                errno = code
                return -1
            }
            guard code != EIO else {
                #expect(throws: FileError.self) { _ = try OpenFile.renameIfFree(from.path, to: to.path, link: link) }
                return
            }
            try Data("old".utf8).write(to: to)
            #expect(try !OpenFile.renameIfFree(from.path, to: to.path, link: link))
            #expect(try Data(contentsOf: to) == Data("old".utf8))
            try FileManager.default.removeItem(at: to)
            #expect(try OpenFile.renameIfFree(from.path, to: to.path, link: link))
            #expect(try Data(contentsOf: to) == Data("new".utf8) && folder.entries == ["to"])
            try FileManager.default.removeItem(at: to)
            // There is no file to rename any more.
            #expect(throws: FileError.self) { _ = try OpenFile.renameIfFree(from.path, to: to.path, link: link) }
            #expect(folder.entries.isEmpty)
        }
    }

    @Test("segments cover every byte exactly once", arguments: [0, 1, 2, 63, 64, 65, 1_000, Int64.max])
    func cuts(total: Int64) {
        for number in [-1, 0, 1, 2, 3, 64] {
            let spans = PartialRecord.spans(of: total, cutInto: number)
            #expect(spans.first?.start == 0 && spans.last?.end == total && spans.count <= max(1, number))
            #expect(zip(spans, spans.dropFirst()).allSatisfy { $0.end == $1.start && $0.start < $1.start })
        }
    }

    @Test(
        "a server's name is never that of a partial file, in any case or normalization",
        arguments: [
            "film.ness-part", "film.ness-part.json", "FILM.NESS-PART", "film.Ness-Part.JSON", "film.ness-part.json.new",
            "film.\u{FF4E}ess-part", "film.ness\u{FF0D}part", "film.ne\u{17F}s-part", "film\u{600}.ness-part", "film.ness-part\u{200C}",
            "film.ness\u{2060}-part.json",
        ])
    func plantedNames(name: String) throws {
        #expect(ContentDisposition.safe(name) == name + "_")
        #expect(ContentDisposition.fileName("attachment; filename=\"film.ness-part\"") == "film.ness-part_")
        #expect(ContentDisposition.safe("ness-part") == "ness-part")
    }

    @Test("a name of many scalars that form few characters is cut")
    func longName() throws {
        let name = try #require(ContentDisposition.safe(String(repeating: "\u{1F1E9}", count: 20_000)))
        #expect((100...200).contains(name.utf8.count))
    }

    @Test("a partial file that is replaced while its download runs gets no final name", arguments: ["file", "link", "hard link"])
    func replaced(how: String) async throws {
        try await withPartialFile { file, place in
            _ = try await started(file)
            let folder = place.deletingLastPathComponent(), other = folder.appendingPathComponent("other")
            try Data("evil".utf8).write(to: other)
            switch how {
            case "file": try Data("xyz".utf8).write(to: place, options: .atomic)
            case "link":
                try FileManager.default.removeItem(at: place)
                try FileManager.default.createSymbolicLink(at: place, withDestinationURL: other)
            default: try FileManager.default.linkItem(at: place, to: folder.appendingPathComponent("second"))
            }
            let end = folder.appendingPathComponent("a")
            await #expect(throws: FileError.self) { _ = try await file.finish(as: end, replaces: true) }
            #expect(!FileManager.default.fileExists(atPath: end.path))
        }
    }

    @Test("a partial file that gets its final name while another download opens it is not used by that one")
    func renamedMeanwhile() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part"), end = folder.appendingPathComponent("a")
            try Data("abc".utf8).write(to: place)
            let file = try PartialFile.openLocked(place.path) { file in
                if !FileManager.default.fileExists(atPath: end.path) { try OpenFile.rename(place.path, to: end.path) }
                return try file.lock()
            }
            #expect(try file.length() == 0 && folder.entries == ["a", "a.ness-part"])
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test("a task that writes is suspended: no thread that runs Swift tasks waits for the disk") func ownQueue() async throws {
        try await withPartialFile { file, place in
            let exchange = sink(file, .whole), executor = StepExecutor(), isWritten = TestGate()
            #expect(try await exchange.begin(try response(200, ["Content-Length": "3"]), judgedBy: []))
            let task = Task(executorPreference: executor) {
                try await exchange.write(Data("abc".utf8))
                isWritten.open()
            }
            // The disk hangs. The task does not wait on the thread that runs it, and neither does one that asks for the progress.
            file.writes.suspend()
            while !executor.run(atMost: 1) { await Task.yield() }
            #expect(!isWritten.isOpen && file.progress.completed == 0)
            file.writes.resume()
            executor.letGo()
            try await task.value
            #expect(try Data(contentsOf: place) == Data("abc".utf8))
            await file.close()
        }
    }
}
