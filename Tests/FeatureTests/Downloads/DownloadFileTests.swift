import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Downloads and the disk: torn and damaged files, destinations that cannot be written, and files that must not remain.
@Suite(.inTurn(.withoutSockets)) struct DownloadFileTests {
    private static let content = patternedData(300_000)
    private static let server = FileServer(content: content)

    /// Runs a download that is cut after 50,000 bytes, damages the partial file or its record, and runs a second download.
    /// - Parameter ranges: The ranges that both request; `nil` for any.
    private func damaged(segments: Int = 1, ranges: [String?]? = [nil, nil], _ damage: (DownloadRig) throws -> Void) async throws {
        try await withDownloads(of: Self.server, { $0.number == (segments > 1 ? 2 : 1) ? $1.cut(after: 50_000) : $1 }) { rig in
            #expect(await rig.start(segments: segments).nessError()?.kind == .truncated)
            try damage(rig)
            _ = try await rig.start(segments: segments).value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            if let ranges { #expect(rig.ranges == ranges) }
            #expect(rig.server.requests.allSatisfy { !$0.headers.contains("X-Injected") })
        }
    }

    @Test("bytes beyond the record's count may be torn, so they are cut off")
    func tornTail() async throws {
        try await damaged(ranges: [nil, "bytes=50000-299999"]) { rig in
            let kept = try Data(contentsOf: rig.partial)
            #expect(kept.count == 50_000)
            try (kept + Data(repeating: 0, count: 7_000)).write(to: rig.partial)
        }
    }

    @Test(
        "bytes without a record, and a record without its bytes or with too few, count as nothing",
        arguments: ["record", "bytes", "bytes emptied", "one byte"])
    func halves(lost: String) async throws {
        try await damaged { rig in
            switch lost {
            case "record": try FileManager.default.removeItem(at: rig.sidecar)
            case "bytes": try FileManager.default.removeItem(at: rig.partial)
            case "one byte": try Data(contentsOf: rig.partial).dropLast(1).write(to: rig.partial)
            default: try Data().write(to: rig.partial)
            }
        }
    }

    @Test(
        "an invalid record is not trusted",
        arguments: [
            "", "{", "null", "[]", "{}", "7", "\u{0}\u{0}\u{0}\u{0}", "{\"version\":1}", String(repeating: "[", count: 100_000),
            String(repeating: "x", count: 2 << 20),
        ])
    func garbage(text: String) async throws { try await damaged { try Data(text.utf8).write(to: $0.sidecar) } }

    private static let end = 300_000

    /// Changes to a valid record.
    private static let contradictions: [String: @Sendable (inout [String: Any]) -> Void] = [
        "version 2": { $0["version"] = 2 },
        "version 0": { $0["version"] = 0 },
        "source": { $0["source"] = "other" },
        "no validator": { $0["validator"] = nil },
        "weak validator": { $0["validator"] = "W/\"v1\"" },
        "validator that injects": { $0["validator"] = "\"v1\r\nX-Injected: yes\"" },
        "no spans": { $0["spans"] = [Any]() },
        "negative count": spans([(0, end, -1)]),
        "negative start": spans([(-5, end, 10)]),
        "late start": spans([(5, end, 10)]),
        "count beyond the end": spans([(0, 10, 20)], total: 10),
        "huge count": spans([(0, .max, .max)], total: .max),
        "overflow": spans([(0, .max, 0), (.max, .max, 1)], total: .max),
        "end before start": spans([(0, -1, 0)], total: -1),
        "other total": { $0["total"] = 300_001 },
        "huge end": spans([(0, .max - 1, 50_000)], total: .max),
        "number with a fraction": { $0["spans"] = [["start": 0, "end": end, "count": 0.5]] },
        "beyond any number": { $0["spans"] = [["start": 0, "end": end, "count": 1e300]] },
        "gap": spans([(0, 10, 10), (11, end, 10)]),
        "overlap": spans([(0, 10, 10), (9, end, 10)]),
        "open in the middle": spans([(0, nil, 10), (10, end, 10)]),
        "count without bytes": spans([(0, 40_000, 1), (40_000, end, 10_001)]),
        "negative total": spans([(0, -10, 5)], total: -10),
        "nothing yet": spans([(0, end, 0)]),
        "too many spans": spans((0..<2_000).map { ($0, $0 < 1_999 ? $0 + 1 : end, 1) }),
    ]

    /// Returns a change to the spans of a record: the start, the end and the count of each.
    private static func spans(_ spans: [(Int, Int?, Int)], total: Int = end) -> @Sendable (inout [String: Any]) -> Void {
        {
            $0["spans"] = spans.map { start, end, count in ["start": start, "end": end, "count": count].compactMapValues(\.self) }
            $0["total"] = total
        }
    }

    @Test("a record that contradicts itself or the file is not trusted, and never traps", arguments: contradictions.keys.sorted())
    func contradiction(_ fault: String) async throws {
        let change = try #require(Self.contradictions[fault])
        try await damaged { try $0.editRecord(change) }
    }

    @Test("a record with a length that the server does not know leads to a fresh start", arguments: [Int.max, 300_001, 60_000])
    func plausibleButWrong(total: Int) async throws {
        try await damaged(ranges: [nil, "bytes=50000-\(total - 1)", nil]) {
            try $0.editRecord(Self.spans([(0, total, 50_000)], total: total))
        }
    }

    @Test("a partial file longer than the whole is cut")
    func longerThanTheWhole() async throws {
        try await damaged(segments: 3, ranges: nil) { rig in
            let handle = try FileHandle(forWritingTo: rig.partial)
            try handle.truncate(atOffset: 400_000)
            try handle.close()
        }
    }

    @Test("a partial file of another URL, or of another representation, is not continued", arguments: ["url", "query", "language"])
    func otherSource(what: String) async throws {
        try await withDownloads(of: Self.server, { $0.number == 1 ? $1.cut(after: 50_000) : $1 }) { rig in
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

    @Test(
        "a body that ends too early is not saved, whether the connection closes, is reset or misses a chunk",
        arguments: ["close", "reset", "chunk"])
    func truncated(how: String) async throws {
        try await withDownloads(of: FileServer(content: Self.content, tag: nil)) {
            how == "chunk" ? $1.inChunks(cutAfter: 1_000) : $1.cut(after: 1_000, then: how == "reset" ? .reset : .close)
        } _: { rig in
            let kind = await rig.start().nessError()?.kind.rawValue
            #expect(["truncated", "connectionLost", "malformedResponse"].contains(kind ?? ""))
            #expect(rig.folder.entries.isEmpty)
        }
    }

    // MARK: destinations

    @Test("a destination without write access is a typed error, before anything is sent")
    func destinations() async throws {
        try await withDownloads(of: Self.server) { rig in
            let builder = rig.ness.httpRequest(withUrl: "a")
            let missing = rig.folder.appendingPathComponent("missing/a.bin")
            let below = rig.folder.appendingPathComponent("plain/a.bin")
            let pipe = rig.folder.appendingPathComponent("pipe")
            #expect(mkfifo(pipe.path, 0o600) == 0)
            try Data("before".utf8).write(to: rig.folder.appendingPathComponent("plain"))
            var places = [rig.folder, missing, below, pipe, URL(fileURLWithPath: "/"), try url("https://example.com/a"), try url("a.bin")]
            var folders = [missing, below, try url("https://example.com/a")]
            if FileManager.default.fileExists(atPath: "/proc/self") {
                // Nobody can create files there, not even root.
                places += [URL(fileURLWithPath: "/proc/a.bin"), URL(fileURLWithPath: "/proc/self/a.bin")]
                folders.append(URL(fileURLWithPath: "/proc/self"))
            }
            for place in places {
                let error = await builder.downloadRequest(forSavedLocation: place).nessError()
                #expect(error?.kind == .fileSystem, "\(place)")
                #expect(error.map { !"\($0)".contains(rig.folder.path) } == true)
            }
            for place in folders {
                #expect(await builder.downloadRequest(intoFolder: place).nessError()?.kind == .fileSystem, "\(place)")
            }
            #expect(rig.server.requestCount == 0 && rig.folder.entries == ["pipe", "plain"])
        }
    }

    @Test(
        "links and pipes in the place of the partial file, or of its record, are not followed",
        arguments: [
            ("link", ""), ("pipe", ""), ("folder", ""), ("hard link", ""), ("link", ".json"), ("pipe", ".json"), ("link", ".json.new"),
            ("hard link", ".json.new"), ("pipe", ".json.new"),
        ])
    func notRegular(kind: String, ending: String) async throws {
        try await withDownloads { _, _ in
            .text("x", headers: ["ETag": "\"v1\""])
        } _: { rig in
            let other = rig.folder.appendingPathComponent("other"), place = URL(filePath: rig.partial.path + ending)
            try Data("precious".utf8).write(to: other)
            if !ending.isEmpty { try Data("x".utf8).write(to: rig.partial) }
            switch kind {
            case "link": try FileManager.default.createSymbolicLink(at: place, withDestinationURL: other)
            case "pipe": #expect(mkfifo(place.path, 0o644) == 0)
            case "folder": try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
            default: try FileManager.default.linkItem(at: other, to: place)
            }
            if ending.isEmpty, kind != "hard link" {
                #expect(await rig.start().nessError()?.kind == .fileSystem)
                #expect(rig.server.requestCount == 0)
            } else {
                _ = try await rig.start().value
                #expect(rig.folder.entries == ["a.bin", "other"])
            }
            #expect(try Data(contentsOf: other) == Data("precious".utf8))
        }
    }

    @Test("an unfinished record that a killed run left is removed, even by a download that writes no record")
    func unfinishedRecord() async throws {
        // Without a validator, no run can resume the file.
        try await withDownloads { _, _ in
            .text("x")
        } _: { rig in
            try Data("{".utf8).write(to: URL(filePath: rig.sidecar.path + ".new"))
            _ = try await rig.start().value
            #expect(rig.folder.entries == ["a.bin"])
        }
    }

    @Test("if the destination becomes a folder meanwhile, the received bytes are kept")
    func becomesFolder() async throws {
        let gate = TestGate()
        try await withDownloads(of: Self.server) {
            if $0.number == 1 { await gate.wait() }
            return $1
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

    @Test("a HEAD never replaces a file by nothing, even if a redirect decision sends it", arguments: [true, false])
    func head(isDecided: Bool) async throws {
        try await withDownloads(of: Self.server, { isDecided ? .status(302, headers: ["Location": "/\($0.number)"]) : $1 }) { rig in
            try Data("old".utf8).write(to: rig.file)
            let builder = isDecided ? rig.ness.get("a") : rig.ness.head("a")
            let promise = builder.set(redirects: .decide { .send(HTTPRequest(.head, url: $0.request.url)) })
                .downloadRequest(forSavedLocation: rig.file)
            #expect(await promise.nessError()?.kind == .invalidRequest)
            #expect(rig.saved == Data("old".utf8) && rig.server.requestCount == (isDecided ? 1 : 0))
        }
    }

    @Test("a file name of the greatest possible length works")
    func longName() async throws {
        try await withDownloads(of: Self.server, { $0.number == 1 ? $1.cut(after: 1_000) : $1 }) { rig in
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
