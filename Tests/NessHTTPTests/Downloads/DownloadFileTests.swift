import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Downloads and the disk: torn and damaged files, destinations that cannot be written, and files that must not remain.
@Suite(.inTurn(.withoutSockets)) struct DownloadFileTests {
    private static let content = patternedData(300_000)

    /// Runs a download that is cut after 100,000 bytes, damages the partial file or its record, and runs a second download.
    private func damaged(
        segments: Int = 1, _ damage: (DownloadRig) throws -> Void, _ check: (DownloadRig) async throws -> Void = { _ in }
    ) async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { number, request in
            number == (segments > 1 ? 2 : 1) ? server.reply(to: request).cut(after: 50_000) : server.reply(to: request)
        } _: { rig in
            #expect(await rig.start(segments: segments).nessError()?.kind == .truncated)
            try damage(rig)
            _ = try await rig.start(segments: segments).value
            #expect(rig.saved == Self.content)
            #expect(rig.folder.entries == ["a.bin"])
            try await check(rig)
        }
    }

    @Test("bytes beyond the record's count may be torn, so they are cut off")
    func tornTail() async throws {
        try await damaged { rig in
            let kept = try Data(contentsOf: rig.partial)
            #expect(kept.count == 50_000)
            try (kept + Data(repeating: 0, count: 7_000)).write(to: rig.partial)
        } _: { rig in
            #expect(rig.ranges == [nil, "bytes=50000-299999"])
        }
    }

    @Test("a record that counts more bytes than the file has is not trusted")
    func shorterThanRecorded() async throws {
        try await damaged { rig in
            try Data(contentsOf: rig.partial).dropLast(1).write(to: rig.partial)
        } _: { rig in
            #expect(rig.ranges == [nil, nil])
        }
    }

    @Test("bytes without a record, and a record without bytes, count as nothing", arguments: ["record", "bytes", "bytes emptied"])
    func halves(lost: String) async throws {
        try await damaged { rig in
            switch lost {
            case "record": try FileManager.default.removeItem(at: rig.sidecar)
            case "bytes": try FileManager.default.removeItem(at: rig.partial)
            default: try Data().write(to: rig.partial)
            }
        } _: { rig in
            #expect(rig.ranges == [nil, nil])
        }
    }

    @Test(
        "an invalid record is not trusted",
        arguments: [
            "", "{", "null", "[]", "{}", "7", "\u{0}\u{0}\u{0}\u{0}", "{\"version\":1}", String(repeating: "[", count: 100_000),
            String(repeating: "x", count: 2 << 20),
        ])
    func garbage(text: String) async throws {
        try await damaged { rig in
            try Data(text.utf8).write(to: rig.sidecar)
        } _: { rig in
            #expect(rig.ranges == [nil, nil])
        }
    }

    /// Each argument is a change to a valid record.
    @Test(
        "a record that contradicts itself or the file is not trusted, and never traps",
        arguments: [
            "version 2", "version 0", "source", "no validator", "weak validator", "validator that injects", "no spans", "negative count",
            "negative start", "late start", "count beyond the end", "huge count", "overflow", "end before start", "other total",
            "huge end", "number with a fraction", "beyond any number", "gap", "overlap", "open in the middle", "count without bytes",
            "negative total", "nothing yet", "too many spans",
        ])
    func contradiction(_ fault: String) async throws {
        try await damaged { rig in
            try rig.editRecord { record in
                func spans(_ list: [[String: Any]], total: Int = 300_000) {
                    record["spans"] = list
                    record["total"] = total
                }
                switch fault {
                case "version 2": record["version"] = 2
                case "version 0": record["version"] = 0
                case "source": record["source"] = "other"
                case "no validator": record["validator"] = nil
                case "weak validator": record["validator"] = "W/\"v1\""
                case "validator that injects": record["validator"] = "\"v1\r\nX-Injected: yes\""
                case "no spans": record["spans"] = [Any]()
                case "negative count": spans([["start": 0, "end": 300_000, "count": -1]])
                case "negative start": spans([["start": -5, "end": 300_000, "count": 10]])
                case "late start": spans([["start": 5, "end": 300_000, "count": 10]])
                case "count beyond the end": spans([["start": 0, "end": 10, "count": 20]], total: 10)
                case "huge count": spans([["start": 0, "end": Int.max, "count": Int.max]], total: .max)
                case "overflow":
                    spans([["start": 0, "end": Int.max, "count": 0], ["start": Int.max, "end": Int.max, "count": 1]], total: .max)
                case "end before start": spans([["start": 0, "end": -1, "count": 0]], total: -1)
                case "other total": record["total"] = 300_001
                case "huge end": spans([["start": 0, "end": Int.max - 1, "count": 50_000]], total: .max)
                case "number with a fraction": spans([["start": 0, "end": 300_000, "count": 0.5]])
                case "beyond any number": spans([["start": 0, "end": 300_000, "count": 1e300]])
                case "gap": spans([["start": 0, "end": 10, "count": 10], ["start": 11, "end": 300_000, "count": 10]])
                case "overlap": spans([["start": 0, "end": 10, "count": 10], ["start": 9, "end": 300_000, "count": 10]])
                case "open in the middle": spans([["start": 0, "count": 10], ["start": 10, "end": 300_000, "count": 10]])
                case "count without bytes":
                    spans([["start": 0, "end": 40_000, "count": 1], ["start": 40_000, "end": 300_000, "count": 10_001]])
                case "negative total": spans([["start": 0, "end": -10, "count": 5]], total: -10)
                case "nothing yet": spans([["start": 0, "end": 300_000, "count": 0]])
                default: spans((0..<2_000).map { ["start": $0, "end": $0 < 1_999 ? $0 + 1 : 300_000, "count": 1] })
                }
            }
        } _: { rig in
            #expect(rig.ranges == [nil, nil])
            #expect(rig.server.requests.allSatisfy { !$0.headers.contains("X-Injected") })
        }
    }

    @Test("a record with a length that the server does not know leads to a fresh start", arguments: [Int.max, 300_001, 60_000])
    func plausibleButWrong(total: Int) async throws {
        try await damaged { rig in
            try rig.editRecord { record in
                record["total"] = total
                record["spans"] = [["start": 0, "end": total, "count": 50_000]]
            }
        } _: { rig in
            #expect(rig.server.requestCount == 3)
        }
    }

    @Test("a partial file longer than the whole is cut")
    func longerThanTheWhole() async throws {
        try await damaged(segments: 3) { rig in
            let handle = try FileHandle(forWritingTo: rig.partial)
            try handle.truncate(atOffset: 400_000)
            try handle.close()
        }
    }

    @Test("a partial file of another URL, or of another representation, is not continued", arguments: ["url", "query", "language"])
    func otherSource(what: String) async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { number, request in
            number == 1 ? server.reply(to: request).cut(after: 50_000) : server.reply(to: request)
        } _: { rig in
            #expect(await rig.start("a?secret=hidden").nessError()?.kind == .truncated)
            #expect(try !String(contentsOf: rig.sidecar, encoding: .utf8).contains("hidden"))
            let builder = rig.ness.httpRequest(withUrl: what == "url" ? "b?secret=hidden" : what == "query" ? "a" : "a?secret=hidden")
            let headers: HTTPHeaders = what == "language" ? ["Accept-Language": "de"] : [:]
            _ = try await builder.set(headers: headers).downloadRequest(forSavedLocation: rig.file).value
            #expect(rig.ranges == [nil, nil])
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
        }
    }

    // MARK: what is left

    @Test(
        "a failure keeps the existing file, and leaves nothing else under its name",
        arguments: [404, 500, 503, 204, 304])
    func failingStatus(status: Int) async throws {
        try await withDownloads { _, _ in
            .text(status == 204 || status == 304 ? "" : "page", status: status, headers: ["ETag": "\"v1\""])
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .validation)
            #expect(rig.folder.entries.isEmpty)
            try Data("before".utf8).write(to: rig.file)
            let error = await rig.start().nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == status)
            if status >= 404 { #expect(error?.response?.text == "page") }
            #expect(rig.saved == Data("before".utf8) && rig.folder.entries == ["a.bin"])
        }
    }

    @Test("a failed attempt keeps the received bytes; a 503 is retried, and then the existing file is replaced")
    func existingFile() async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { number, request in
            switch number {
            case 1: server.reply(to: request).cut(after: 100_000)
            case 2: .text("page", status: 503)
            default: server.reply(to: request)
            }
        } _: { rig in
            try Data("before".utf8).write(to: rig.file)
            #expect(await rig.start().nessError()?.kind == .truncated)
            #expect(rig.saved == Data("before".utf8))
            #expect(await rig.start().nessError()?.response?.statusCode == 503)
            #expect(rig.saved == Data("before".utf8))
            #expect(rig.folder.entries == ["a.bin", "a.bin.ness-part", "a.bin.ness-part.json"])
            _ = try await rig.start().value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            #expect(rig.ranges.last == "bytes=100000-299999")
        }
    }

    @Test(
        "a body that ends too early is not saved, whether the connection closes, is reset or misses a chunk",
        arguments: ["close", "reset", "chunk"])
    func truncated(how: String) async throws {
        let server = FileServer(content: Self.content, tag: nil)
        try await withDownloads { _, request in
            let reply = server.reply(to: request)
            return how == "chunk" ? reply.inChunks(cutAfter: 1_000) : reply.cut(after: 1_000, then: how == "reset" ? .reset : .close)
        } _: { rig in
            let kind = await rig.start().nessError()?.kind.rawValue
            #expect(["truncated", "connectionLost", "malformedResponse"].contains(kind ?? ""))
            #expect(rig.folder.entries.isEmpty)
        }
    }

    // MARK: destinations

    @Test("a destination without write access is a typed error, before anything is sent")
    func destinations() async throws {
        try await withDownloads { _, _ in
            .text("x")
        } _: { rig in
            let builder = rig.ness.httpRequest(withUrl: "a")
            let missing = rig.folder.appendingPathComponent("missing/a.bin")
            let below = rig.folder.appendingPathComponent("plain/a.bin")
            let pipe = rig.folder.appendingPathComponent("pipe")
            #expect(mkfifo(pipe.path, 0o600) == 0)
            try Data("before".utf8).write(to: rig.folder.appendingPathComponent("plain"))
            for place in [rig.folder, missing, below, pipe, URL(fileURLWithPath: "/"), try url("https://example.com/a"), try url("a.bin")] {
                let error = await builder.downloadRequest(forSavedLocation: place).nessError()
                #expect(error?.kind == .fileSystem, "\(place)")
                #expect(error.map { !"\($0)".contains(rig.folder.path) } == true)
            }
            for place in [missing, below, try url("https://example.com/a")] {
                #expect(await builder.downloadRequest(intoFolder: place).nessError()?.kind == .fileSystem, "\(place)")
            }
            #expect(rig.server.requestCount == 0 && rig.folder.entries == ["pipe", "plain"])
        }
    }

    @Test("no permission is a typed error", .enabled(if: FileManager.default.fileExists(atPath: "/proc/self")))
    func noPermission() async throws {
        try await withDownloads { _, _ in
            .text("x")
        } _: { rig in
            // Nobody can create files there, not even root.
            for place in [URL(fileURLWithPath: "/proc/a.bin"), URL(fileURLWithPath: "/proc/self/a.bin")] {
                #expect(await rig.ness.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: place).nessError()?.kind == .fileSystem)
            }
            let into = rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: URL(fileURLWithPath: "/proc/self"))
            #expect(await into.nessError()?.kind == .fileSystem)
            #expect(rig.server.requestCount == 0)
        }
    }

    @Test(
        "links and pipes in the place of the partial file are not followed",
        arguments: [
            "link", "pipe", "folder", "record is a link", "record is a pipe", "record's next is a link", "record's next is a hard link",
            "record's next is a pipe",
        ])
    func notRegular(what: String) async throws {
        try await withDownloads { _, _ in
            .text("x", headers: ["ETag": "\"v1\""])
        } _: { rig in
            let other = rig.folder.appendingPathComponent("other")
            try Data("precious".utf8).write(to: other)
            switch what {
            case "link": try FileManager.default.createSymbolicLink(at: rig.partial, withDestinationURL: other)
            case "pipe": #expect(mkfifo(rig.partial.path, 0o644) == 0)
            case "folder": try FileManager.default.createDirectory(at: rig.partial, withIntermediateDirectories: false)
            default:
                try Data("x".utf8).write(to: rig.partial)
                let place = what.hasPrefix("record's next") ? rig.sidecar.appendingPathExtension("new") : rig.sidecar
                if what.hasSuffix("pipe") {
                    #expect(mkfifo(place.path, 0o644) == 0)
                } else if what.hasSuffix("hard link") {
                    try FileManager.default.linkItem(at: other, to: place)
                } else {
                    try FileManager.default.createSymbolicLink(at: place, withDestinationURL: other)
                }
            }
            if what.hasPrefix("record") {
                _ = try await rig.start().value
                #expect(rig.folder.entries == ["a.bin", "other"])
            } else {
                #expect(await rig.start().nessError()?.kind == .fileSystem)
                #expect(rig.server.requestCount == 0)
            }
            #expect(try Data(contentsOf: other) == Data("precious".utf8))
        }
    }

    @Test("if the destination becomes a folder meanwhile, the received bytes are kept")
    func becomesFolder() async throws {
        let server = FileServer(content: Self.content), gate = TestGate()
        try await withDownloads { number, request in
            if number == 1 { await gate.wait() }
            return server.reply(to: request)
        } _: { rig in
            let promise = rig.start()
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            try FileManager.default.createDirectory(at: rig.file, withIntermediateDirectories: false)
            gate.open()
            #expect(await promise.nessError()?.kind == .fileSystem)
            try FileManager.default.removeItem(at: rig.file)
            _ = try await rig.start().value
            #expect(rig.ranges == [nil, "bytes=299999-299999"])
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
        }
    }

    @Test("a file name of the greatest possible length works")
    func longName() async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { number, request in
            number == 1 ? server.reply(to: request).cut(after: 1_000) : server.reply(to: request)
        } _: { rig in
            let file = rig.folder.appendingPathComponent(String(repeating: "n", count: 255))
            let builder = rig.ness.httpRequest(withUrl: "a")
            #expect(await builder.downloadRequest(forSavedLocation: file).nessError()?.kind == .truncated)
            _ = try await builder.downloadRequest(forSavedLocation: file).value
            #expect(rig.ranges.last == "bytes=1000-299999" && rig.folder.entries == [file.lastPathComponent])
        }
    }

    @Test("a body that is cut off under another transfer coding is an error and does not replace a file", arguments: ["identity", "gzip"])
    func cutUnderTransferCoding(coding: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: \(coding)\r\nContent-Length: 1000\r\n\r\n"
        try await withDownloads { _, _ in
            .script([.send(head), .sendData(Data(repeating: 66, count: 400)), .close])
        } _: { rig in
            try Data("old".utf8).write(to: rig.file)
            for kind in [await rig.start().nessError()?.kind, await rig.ness.get("a").dataRequest().nessError()?.kind] {
                #expect(kind == (coding == "identity" ? .truncated : .malformedResponse))
            }
            #expect(rig.saved == Data("old".utf8))
        }
    }
}
