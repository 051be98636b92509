import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Downloads whose files are checked before they get their names.
@Suite(.inTurn(.withoutSockets)) struct CheckedDownloadTests {
    private static let content = patternedData(400_000)
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

    @Test("a file with the expected digest and size gets its name, in one part and in several", arguments: [1, 4])
    func expected(segments: Int) async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { _, request in
            server.reply(to: request)
        } _: { rig in
            let request = rig.ness.httpRequest(withUrl: "a")
            for expectation in [
                .sha256(Self.digest), .sha256(Self.digest.uppercased(), size: 400_000), .size(400_000),
            ] as [FileExpectation] {
                _ = try await request.downloadRequest(forSavedLocation: rig.file, segments: segments, expecting: expectation).value
                #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
                try FileManager.default.removeItem(at: rig.file)
            }
        }
    }

    @Test("a wrong digest is a typed error; the old file stays, and gets no byte of the new one", arguments: [1, 4])
    func otherDigest(segments: Int) async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { _, request in
            server.reply(to: request)
        } _: { rig in
            try Data("old".utf8).write(to: rig.file)
            let promise = rig.ness.httpRequest(withUrl: "a").downloadRequest(
                forSavedLocation: rig.file, segments: segments, expecting: .sha256(Self.other))
            #expect(await mismatch(promise) == .sha256(expected: Self.other, found: Self.digest))
            #expect(rig.saved == Data("old".utf8) && rig.folder.entries == ["a.bin"])
            let folder = rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: rig.folder, expecting: .sha256(Self.other))
            #expect(await mismatch(folder) != nil)
            #expect(rig.folder.entries == ["a.bin"])
        }
    }

    @Test("a response that announces another size is rejected by its head, and its connection is closed", arguments: [1, 4])
    func announcedSize(segments: Int) async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { _, request in
            let reply = server.reply(to: request)
            return request.headers["range"] == nil ? reply.cut(after: 100, then: .stall) : reply
        } _: { rig in
            try Data("old".utf8).write(to: rig.file)
            let promise = rig.ness.httpRequest(withUrl: "a").downloadRequest(
                forSavedLocation: rig.file, segments: segments, expecting: .size(5))
            #expect(await mismatch(promise) == .size(expected: 5, found: 400_000))
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
            let promise = rig.ness.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: rig.file, expecting: .size(Int64(size)))
            guard case .size(let expected, let found) = await mismatch(promise) else { return #expect(Bool(false), "no mismatch") }
            #expect(expected == Int64(size) && (size == 100 ? found > 100 : found == 400_000))
            #expect(rig.folder.entries == [])
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("a resumed file is checked as a whole; after a mismatch the next download starts over")
    func resumed() async throws {
        let server = FileServer(content: Self.content)
        var bytes = Self.content
        bytes[10] ^= 1
        let damaged = FileServer(content: bytes)
        try await withDownloads { number, request in
            number == 1 ? damaged.reply(to: request).cut(after: 200_000) : server.reply(to: request)
        } _: { rig in
            let request = rig.ness.httpRequest(withUrl: "a")
            func download() -> DownloadPromise { request.downloadRequest(forSavedLocation: rig.file, expecting: .sha256(Self.digest)) }
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
        let server = FileServer(content: Self.content)
        try await withDownloads { number, request in
            number == 1 ? .data(Self.content.prefix(10)) : server.reply(to: request)
        } _: { rig in
            let promise = rig.ness.httpRequest(withUrl: "a").downloadRequest(
                forSavedLocation: rig.file, expecting: .sha256(Self.digest), with: CounterRetryControl(maxRetryCount: 1))
            _ = try await promise.value
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
            let request = rig.ness.httpRequest(withUrl: "a")
            for expectation in [.sha256(digest), .size(-1)] as [FileExpectation] {
                let error = await request.downloadRequest(forSavedLocation: rig.file, expecting: expectation).nessError()
                #expect(error?.kind == .invalidRequest)
            }
            #expect(rig.server.requestCount == 0 && rig.folder.entries == [])
        }
    }

    @Test("an empty file has a digest")
    func empty() async throws {
        try await withDownloads { _, _ in
            .data(Data())
        } _: { rig in
            let request = rig.ness.httpRequest(withUrl: "a")
            _ = try await request.downloadRequest(forSavedLocation: rig.file, expecting: .sha256(Self.other, size: 0)).value
            #expect(rig.saved == Data())
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
            guard case .fetched = try await request.downloadRequestIfChanged(forSavedLocation: rig.file, expecting: good).value else {
                return #expect(Bool(false), "the file was not fetched")
            }
            #expect(rig.saved == Data("good".utf8))
            guard case .unchanged = try await request.downloadRequestIfChanged(forSavedLocation: rig.file, expecting: good).value else {
                return #expect(Bool(false), "the file was fetched")
            }
            #expect(rig.server.requests.map { $0.headers["if-none-match"] } == [nil, "\"1\"", nil])
        }
    }

    @Test("equal downloads with different expectations do not share a result")
    func sharing() async throws {
        let arrived = TestGate(), server = FileServer(content: Self.content)
        try await withDownloads { _, request in
            await arrived.wait()
            return server.reply(to: request)
        } _: { rig in
            let request = rig.ness.httpRequest(withUrl: "a")
            let bad = request.downloadRequest(forSavedLocation: rig.file, expecting: .sha256(Self.other))
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            let good = request.downloadRequest(forSavedLocation: rig.file, expecting: .sha256(Self.digest))
            arrived.open()
            #expect(await mismatch(bad) != nil)
            _ = try await good.value
            #expect(rig.saved == Self.content)
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
            let blocked = await request.downloadRequest(forSavedLocation: deep.appending(path: "b"), createsFolders: true).nessError()
            #expect(blocked?.kind == .fileSystem)
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
        let server = FileServer(content: Self.content)
        try await withDownloads { _, request in
            server.reply(to: request)
        } _: { rig in
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
        let server = FileServer(content: Data("text".utf8))
        try await withDownloads { _, request in
            server.reply(to: request)
        } _: { rig in
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
        } _: { rig in
            try Data("old".utf8).write(to: rig.file)
            let promise = rig.ness.httpRequest(withUrl: "a").add(loaders: [loader], at: .exchange).downloadRequest(
                forSavedLocation: rig.file)
            let outcome = await promise.settled
            #expect(throws: NessError.self) { try outcome.get() }
            #expect(rig.saved == Data("old".utf8))
        }
    }
}
