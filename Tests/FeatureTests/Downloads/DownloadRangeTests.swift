import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Ranges as servers answer them, well and badly (RFC 9110, 13 and 14).
@Suite(.inTurn(.withoutSockets)) struct DownloadRangeTests {
    private static let content = patternedData(300_000)
    private static let server = FileServer(content: content)
    private static let changed = patternedData(250_000, seed: 2)
    private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let new = "Mon, 07 Nov 1994 08:49:37 GMT"

    /// Runs a download that is cut after 100,000 bytes, and a second one from another server, whose replies may be changed.
    private func afterCut(
        of first: FileServer = server, then second: FileServer = server, segments: Int = 1,
        _ change: @escaping @Sendable (ReceivedRequest, Reply) -> Reply = { $1 }, _ body: (DownloadRig) async throws -> Void
    ) async throws {
        try await withDownloads { number, request in
            number == 1 ? first.reply(to: request).cut(after: 100_000) : change(request, second.reply(to: request))
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .truncated)
            _ = try await rig.start(segments: segments).value
            try await body(rig)
            #expect(rig.folder.entries == ["a.bin"])
        }
    }

    @Test(
        "a download continues where another ended, from the last byte on the disk, even if the server does not repeat the length",
        arguments: [true, false])
    func goesOn(repeatsLength: Bool) async throws {
        let part = Reply.data(
            Self.content.dropFirst(100_000), status: 206, headers: ["ETag": "\"v1\"", "Content-Range": "bytes 100000-299999/*"])
        try await afterCut {
            repeatsLength ? $1 : part
        } _: { rig in
            #expect(rig.saved == Self.content)
            #expect(rig.ranges == [nil, "bytes=100000-299999"])
            #expect(rig.server.requests.last?.headers["if-range"] == "\"v1\"")
            #expect(rig.server.requests.allSatisfy { $0.headers["accept-encoding"] == "identity" })
        }
    }

    @Test("a file with an identifier is resumed under another URL, as signed URLs are; another identifier starts over")
    func identifier() async throws {
        try await withDownloads(of: Self.server, { $0.number <= 2 ? $1.cut(after: 100_000) : $1 }) { rig in
            func download(_ signature: String, _ identifier: String) -> DownloadPromise {
                rig.start("a?signature=\(signature)", identifiedBy: identifier)
            }
            #expect(await download("1", "films/1").nessError()?.kind == .truncated)
            #expect(await download("2", "films/2").nessError()?.kind == .truncated)
            _ = try await download("3", "films/2").value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            #expect(rig.ranges == [nil, nil, "bytes=100000-299999"])
        }
    }

    @Test("a date that is old enough is a validator, alone and beside a weak tag", arguments: [nil, "W/\"v1\""])
    func date(tag: String?) async throws {
        let server = FileServer(content: Self.content, tag: tag, headers: ["Last-Modified": Self.old, "Date": Self.new])
        try await afterCut(of: server, then: server) { rig in
            #expect(rig.saved == Self.content)
            #expect(rig.ranges == [nil, "bytes=100000-299999"])
            #expect(rig.server.requests.last?.headers["if-range"] == Self.old)
        }
    }

    @Test(
        "without a strong validator no bytes are kept, and the download starts over",
        arguments: [
            (nil, [:]), ("W/\"v1\"", [:]), (nil, ["Last-Modified": old]), (nil, ["Last-Modified": old, "Date": old]),
            ("\"a\"b\"", [:]), ("v1", [:]),
        ] as [(String?, HTTPHeaders)])
    func noValidator(tag: String?, headers: HTTPHeaders) async throws {
        let server = FileServer(content: Self.content, tag: tag, headers: headers)
        try await withDownloads { number, request in
            number == 1 ? server.reply(to: request).cut(after: 100_000) : server.reply(to: request)
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .truncated)
            #expect(rig.folder.entries.isEmpty)
            _ = try await rig.start().value
            #expect(rig.ranges == [nil, nil])
            #expect(rig.saved == Self.content)
        }
    }

    @Test("a server without ranges sends everything again, with 200 instead of 206")
    func noRanges() async throws {
        try await afterCut(then: FileServer(content: Self.content, knowsRanges: false)) { rig in
            #expect(rig.saved == Self.content)
            #expect(rig.server.requestCount == 2)
        }
    }

    @Test("a changed file is fetched from the start, longer or shorter", arguments: [1, 2], [250_000, 10])
    func hasChanged(segments: Int, count: Int) async throws {
        let server = FileServer(content: Self.changed.prefix(count), tag: "\"v2\"")
        try await afterCut(then: server, segments: segments) { #expect($0.saved == server.content) }
    }

    /// Answers of servers that ignore If-Range or are wrong otherwise. The download starts over, and never mixes two versions.
    @Test(
        "a 206 that does not match the request is not used",
        arguments: [
            "other tag", "weak tag", "other start", "other total", "backwards", "beyond the end", "no Content-Range", "other unit",
            "several", "too long", "too short", "byteranges", "longer than it says", "no bytes",
            "bytes 100000-299999", "bytes 100000-299999/300000/", "bytes 100000--299999/300000",
        ])
    func wrongPart(_ fault: String) async throws {
        try await afterCut(then: FileServer(content: Self.changed, tag: "\"v2\"")) { request, reply in
            guard request.number == 2 else { return reply }
            let rest = Self.changed.dropFirst(100_000)
            var headers: HTTPHeaders = ["ETag": "\"v1\"", "Content-Range": "bytes 100000-299999/300000"]
            switch fault {
            case "other tag": headers["ETag"] = "\"v2\""
            case "weak tag": headers["ETag"] = "W/\"v1\""
            case "other start": headers["Content-Range"] = "bytes 99999-299999/300000"
            case "other total": headers["Content-Range"] = "bytes 100000-249999/250000"
            case "backwards": headers["Content-Range"] = "bytes 299999-100000/300000"
            case "beyond the end": headers["Content-Range"] = "bytes 100000-300000/300001"
            case "no Content-Range": headers["Content-Range"] = nil
            case "other unit": headers["Content-Range"] = "pages 100000-299999/300000"
            case "several": headers.add("bytes 100000-299999/300000", for: "Content-Range")
            case "byteranges": headers["Content-Type"] = "multipart/byteranges; boundary=x"
            case "longer than it says":
                headers["Content-Range"] = "bytes 100000-100999/300000"
                return .chunked([rest], status: 206, headers: headers)
            case _ where fault.hasPrefix("bytes "): headers["Content-Range"] = fault
            case "no bytes": return .chunked([], status: 206, headers: headers)
            case "too short": return .data(rest.prefix(10), status: 206, headers: headers)
            default: return .data(rest + Self.changed, status: 206, headers: headers)
            }
            return .data(Self.changed.prefix(200_000), status: 206, headers: headers)
        } _: { rig in
            #expect(rig.saved == Self.changed)
            #expect(rig.ranges == [nil, "bytes=100000-299999", nil])
        }
    }

    @Test("after wrong responses to every range, the whole file is requested; a partial response to that is rejected")
    func alwaysWrong() async throws {
        try await afterCut { request, _ in
            request.headers["range"] == nil
                ? .data(Self.changed) : .data(Self.content, status: 206, headers: ["Content-Range": "bytes 0-299999/300000"])
        } _: { rig in
            #expect(rig.saved == Self.changed)
        }
        try await withDownloads { _, _ in
            .data(Self.content, status: 206, headers: ["Content-Range": "bytes 0-299999/300000", "ETag": "\"v1\""])
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .malformedResponse)
            #expect(rig.server.requestCount == 1)
            #expect(rig.folder.entries.isEmpty)
        }
    }

    @Test("a file that never has the announced length fails after two further requests")
    func alwaysLonger() async throws {
        let ranges = Log<String?>()
        let transport = FakeTransport { request, receive in
            ranges.add(request.headers["Range"])
            try await receive(.head(statusCode: 200, headers: ["Content-Length": "10", "ETag": "\"v1\""]))
            try await receive(.body(Self.content))
        }
        try await withFolder { folder in
            let ness = Ness { $0.transport = transport }
            let promise = ness.get("https://mock.test/a").downloadRequest(forSavedLocation: folder.appendingPathComponent("a.bin"))
            #expect(await promise.nessError()?.kind == .malformedResponse)
            #expect(ranges.entries == [nil, nil, nil])
            #expect(folder.entries.isEmpty)
        }
    }

    @Test("if a server sends less than requested, the rest is requested")
    func shorter() async throws {
        try await afterCut { request, _ in
            var request = request
            let start = Int(request.headers["range"]?.dropFirst(6).prefix { $0 != "-" } ?? "0") ?? 0
            request.headers["range"] = "bytes=\(start)-\(start + 79_999)"
            return Self.server.reply(to: request)
        } _: { rig in
            #expect(rig.saved == Self.content)
            #expect(rig.ranges == [nil, "bytes=100000-299999", "bytes=180000-299999", "bytes=260000-299999"])
        }
    }

    @Test("a 416 means that the partial file is of another version")
    func stale() async throws {
        try await afterCut(then: FileServer(content: Self.changed.prefix(50_000), tag: "\"v2\"")) {
            $0.number == 2 ? .status(416, headers: ["Content-Range": "bytes */50000"]) : $1
        } _: { rig in
            #expect(rig.saved == Self.changed.prefix(50_000))
            #expect(rig.ranges == [nil, "bytes=100000-299999", nil])
        }
    }

    @Test("if only the final name is missing, the last byte is fetched again", arguments: ["same", "changed", "gone"])
    func wholeButUnnamed(what: String) async throws {
        let same = FileServer(content: Self.content), other = FileServer(content: Self.changed, tag: "\"v2\"")
        try await withDownloads { number, request in
            if number == 1 { return same.reply(to: request).cut(after: 100_000) }
            return what == "same" ? same.reply(to: request) : what == "gone" && number == 2 ? .status(410) : other.reply(to: request)
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .truncated)
            try Self.content.write(to: rig.partial)
            try rig.editRecord { $0["spans"] = [["start": 0, "end": 300_000, "count": 300_000]] }
            let promise = rig.start()
            if what == "gone" {
                #expect(await promise.nessError()?.response?.statusCode == 410)
                #expect(rig.folder.entries == ["a.bin.ness-part", "a.bin.ness-part.json"])
                _ = try await rig.start().value
            } else {
                _ = try await promise.value
            }
            #expect(rig.saved == (what == "same" ? Self.content : Self.changed))
            #expect(rig.ranges[1] == "bytes=299999-299999")
            #expect(rig.folder.entries == ["a.bin"])
        }
    }

    @Test("a complete file of one byte that got no name gives way to an empty version") func emptied() async throws {
        try await withDownloads { number, _ in
            .data(Data(number == 1 ? "a".utf8 : "".utf8), headers: ["ETag": "\"v\(number)\""])
        } _: { rig in
            let file = rig.file
            func download(_ choose: @escaping @Sendable () throws -> URL) -> DownloadPromise {
                rig.ness.get("a").downloadRequest(intoFolder: rig.folder) { _ in try choose() }
            }
            #expect(await download { throw CocoaError(.fileNoSuchFile) }.nessError()?.kind == .fileSystem)
            _ = try await download { file }.value
            #expect(rig.saved == Data())
        }
    }

    @Test(
        "without a length a download in chunks continues to the end, for every response",
        arguments: ["rest", "less", "complete", "stale", "no length"])
    func chunked(what: String) async throws {
        let fields: HTTPHeaders = ["Content-Type": "video/mp4"], server = FileServer(content: Self.content, headers: fields)
        let other = FileServer(content: Self.changed, tag: "\"v2\"", headers: fields)
        let count = what == "complete" ? 300_000 : 100_000
        try await withDownloads { number, request in
            if number == 1 { return server.reply(to: request).inChunks(cutAfter: count) }
            if number == 2 {
                var request = request
                switch what {
                case "less": request.headers["range"] = "bytes=100000-150000"
                case "complete": return .text("an error page", status: 416, headers: ["Content-Range": "bytes */300000"])
                case "stale": return .status(416, headers: ["Content-Range": "bytes */250000"])
                case "no length":
                    return .data(Self.content.dropFirst(100_000), status: 206, headers: ["Content-Range": "bytes 100000-299999/*"])
                default: break
                }
                return server.reply(to: request)
            }
            return what == "less" ? server.reply(to: request) : other.reply(to: request)
        } _: { rig in
            let first = rig.start()
            #expect([.truncated, .malformedResponse, .connectionLost].contains(await first.nessError()?.kind))
            #expect(first.progress == TransferProgress(completedBytes: Int64(count), totalBytes: nil))
            let second = rig.start(), result = try await second.value
            #expect(second.progress.totalBytes == second.progress.completedBytes)
            let isOther = what == "stale" || what == "no length"
            #expect(rig.saved == (isOther ? Self.changed : Self.content))
            #expect(result.message.statusCode == 200 && result.message.body.isEmpty)
            #expect(result.message.headers["content-type"] == "video/mp4")
            #expect(rig.ranges == [nil, "bytes=\(count)-"] + (what == "less" ? ["bytes=150001-299999"] : isOther ? [nil] : []))
        }
    }

    @Test("a whole body in chunks, and an empty one, are files", arguments: [0, 1, 100_000])
    func lengths(count: Int) async throws {
        try await withDownloads(of: FileServer(content: Self.content.prefix(count)), { $0.number == 1 ? $1.inChunks() : $1 }) { rig in
            for _ in 1...2 {
                let result = try await rig.start().value
                #expect(result.message.statusCode == 200 && result.message.body.isEmpty)
                #expect(rig.saved == Self.content.prefix(count))
                #expect(rig.folder.entries == ["a.bin"])
            }
        }
    }

    @Test("a retry continues where the last attempt ended")
    func retry() async throws {
        try await withDownloads(of: Self.server, { $0.number <= 3 ? $1.cut(after: 70_000) : $0.number == 4 ? .status(503) : $1 }) { rig in
            let result = try await rig.start(with: CounterRetryControl(maxRetryCount: 5)).value
            #expect(rig.ranges == [nil] + [70_000, 140_000, 210_000, 210_000].map { "bytes=\($0)-299999" })
            #expect(rig.saved == Self.content)
            #expect(result.message.headers["content-length"] == "300000")
            #expect(result.message.headers["content-range"] == nil)
        }
    }

    @Test("an unrequested compressed body is rejected, for the first request and for a range", arguments: ["gzip", "br", "identity, gzip"])
    func compressed(coding: String) async throws {
        let server = FileServer(content: Self.content), packed = FileServer(content: Self.content, headers: ["Content-Encoding": coding])
        try await withDownloads { number, request in
            number == 2 ? server.reply(to: request).cut(after: 1_000) : packed.reply(to: request)
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .malformedResponse)
            #expect(rig.folder.entries.isEmpty)
            #expect(await rig.start().nessError()?.kind == .truncated)
            #expect(await rig.start().nessError()?.kind == .malformedResponse)
            #expect(rig.folder.entries == ["a.bin.ness-part", "a.bin.ness-part.json"])
        }
    }

    @Test(
        "header fields that only the download may set are rejected before anything is sent",
        arguments: ["Range", "if-range", "Accept-Encoding", "If-None-Match", "if-modified-since"])
    func fields(name: String) async throws {
        try await withDownloads(of: Self.server) { rig in
            let request = rig.ness.get("a").set(headers: HTTPHeaders([name: "x"]))
            #expect(await request.downloadRequestIfChanged(forSavedLocation: rig.file).nessError()?.kind == .invalidRequest)
            if !["If-None-Match", "if-modified-since"].contains(name) {
                #expect(await request.downloadRequest(forSavedLocation: rig.file).nessError()?.kind == .invalidRequest)
            }
            #expect(rig.server.requestCount == 0 && rig.folder.entries.isEmpty)
        }
    }

    @Test("only a GET is continued, because ranges are defined for no other method")
    func otherMethods() async throws {
        try await withDownloads(of: Self.server, { $0.number == 1 ? $1.cut(after: 1_000) : $1 }) { rig in
            let builder = rig.ness.httpRequest(.post, withUrl: "a").set(body: Data("{}".utf8))
            let control = CounterRetryControl(maxRetryCount: 2)
            _ = try await builder.set(retry: control).downloadRequest(forSavedLocation: rig.file, segments: 3).value
            #expect(rig.ranges == [nil, nil])
            #expect(rig.server.requests.map(\.bodyText) == ["{}", "{}"])
            #expect(rig.saved == Self.content)
        }
    }
}
