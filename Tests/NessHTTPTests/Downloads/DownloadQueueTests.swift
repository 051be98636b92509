import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Downloads that wait in a queue, and files that are there before them.
@Suite("Downloads in a queue", .inTurn) struct DownloadQueueTests {
    private static let content = patternedData(100_000)
    private static let digest = TestHash.sha256(content).hexadecimal

    #if os(Linux)
    /// The files below a folder that this process has open.
    private func openFiles(_ folder: URL) throws -> [String] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let files = descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        return files.filter { $0.hasPrefix(folder.resolvingSymlinksInPath().path) }
    }

    @Test("downloads that wait have no open file, whether they are new or resume, and each becomes whole", arguments: [1, 4])
    func noOpenFiles(segments: Int) async throws {
        let go = TestGate(), arrived = TestGate(), content = Self.content, count = 40
        let files = FileServer(content: content)
        let server = try await TestServer.start { request in
            guard request.path == "/cut" else {
                arrived.open()
                await go.wait()
                return files.reply(to: request)
            }
            return .file(content, entityTag: "\"v1\"", for: request).cut(after: 60_000)
        }
        try await withFolder { folder in
            let folder = folder.resolvingSymlinksInPath()
            let ness = Ness {
                $0.baseURL = server.url
                $0.maximumConnectionsPerHost = 1
            }
            let resumed = folder.appending(path: "resumed")
            _ = try? await ness.get("cut").downloadRequest(forSavedLocation: resumed, identifiedBy: "r").value
            let first = ness.get("first").downloadRequest(forSavedLocation: folder.appending(path: "first"), segments: segments)
            await arrived.wait()
            var promises = (0..<count).map {
                ness.get("\($0)").downloadRequest(forSavedLocation: folder.appending(path: "\($0)"), segments: segments)
            }
            promises.append(ness.get("resumed").downloadRequest(forSavedLocation: resumed, identifiedBy: "r"))
            try await ness.waitForRequests(count + 1, at: .hostQueue)
            // A queued download that is dropped leaves nothing behind, but keeps what was there.
            promises.removeFirst().drop()
            try await ness.waitForRequests(count, at: .hostQueue)
            let open = try openFiles(folder)
            #expect(open.allSatisfy { $0.contains("/first") } && !open.isEmpty, "\(open)")
            go.open()
            for promise in [first] + promises {
                let file = try await promise.value.dataLocalURL
                #expect(try Data(contentsOf: file) == content)
            }
            #expect(Set(folder.entries) == Set(["first", "resumed"] + (1..<count).map { "\($0)" }))
            let ranges = server.requests.filter { $0.path == "/resumed" }.map { $0.headers["Range"] }
            #expect(ranges == ["bytes=60000-99999"])
        }
        await server.stop()
    }

    @Test("a partial file that another program changed during the wait is not continued")
    func changedMeanwhile() async throws {
        let go = TestGate(), arrived = TestGate(), content = Self.content
        try await serving({ request in
            if request.path == "/first" {
                arrived.open()
                await go.wait()
            }
            let whole = Reply.file(content, entityTag: "\"v1\"", for: request)
            return request.path == "/cut" ? whole.cut(after: 60_000) : whole
        }) { server in
            try await withFolder { folder in
                let ness = Ness {
                    $0.baseURL = server.url
                    $0.maximumConnectionsPerHost = 1
                }
                let file = folder.appending(path: "a"), part = folder.appending(path: "a.ness-part")
                _ = try? await ness.get("cut").downloadRequest(forSavedLocation: file, identifiedBy: "a").value
                #expect(try Data(contentsOf: part).count == 60_000)
                let first = ness.get("first").dataRequest()
                await arrived.wait()
                let promise = ness.get("a").downloadRequest(forSavedLocation: file, identifiedBy: "a")
                try await ness.waitForRequests(1, at: .hostQueue)
                try Data("other".utf8).write(to: part)
                go.open()
                _ = try await first.value
                #expect(await promise.nessError()?.kind == .fileSystem)
                #expect(try Data(contentsOf: part) == Data("other".utf8))
            }
        }
    }
    #endif

    @Test("an expected size is the total of the progress from the start, even while the download waits")
    func expectedTotal() async throws {
        let rig = Rig()
        // At its start a manager has one slot at least, and the first download could fail before the progress is read.
        rig.ness.maximumConnectionsPerHost = 0
        try await withFolder { folder in
            let downloads = (1...3).map { number in
                rig.ness.get("\(number)").downloadRequest(
                    forSavedLocation: folder.appending(path: "\(number)"), expecting: .sha256(Self.digest, size: Int64(number) * 100))
            }
            let total = TotalProgress(of: downloads)
            #expect(total.progress.totalBytes == 600 && total.progress.fractionCompleted == 0)
            #expect(downloads[2].progress.totalBytes == 300)
            for download in downloads { download.drop() }
        }
    }

    @Test("a file that has the expected digest is not fetched again; any other file is")
    func expectedFile() async throws {
        let content = Self.content, files = FileServer(content: content)
        try await serving({ files.reply(to: $0) }) { server in
            try await withFolder { folder in
                let file = folder.appending(path: "a"), ness = Ness { $0.baseURL = server.url }
                func download(_ expectation: FileExpectation) -> DownloadPromise {
                    ness.get("a").validate(contentTypes: ["application/octet-stream"])
                        .downloadRequest(forSavedLocation: file, expecting: expectation)
                }
                try content.write(to: file)
                for expectation in [FileExpectation.sha256(Self.digest, size: 100_000), .sha256(Self.digest)] {
                    let promise = download(expectation), saved = try await promise.value
                    #expect(saved.message.statusCode == 304 && saved.message.source == .cache && saved.dataLocalURL == file)
                    #expect(promise.progress == TransferProgress(completedBytes: 100_000, totalBytes: 100_000))
                    #expect(folder.entries == ["a"])
                }
                #expect(server.requestCount == 0)
                // A POST is sent for its effect.
                let post = ness.post("a").downloadRequest(forSavedLocation: file, expecting: .sha256(Self.digest))
                #expect(try await post.value.message.statusCode == 200)
                // A size alone says too little.
                #expect(try await download(.size(100_000)).value.message.statusCode == 200)
                try Data("other".utf8).write(to: file)
                #expect(try await download(.sha256(Self.digest)).value.message.statusCode == 200)
                #expect(try Data(contentsOf: file) == content && server.requestCount == 3)
            }
        }
    }
}
