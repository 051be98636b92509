import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Open files: locks, reads, and partial files that do not lie beside their destination.
@Suite(.inTurn(.withoutSockets)) struct OpenFileTests {
    @Test("a lock ends when its file is closed, even if a child process that is being started has a copy of the descriptor")
    func copiedDescriptor() async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("a").path
            let first = try OpenFile(path, O_RDWR | O_CREAT)
            #expect(try first.lock(.system))
            var wanted = stat(), found = stat()
            #expect(stat(path, &wanted) == 0)
            let original = try #require(
                (0..<4096).first { fstat($0, &found) == 0 && (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino) })
            let copy = dup(Int32(original))
            defer { close(copy) }
            first.closeNow()
            #expect(try OpenFile(path, O_RDWR).lock(.system))
        }
    }

    @Test("a lock that iOS allows excludes other downloads of the process, under any name of the file, until the file is closed")
    func processLock() async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("a").path, link = folder.appendingPathComponent("b").path
            let first = try OpenFile(path, O_RDWR | O_CREAT)
            try FileManager.default.linkItem(atPath: path, toPath: link)
            let second = try OpenFile(link, O_RDWR), other = try OpenFile(folder.appendingPathComponent("c").path, O_RDWR | O_CREAT)
            #expect(try first.lock(.process))
            #expect(try !second.lock(.process) && !second.lock(.system))
            #expect(try other.lock(.process))
            first.closeNow()
            #expect(try second.lock(.process))
            // The first of them is closed when the second tries: a file that did not get the lock does not release it.
            for _ in 0..<2 { #expect(try !OpenFile(path, O_RDWR).lock(.process)) }
        }
    }

    @Test("a read gives the bytes up to the end of the file, at any offset; an exact one fails there")
    func reads() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a")
            try Data("0123456789".utf8).write(to: place)
            let file = try OpenFile(place.path, O_RDONLY)
            #expect(try file.read(upTo: 4, at: 2) == Data("2345".utf8))
            #expect(try file.read(upTo: 40, at: 8) == Data("89".utf8))
            #expect(try file.read(upTo: 4, at: 10).isEmpty)
            #expect(throws: FileError.self) { try file.read(4, at: 8) }
            #expect(throws: FileError.self) { try OpenFile(folder.path, O_RDONLY).read(upTo: 4, at: 0) }
        }
    }

    @Test("a download whose destination's folder is not writable uses a temporary folder, and leaves nothing there")
    func sandbox() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a.bin"), temporary = folder.appendingPathComponent("replacement")
            let request = HTTPRequest(url: try url("https://mock.test/a"))
            let download = DownloadRequest(
                request: request, caller: request, target: DownloadTarget(destination: .file(file), segments: 1), source: "s",
                keepsContentCoding: false, elapsed: { .zero }, send: { _, _ in throw CancellationError() }, reportSaved: { _ in })
            // Stands for the sandbox: the partial file can't be made.
            try FileManager.default.createDirectory(atPath: download.partialPath, withIntermediateDirectories: true)
            let unneeded = PartialFileOpener(makeFolder: { _ in temporary })
            await #expect(throws: FileError.self) { _ = try await unneeded.open(for: download) }
            let opener = PartialFileOpener(isForbidden: { _ in true }) { destination in
                #expect(destination == file)
                try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
                return temporary
            }
            let first = try await opener.open(for: download)
            try await first.open()
            try first.updateRecord(of: first.recordAndGeneration.generation) { $0.validator = "\"v1\"" }
            try await first.write(Data("01234".utf8), toSpan: 0, in: first.recordAndGeneration.generation)
            await first.close()
            // The download was paused. It goes on where it was, although no second folder can be made.
            let second = try await opener.open(for: download)
            #expect(second.record.count == 5)
            try await second.open()
            try await second.write(Data("56789".utf8), toSpan: 0, in: second.recordAndGeneration.generation)
            #expect(try await second.finish(as: file, replaces: true) == file)
            #expect(try Data(contentsOf: file) == Data("0123456789".utf8))
            opener.removeTemporaryFolder()
            #expect(!FileManager.default.fileExists(atPath: temporary.path))
        }
    }
}
