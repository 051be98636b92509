import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Cases that sockets show only by chance: abandoned exchanges that still report events, and file systems that lack a feature.
@Suite(.inTurn(.withoutSockets)) struct PartialFileTests {
    private func withPartialFile(_ body: (PartialFile, URL) async throws -> Void) async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part")
            try await body(try PartialFile(path: place.path, source: "s", elapsed: { .zero }), place)
        }
    }

    private func response(_ status: Int, _ headers: HTTPHeaders) throws -> HTTPResponse {
        HTTPResponse(statusCode: status, headers: headers, request: HTTPRequest(url: try url("https://example.com/a")))
    }

    private func sink(_ file: PartialFile, _ requested: DownloadSink.RequestedBytes) -> DownloadSink {
        let target = DownloadTarget(destination: .folder(URL(filePath: "/")), segments: 1)
        return DownloadSink(file, of: target, span: 0, requested: requested)
    }

    /// Starts the body of a whole file, and writes its first bytes.
    private func started(_ file: PartialFile, length: Int = 3, _ bytes: Data = Data("abc".utf8)) async throws -> DownloadSink {
        let sink = sink(file, .whole)
        #expect(try await sink.begin(try response(200, ["Content-Length": "\(length)", "ETag": "\"v1\""]), judgedBy: []))
        try await sink.write(bytes)
        return sink
    }

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

    @Test("a file that no later run can resume is removed, regardless of the version that the server names", arguments: ["s", nil])
    func ofNoUse(source: String?) async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part")
            let file = try PartialFile(path: place.path, source: source, elapsed: { .zero })
            let generation = file.recordAndGeneration.generation
            try file.updateRecord(of: generation) { $0.validator = "\"v1\"" }
            try await file.write(Data("abc".utf8), toSpan: 0, in: generation)
            await file.close()
            #expect(folder.entries == (source == nil ? [] : ["a.ness-part", "a.ness-part.json"]))
        }
    }

    @Test("an exchange from before a restart cannot write or start, and no exchange can after the end")
    func stale() async throws {
        try await withPartialFile { file, place in
            let whole = try response(200, ["Content-Length": "10", "ETag": "\"v1\""])
            let asleep = sink(file, .part(from: 5, to: 10)), probe = sink(file, .part(from: 0, to: 1)), late = sink(file, .whole)
            let early = try await started(file, length: 10, Data("01234".utf8))
            try await file.restart()
            await #expect(throws: CancellationError.self) { try await early.write(Data("56789".utf8)) }
            // The head of a partial response would write its bytes at a wrong offset, or start the file over.
            for (sink, range) in [(asleep, "5-9"), (probe, "0-0")] {
                let part = try response(206, ["Content-Range": "bytes \(range)/10", "ETag": "\"v1\""])
                await #expect(throws: CancellationError.self) { _ = try await sink.begin(part, judgedBy: []) }
            }
            await #expect(throws: CancellationError.self) { _ = try await late.begin(whole, judgedBy: []) }
            #expect(file.record.count == 0 && file.record.validator == nil)

            let fresh = try await started(file, length: 10, Data("abcde".utf8))
            await file.close()
            await #expect(throws: CancellationError.self) { try await fresh.write(Data("fghij".utf8)) }
            // The head of another answer must not remove the record of the current owner.
            await #expect(throws: CancellationError.self) { _ = try await fresh.begin(whole, judgedBy: []) }
            await #expect(throws: CancellationError.self) { try await file.restart() }
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

    // MARK: what is lost

    /// Returns the number of bytes that another run finds if this one is killed now.
    /// - boot: Identifies the system's start, as that run sees it.
    private func found(_ place: URL, boot: String) async throws -> Int64 {
        try await withFolder { folder in
            let copy = folder.appendingPathComponent("a.ness-part")
            // Not `FileManager.copyItem`: on Linux it never returns if a shorter file takes the place of the one that it copies, which a
            // sync in the background may do here.
            for end in ["", ".json"] where FileManager.default.fileExists(atPath: place.path + end) {
                try Data(contentsOf: URL(fileURLWithPath: place.path + end)).write(to: URL(fileURLWithPath: copy.path + end))
            }
            let file = try PartialFile(path: copy.path, source: "s", boot: boot, elapsed: { .zero })
            let count = file.record.count
            await file.close()
            return count
        }
    }

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

    @Test("the removal of a record reports whether there was one, so that only then its folder is synced")
    func removal() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.json")
            var records = RecordFile(path: place.path, boot: nil)
            let isEarly = records.remove()
            try Data("{}".utf8).write(to: place)
            let isRemoved = records.remove()
            #expect(!isEarly && isRemoved && folder.entries.isEmpty)
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
}
