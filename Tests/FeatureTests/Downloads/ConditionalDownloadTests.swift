import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Downloads of files that are fetched only if they have changed (RFC 9110, 13).
@Suite(.inTurn(.withoutSockets)) struct ConditionalDownloadTests {
    private static let first = patternedData(100_000), second = patternedData(120_000, seed: 2)
    private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// A file server that answers conditions.
    private struct Conditional: Sendable {
        var file: FileServer

        func reply(to request: ReceivedRequest) -> Reply {
            let isSame =
                request.headers["if-none-match"].map { $0 == file.tag }
                ?? request.headers["if-modified-since"].map { $0 == file.headers["Last-Modified"] } ?? false
            return isSame ? .status(304, headers: file.tag.map { ["ETag": $0] } ?? [:]) : file.reply(to: request)
        }
    }

    private static let v1 = Conditional(file: FileServer(content: first))
    private static let v2 = Conditional(file: FileServer(content: second, tag: "\"v2\""))

    private func start(_ rig: DownloadRig, segments: Int = 1) -> ConditionalDownloadPromise {
        rig.ness.httpRequest(withUrl: "a").downloadRequestIfChanged(forSavedLocation: rig.file, segments: segments)
    }

    /// Runs a download, and checks whether the file was fetched.
    private func run(_ rig: DownloadRig, fetches: Bool, segments: Int = 1) async throws {
        switch try await start(rig, segments: segments).value {
        case .fetched(let result): #expect(fetches && result.dataLocalURL == rig.file)
        case .unchanged(let result):
            #expect(!fetches)
            #expect(result.dataLocalURL == rig.file && result.message.statusCode == 304)
        }
    }

    private func conditions(_ rig: DownloadRig) -> [String?] {
        rig.server.requests.map { $0.headers["if-none-match"] ?? $0.headers["if-modified-since"] }
    }

    @Test("each version of a file is fetched once", arguments: [1, 3])
    func onceForEachVersion(segments: Int) async throws {
        let current = Lock(Self.v1)
        try await withDownloads({ _, request in current.withLock { $0 }.reply(to: request) }) { rig in
            try await run(rig, fetches: true, segments: segments)
            #expect(rig.folder.entries == ["a.bin", "a.bin.ness-version"])
            for _ in 0..<2 { try await run(rig, fetches: false, segments: segments) }
            #expect(rig.saved == Self.first)
            current.withLock { $0 = Self.v2 }
            try await run(rig, fetches: true, segments: segments)
            #expect(rig.saved == Self.second)
            try await run(rig, fetches: false, segments: segments)
            #expect(rig.folder.entries == ["a.bin", "a.bin.ness-version"])
            #expect(conditions(rig).last == "\"v2\"")
        }
    }

    @Test("validators accept a 304, and the status says that the request is complete") func validators() async throws {
        try await withDownloads({ Self.v1.reply(to: $1) }) { rig in
            try await run(rig, fetches: true)
            let promise = rig.ness.get("a").validate(statusCode: 200).validate(.shouldContains, ["Content-Length": "100000"])
                .downloadRequestIfChanged(forSavedLocation: rig.file)
            _ = try await promise.value
            #expect(promise.status.text == "completed 304")
        }
    }

    @Test("a file with only a date, or a weak tag, is revalidated by that", arguments: [nil, "W/\"v1\""])
    func weak(tag: String?) async throws {
        let server = Conditional(file: FileServer(content: Self.first, tag: tag, headers: ["Last-Modified": Self.old]))
        try await withDownloads({ server.reply(to: $1) }) { rig in
            try await run(rig, fetches: true)
            try await run(rig, fetches: false)
            #expect(conditions(rig) == [nil, tag ?? Self.old])
        }
    }

    @Test("a file without a version is fetched each time", arguments: [[:], ["Last-Modified": "yesterday"]] as [HTTPHeaders])
    func noVersion(headers: HTTPHeaders) async throws {
        let server = FileServer(content: Self.first, tag: nil, headers: headers)
        try await withDownloads(of: server, { $0.number == 1 ? Self.v1.reply(to: $0) : $1 }) { rig in
            for _ in 0..<3 { try await run(rig, fetches: true) }
            #expect(rig.folder.entries == ["a.bin"])
            #expect(conditions(rig) == [nil, "\"v1\"", nil])
        }
    }

    @Test(
        "a saved file, or its record, that is not as the download left it is fetched again, without a condition",
        arguments: [
            "edited", "longer", "replaced", "removed", "link", "folder of versions", "garbage", "torn", "injected", "other source", "lost",
        ])
    func changedHere(how: String) async throws {
        try await withDownloads({ Self.v1.reply(to: $1) }) { rig in
            try await run(rig, fetches: true)
            let version = rig.folder.appendingPathComponent("a.bin.ness-version"), files = FileManager.default
            let kept = try Data(contentsOf: version)
            switch how {
            case "edited", "longer":
                let handle = try FileHandle(forWritingTo: rig.file)
                if how == "longer" { try handle.seekToEnd() }
                try handle.write(contentsOf: Data("other".utf8))
                try handle.close()
                // In place, and perhaps of the same length. Only the modification date differs then.
                try files.setAttributes([.modificationDate: Date(timeIntervalSinceNow: 60)], ofItemAtPath: rig.file.path)
            case "replaced": try Self.first.write(to: rig.file, options: .atomic)
            case "removed": try files.removeItem(at: rig.file)
            case "link":
                let other = rig.folder.appendingPathComponent("other")
                try files.moveItem(at: rig.file, to: other)
                try files.createSymbolicLink(at: rig.file, withDestinationURL: other)
            case "folder of versions":
                try files.removeItem(at: version)
                try files.createDirectory(at: version, withIntermediateDirectories: false)
            case "garbage": try Data("{}".utf8).write(to: version)
            case "torn": try kept.prefix(kept.count / 2).write(to: version)
            case "injected":
                let text = String(decoding: kept, as: UTF8.self).replacingOccurrences(of: "\\\"v1\\\"", with: "\\\"v1\\r\\nX: y\\\"")
                try Data(text.utf8).write(to: version)
            case "other source":
                _ = try await rig.ness.httpRequest(withUrl: "a?b").downloadRequestIfChanged(forSavedLocation: rig.file).value
            default: try files.removeItem(at: version)
            }
            try await run(rig, fetches: true)
            #expect(rig.saved == Self.first)
            #expect(conditions(rig).allSatisfy { $0 == nil })
            if how != "folder of versions" { try await run(rig, fetches: false) }
        }
    }

    @Test("a saved file that is replaced during the request is fetched again") func replacedMeanwhile() async throws {
        let place = Lock<URL?>(nil)
        try await withDownloads { number, request in
            if number == 2, let file = place.withLock({ $0 }) { try? Data("other".utf8).write(to: file, options: .atomic) }
            return Self.v1.reply(to: request)
        } _: { rig in
            place.withLock { $0 = rig.file }
            try await run(rig, fetches: true)
            try await run(rig, fetches: true)
            #expect(rig.saved == Self.first)
            #expect(conditions(rig) == [nil, "\"v1\"", nil])
        }
    }

    @Test("bytes without a version are not continued, even if a loader has repeated the request and received a 304")
    func nothingToContinue() async throws {
        let place = Lock<URL?>(nil), unnamed = FileServer(content: Self.second, tag: nil)
        let repeats = ClosureLoader { request, next in
            do { return try await next(request) } catch { return try await next(request) }
        }
        try await withDownloads { number, request in
            switch number {
            case 2:
                if let file = place.withLock({ $0 }) { try? Data("other".utf8).write(to: file, options: .atomic) }
                return unnamed.reply(to: request).cut(after: 50_000)
            case 3: return .status(304)
            default: return Self.v1.reply(to: request)
            }
        } configure: {
            $0.insert(repeats, at: .exchange)
        } _: { rig in
            place.withLock { $0 = rig.file }
            try await run(rig, fetches: true)
            try await run(rig, fetches: true)
            #expect(rig.saved == Self.first && rig.ranges == [nil, nil, nil, nil])
        }
    }

    @Test("an interrupted download of a new version is continued, and the old file stays until the new one is complete")
    func continued() async throws {
        try await withDownloads { number, request in
            switch number {
            case 1: Self.v1.reply(to: request)
            case 2: Self.v2.reply(to: request).cut(after: 50_000)
            default: Self.v2.reply(to: request)
            }
        } _: { rig in
            try await run(rig, fetches: true)
            #expect(await start(rig).nessError()?.kind == .truncated)
            #expect(rig.saved == Self.first)
            try await run(rig, fetches: true)
            #expect(rig.saved == Self.second)
            let last = try #require(rig.server.requests.last)
            #expect(last.headers["if-none-match"] == "\"v1\"" && last.headers["if-range"] == "\"v2\"")
            #expect(last.headers["range"] == "bytes=50000-119999")
            try await run(rig, fetches: false)
        }
    }

    @Test("an interrupted new version is removed once the server has the old version again") func takenBack() async throws {
        try await withDownloads({ $0 == 2 ? Self.v2.reply(to: $1).cut(after: 50_000) : Self.v1.reply(to: $1) }) { rig in
            try await run(rig, fetches: true)
            #expect(await start(rig).nessError()?.kind == .truncated)
            try await run(rig, fetches: false)
            #expect(rig.saved == Self.first)
            #expect(rig.folder.entries == ["a.bin", "a.bin.ness-version"])
        }
    }

    @Test("a 304 about another version leads to a full download; an unrequested 304 is an error") func wrong304() async throws {
        try await withDownloads { number, request in
            switch number {
            case 2: .status(304, headers: ["ETag": "\"v9\""])
            case 4: .status(304)
            default: Self.v1.reply(to: request)
            }
        } _: { rig in
            try await run(rig, fetches: true)
            try await run(rig, fetches: true)
            #expect(conditions(rig) == [nil, "\"v1\"", nil])
            try FileManager.default.removeItem(at: rig.file)
            #expect(await start(rig).nessError()?.kind == .validation)
            #expect(rig.folder.entries == ["a.bin.ness-version"])
        }
    }
}
