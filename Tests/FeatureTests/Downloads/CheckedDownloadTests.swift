import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Downloads whose files are checked before they get their names.
@Suite(.inTurn(.withoutSockets)) struct CheckedDownloadTests {
    private static let content = patternedData(400_000)
    private static let server = FileServer(content: content)
    private static let digest = TestHash.sha256(content).hexadecimal
    private static let other = TestHash.sha256(Data()).hexadecimal

    /// Returns the mismatch that a download fails with.
    private func mismatch(
        _ promise: RequestPromise<DownloadResult>, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> FileMismatch? {
        let error = await promise.nessError(sourceLocation: sourceLocation)
        #expect(error?.kind == .validation && error?.response?.statusCode == 200, sourceLocation: sourceLocation)
        return error?.underlying as? FileMismatch
    }

    @Test("a file with the expected digest and size gets its name, in one part and in several, even if it is empty", arguments: [1, 4])
    func expected(segments: Int) async throws {
        try await withDownloads(of: Self.server, { $0.path == "/empty" ? .data(Data()) : $1 }) { rig in
            let expectations: [(String, FileExpectation)] = [
                ("a", .sha256(Self.digest)), ("a", .sha256(Self.digest.uppercased(), size: 400_000)), ("a", .size(400_000)),
                ("empty", .sha256(Self.other, size: 0)),
            ]
            for (path, expectation) in expectations {
                _ = try await rig.start(path, segments: segments, expecting: expectation).value
                #expect(rig.saved == (path == "a" ? Self.content : Data()) && rig.folder.entries == ["a.bin"])
                try FileManager.default.removeItem(at: rig.file)
            }
        }
    }

    @Test("a wrong digest is a typed error; the old file stays, and gets no byte of the new one", arguments: [1, 4])
    func otherDigest(segments: Int) async throws {
        try await withDownloads(of: Self.server) { rig in
            try Data("old".utf8).write(to: rig.file)
            #expect(
                await mismatch(rig.start(segments: segments, expecting: .sha256(Self.other)))
                    == .sha256(expected: Self.other, found: Self.digest)
            )
            #expect(rig.saved == Data("old".utf8) && rig.folder.entries == ["a.bin"])
            let folder = rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: rig.folder, expecting: .sha256(Self.other))
            #expect(await mismatch(folder) != nil)
            #expect(rig.folder.entries == ["a.bin"])
        }
    }

    @Test("a response that announces another size is rejected by its head, and its connection is closed", arguments: [1, 4])
    func announcedSize(segments: Int) async throws {
        try await withDownloads(of: Self.server, { $0.headers["range"] == nil ? $1.cut(after: 100, then: .stall) : $1 }) { rig in
            try Data("old".utf8).write(to: rig.file)
            #expect(await mismatch(rig.start(segments: segments, expecting: .size(5))) == .size(expected: 5, found: 400_000))
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            #expect(rig.saved == Data("old".utf8) && rig.folder.entries == ["a.bin"])
            #expect(rig.server.requestCount == 1)
        }
    }

    @Test("a body without a length is rejected when it is too long, even if it is endless, or too short", arguments: [100, 500_000])
    func streamedSize(size: Int) async throws {
        let piece = Self.content.prefix(1_000)
        try await withDownloads { _, request in
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"
            return size == 100 ? .script([.send(head), .sendUntilClosed(piece)]) : .chunked([Self.content])
        } _: { rig in
            guard case .size(let expected, let found) = await mismatch(rig.start(expecting: .size(Int64(size)))) else {
                return #expect(Bool(false), "no mismatch")
            }
            #expect(expected == Int64(size) && (size == 100 ? found > 100 : found == 400_000))
            #expect(rig.folder.entries == [])
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("a resumed file is checked as a whole; after a mismatch the next download starts over")
    func resumed() async throws {
        var bytes = Self.content
        bytes[10] ^= 1
        let damaged = FileServer(content: bytes)
        try await withDownloads(of: Self.server, { $0.number == 1 ? damaged.reply(to: $0).cut(after: 200_000) : $1 }) { rig in
            func download() -> DownloadPromise { rig.start(expecting: .sha256(Self.digest)) }
            #expect(await download().nessError()?.kind == .truncated)
            #expect(await mismatch(download()) != nil)
            #expect(rig.folder.entries == [])
            _ = try await download().value
            #expect(rig.saved == Self.content)
            #expect(rig.ranges == [nil, "bytes=200000-399999", nil])
        }
    }

    @Test("a retry control may fetch a file again that was not as expected")
    func retry() async throws {
        try await withDownloads(of: Self.server, { $0.number == 1 ? .data(Self.content.prefix(10)) : $1 }) { rig in
            _ = try await rig.start(expecting: .sha256(Self.digest), with: CounterRetryControl(maxRetryCount: 1)).value
            #expect(rig.saved == Self.content)
        }
    }

    @Test(
        "an expectation that no file can meet is rejected before anything is sent",
        arguments: ["", "abc", String(repeating: "g", count: 64)])
    func invalid(digest: String) async throws {
        try await withDownloads { _, _ in
            .text("a")
        } _: { rig in
            for expectation in [.sha256(digest), .size(-1)] as [FileExpectation] {
                #expect(await rig.start(expecting: expectation).nessError()?.kind == .invalidRequest)
            }
            #expect(rig.server.requestCount == 0 && rig.folder.entries == [])
        }
    }

    @Test("a saved file that the server confirms is fetched again if it is not as expected")
    func conditional() async throws {
        let tally = Tally()
        try await withDownloads { _, request in
            guard request.headers["if-none-match"] == nil else { return .status(304, headers: ["ETag": "\"1\""]) }
            return .text(tally.enter() == 0 ? "bad" : "good", headers: ["ETag": "\"1\""])
        } _: { rig in
            let request = rig.ness.httpRequest(withUrl: "a")
            let good = FileExpectation.sha256(TestHash.sha256(Data("good".utf8)).hexadecimal)
            _ = try await request.downloadRequestIfChanged(forSavedLocation: rig.file).value
            var results: [String] = []
            for _ in 0..<2 {
                switch try await request.downloadRequestIfChanged(forSavedLocation: rig.file, expecting: good).value {
                case .fetched: results.append("fetched")
                case .unchanged: results.append("unchanged")
                }
            }
            #expect(results == ["fetched", "unchanged"] && rig.saved == Data("good".utf8))
            #expect(rig.server.requests.map { $0.headers["if-none-match"] } == [nil, "\"1\"", nil])
        }
    }

    @Test("equal downloads with different expectations do not share a result")
    func sharing() async throws {
        let arrived = TestGate()
        try await withDownloads(of: Self.server) {
            await arrived.wait()
            return $1
        } _: { rig in
            let bad = rig.start(expecting: .sha256(Self.other))
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            let good = rig.start(expecting: .sha256(Self.digest))
            arrived.open()
            #expect(await mismatch(bad) != nil)
            _ = try await good.value
            #expect(rig.saved == Self.content)
        }
    }

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
        try await withDownloads(of: Self.server) { rig in
            func download(_ expectation: FileExpectation) -> DownloadPromise {
                rig.ness.get("a").validate(contentTypes: ["application/octet-stream"])
                    .downloadRequest(forSavedLocation: rig.file, expecting: expectation)
            }
            try Self.content.write(to: rig.file)
            for expectation in [FileExpectation.sha256(Self.digest, size: 400_000), .sha256(Self.digest)] {
                let promise = download(expectation), saved = try await promise.value
                #expect(saved.message.statusCode == 304 && saved.message.source == .cache && saved.dataLocalURL == rig.file)
                #expect(promise.progress == TransferProgress(completedBytes: 400_000, totalBytes: 400_000))
                #expect(rig.folder.entries == ["a.bin"])
            }
            #expect(rig.server.requestCount == 0)
            // A POST is sent for its effect.
            let post = rig.ness.post("a").downloadRequest(forSavedLocation: rig.file, expecting: .sha256(Self.digest))
            #expect(try await post.value.message.statusCode == 200)
            // A size alone says too little.
            #expect(try await download(.size(400_000)).value.message.statusCode == 200)
            try Data("other".utf8).write(to: rig.file)
            #expect(try await download(.sha256(Self.digest)).value.message.statusCode == 200)
            #expect(rig.saved == Self.content && rig.server.requestCount == 3)
        }
    }

    @Test("the digest does not depend on how the bytes are divided")
    func pieces() {
        var generator = SeededGenerator(seed: 5)
        for count in [0, 1, 55, 56, 63, 64, 65, 119, 128, 1_000] {
            let data = patternedData(count)
            var hash = SHA256Hash(), start = 0
            while start < count {
                let end = min(count, start + Int.random(in: 0...70, using: &generator))
                hash.add(data[start..<end])
                start = end
            }
            #expect(hash.finish() == TestHash.sha256(data))
        }
    }

    // MARK: folders and destinations

    @Test("missing folders are created on request, before anything is sent, and otherwise are an error")
    func folders() async throws {
        try await withDownloads { _, _ in
            .text("a")
        } _: { rig in
            let request = rig.ness.httpRequest(withUrl: "a")
            let deep = rig.folder.appending(path: "x/y/a.bin"), into = rig.folder.appending(path: "z/folder")
            #expect(await request.downloadRequest(forSavedLocation: deep).nessError()?.kind == .fileSystem)
            #expect(rig.server.requestCount == 0 && rig.folder.entries == [])
            _ = try await request.downloadRequest(forSavedLocation: deep, createsFolders: true).value
            #expect(try Data(contentsOf: deep) == Data("a".utf8))
            _ = try await request.downloadRequest(intoFolder: into, createsFolders: true).value
            #expect(into.entries == ["a"])
            _ = try await request.downloadRequestIfChanged(forSavedLocation: rig.folder.appending(path: "w/a"), createsFolders: true).value
            // A file stands where a folder has to be.
            for path in ["b", "b/c", "b/c/d"] {
                for creates in [false, true] {
                    let inFile = deep.appending(path: path)
                    let blocked = await request.downloadRequest(forSavedLocation: inFile, createsFolders: creates).nessError()
                    #expect(blocked?.kind == .fileSystem)
                    #expect(blocked?.context.reason.contains("\"a.bin\" in the path of the destination is a file, not a folder") == true)
                }
            }
            let missing = await request.downloadRequest(forSavedLocation: rig.folder.appending(path: "none/a")).nessError()
            #expect(missing?.context.reason.contains("there is no folder \"none\"") == true)
        }
    }

    @Test("a closure chooses the destination from the response, and an existing file is replaced")
    func destination() async throws {
        try await withDownloads { _, _ in
            .text("a", headers: ["X-Name": "named.txt"])
        } _: { rig in
            let folder = rig.folder
            let chosen = folder.appending(path: "sub/named.txt")
            for _ in 0..<2 {
                let request = rig.ness.httpRequest(withUrl: "a")
                let result = try await request.downloadRequest(intoFolder: folder, createsFolders: true) { response in
                    folder.appending(path: "sub").appending(path: response.headers["X-Name"] ?? "none")
                }.value
                #expect(result.dataLocalURL.path == chosen.path)
            }
            #expect(folder.entries == ["sub"] && folder.appending(path: "sub").entries == ["named.txt"])
        }
    }

    @Test("an error of the closure, or an impossible destination, fails the download; the next one resumes the bytes", arguments: 0..<4)
    func noDestination(way: Int) async throws {
        try await withDownloads(of: Self.server) { rig in
            let folder = rig.folder
            try FileManager.default.createDirectory(at: folder.appending(path: "folder"), withIntermediateDirectories: false)
            let error = await rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: folder) { _ in
                switch way {
                case 0: throw Rejected()
                case 1: folder.appending(path: "none/a")
                case 2: folder.appending(path: "folder")
                default: URL(fileURLWithPath: "/").appending(path: "a").absoluteURL.deletingLastPathComponent()
                }
            }.nessError()
            #expect(error?.kind == .fileSystem)
            if way == 0 { #expect(error?.underlying as? Rejected == Rejected()) }
            _ = try await rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: folder).value
            #expect(try Data(contentsOf: folder.appending(path: "a")) == Self.content)
            #expect(folder.entries == ["a", "folder"])
            #expect(rig.ranges == [nil, "bytes=399999-399999"])
        }
    }

    /// Accepts a response with a body, which that of a download's head has not.
    private struct HasBody: ResponseValidator {
        func validate(for response: HTTPResponse) -> ResponseValidatorResult {
            response.body.isEmpty ? .invalidWithReason("it is empty") : .valid
        }
    }

    @Test("a validator that rejects the head of a download fails it, even if it would accept the response with its body")
    func rejectedHead() async throws {
        try await withDownloads(of: FileServer(content: Data("text".utf8))) { rig in
            let promise = rig.ness.httpRequest(withUrl: "a").validate(using: HasBody()).downloadRequest(forSavedLocation: rig.file)
            #expect(await promise.nessError()?.kind == .validation)
            #expect(rig.server.requestCount == 1 && rig.folder.entries == [])
        }
    }

    @Test("a loader that replaces a download that broke off, or repeats it in vain, leaves the old file", arguments: [false, true])
    func replacedByALoader(repeats: Bool) async throws {
        let loader = ClosureLoader { request, next in
            do { return try await next(request) } catch {
                return repeats ? try await next(request) : HTTPResponse(statusCode: 200, request: request)
            }
        }
        try await withDownloads { number, _ in
            number == 1 ? .script([.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"), .close]) : .status(503)
        } configure: {
            $0.insert(loader, at: .exchange)
        } _: { rig in
            try Data("old".utf8).write(to: rig.file)
            #expect(await rig.start().nessError() != nil)
            #expect(rig.saved == Data("old".utf8))
        }
    }
}
