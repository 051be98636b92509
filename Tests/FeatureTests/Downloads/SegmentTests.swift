import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Downloads in parts side by side.
@Suite(.inTurn(.withoutSockets)) struct SegmentTests {
    private static let content = patternedData(400_000)
    private static let server = FileServer(content: content)

    @Test("the given number of segments is fetched concurrently, after the first byte", arguments: [2, 4, 6])
    func sideBySide(segments: Int) async throws {
        let tally = Tally(), gate = TestGate()
        try await withDownloads(of: Self.server) { request, reply in
            if request.number > 1 {
                tally.enter()
                await gate.wait()
                tally.leave()
            }
            return reply
        } _: { rig in
            let promise = rig.start(segments: segments)
            await tally.wait(for: segments)
            #expect(tally.now == segments)
            gate.open()
            let result = try await promise.value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            #expect(tally.most == segments && rig.server.requestCount == segments + 1)
            #expect(rig.server.requests.dropFirst().allSatisfy { $0.headers["if-range"] == "\"v1\"" })
            #expect(result.message.statusCode == 200 && result.message.headers["content-length"] == "400000")
            #expect(promise.progress == TransferProgress(completedBytes: 400_000, totalBytes: 400_000))
        }
    }

    @Test("each segment is an exchange, for metrics and observers, and the host's limit applies to it")
    func exchanges() async throws {
        let collector = MetricsTests.Collector(), recorder = ObserverTests.Recorder(), tally = Tally()
        try await withDownloads(of: Self.server) {
            tally.enter()
            defer { tally.leave() }
            return $1
        } configure: {
            $0.observers = [recorder, collector]
            $0.maximumConnectionsPerHost = 2
        } _: { rig in
            _ = try await rig.start(segments: 4).value
            #expect(collector.log.entries.last?.exchanges == 5 && collector.log.entries.last?.attempts == 1)
            #expect(recorder.events.count { $0 == "exchange" } == 5 && recorder.events.count { $0 == "head" } == 5)
            #expect(rig.saved == Self.content && tally.most <= 2)
        }
    }

    @Test(
        "a file of any length is complete, even with fewer bytes than segments, and an invalid number of segments is corrected",
        arguments: [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (9, 4)] + [-1, 0, 1, 1_000_000].map { (400_000, $0) })
    func lengths(count: Int, segments: Int) async throws {
        try await withDownloads(of: FileServer(content: Self.content.prefix(count))) { rig in
            _ = try await rig.start(segments: segments).value
            #expect(rig.saved == Self.content.prefix(count) && rig.folder.entries == ["a.bin"] && rig.server.requestCount <= 65)
        }
    }

    @Test("without a number of segments, the file is fetched with one request", arguments: 0..<3)
    func oneByDefault(way: Int) async throws {
        try await withDownloads(of: Self.server) { rig in
            let request = rig.ness.get("a")
            switch way {
            case 0: _ = try await request.downloadRequest(forSavedLocation: rig.file).value
            case 1: _ = try await request.downloadRequest(intoFolder: rig.folder).value
            default: _ = try await request.downloadRequestIfChanged(forSavedLocation: rig.file).value
            }
            #expect(rig.ranges == [nil])
        }
    }

    @Test(
        "from a server without ranges, validator or length, or with a wrong first part, the whole file is fetched",
        arguments: [
            "no ranges", "no ranges, in chunks", "no validator", "no size", "too large a size", "beyond the end", "longer than it says",
        ])
    func whole(fault: String) async throws {
        let knowsRanges = !fault.hasPrefix("no ranges")
        let server = FileServer(content: Self.content, tag: fault == "no validator" ? nil : "\"v1\"", knowsRanges: knowsRanges)
        try await withDownloads(of: server) { request, reply in
            if fault == "no ranges, in chunks" { return reply.inChunks() }
            guard request.headers["range"] != nil else { return reply }
            switch fault {
            case "no size":
                return .data(Self.content.prefix(1), status: 206, headers: ["Content-Range": "bytes 0-0/*", "ETag": "\"v1\""])
            case "too large a size":
                let headers: HTTPHeaders = ["Content-Range": "bytes 0-0/99999999999999999999", "ETag": "\"v1\""]
                return .data(Self.content.prefix(1), status: 206, headers: headers)
            case "beyond the end": return .chunked([], status: 206, headers: ["Content-Range": "bytes 0-0/0", "ETag": "\"v1\""])
            case "longer than it says":
                return .chunked([Self.content], status: 206, headers: ["Content-Range": "bytes 0-0/400000", "ETag": "\"v1\""])
            default: return reply
            }
        } _: { rig in
            _ = try await rig.start(segments: 4).value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            #expect(rig.ranges == (knowsRanges ? ["bytes=0-0", nil] : ["bytes=0-0"]))
        }
    }

    @Test("a part that fails ends the others; a retry fetches only what is missing, in each part")
    func retry() async throws {
        let stalled = Tally()
        try await withDownloads(of: Self.server) { request, reply in
            guard (2...5).contains(request.number) else { return reply }
            // One part comes whole, two stop in the middle, the last one breaks when they have.
            switch request.headers["range"] {
            case "bytes=1-99999": return reply
            case "bytes=300000-399999":
                await stalled.wait(for: 2)
                return reply.cut(after: 10_000)
            default:
                stalled.enter()
                return reply.cut(after: 50_000, then: .stall)
            }
        } _: { rig in
            let promise = rig.start(segments: 4, with: CounterRetryControl(maxRetryCount: 1))
            _ = try await promise.value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            let again = rig.server.requests.dropFirst(5).compactMap { $0.headers["range"] }
            #expect(again.count <= 4 && again.contains("bytes=310000-399999"))
            #expect(again.allSatisfy { $0.hasSuffix("99999") })
        }
    }

    @Test(
        "a pause keeps the bytes of every part; a resume, or another download, fetches the rest with the given number of segments",
        arguments: [0, 1, 2, 4])
    func pause(segments: Int) async throws {
        let tally = Tally()
        try await withDownloads(of: Self.server) { request, reply in
            if (2...5).contains(request.number) { return reply.cut(after: 50_000, then: .stall) }
            tally.enter()
            defer { tally.leave() }
            return reply
        } _: { rig in
            let promise = rig.start(segments: 4)
            await rig.wait(for: 200_001, of: promise)
            promise.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            if segments == 0 {
                promise.resume()
                _ = try await promise.value
            } else {
                promise.drop()
                _ = try await rig.start(segments: segments).value
                #expect(tally.most <= segments)
            }
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            #expect(
                Set(rig.ranges.suffix(4)) == ["bytes=50001-99999", "bytes=150000-199999", "bytes=250000-299999", "bytes=350000-399999"])
        }
    }

    @Test("a file that changes between two parts is fetched from the start, and versions never mix", arguments: ["206", "200"])
    func changes(status: String) async throws {
        let new = FileServer(content: patternedData(400_000, seed: 9), tag: "\"v2\"")
        try await withDownloads(of: Self.server) { request, reply in
            guard request.number >= 4 else { return reply }
            var request = request
            // One that takes no notice of If-Range.
            if status == "206" { request.headers["if-range"] = nil }
            return new.reply(to: request)
        } _: { rig in
            _ = try await rig.start(segments: 4).value
            #expect(rig.saved == new.content && rig.folder.entries == ["a.bin"])
            // The new version is fetched in parts, unless the server has ignored a range.
            if status == "206" { #expect(rig.ranges.count { $0 == "bytes=0-0" } == 2) }
        }
    }

    @Test("a rejected segment's status is the download's result; the other segments end, and received bytes are kept")
    func status() async throws {
        // Not by the number of the request: the refusal may come before every part was asked for.
        let isRefusing = Lock(true)
        try await withDownloads(of: Self.server) { request, reply in
            if request.number == 1 || !isRefusing.withLock({ $0 }) { return reply }
            return request.headers["range"] == "bytes=300000-399999" ? .text("no", status: 403) : reply.cut(after: 50_000, then: .stall)
        } _: { rig in
            let error = await rig.start(segments: 4).nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == 403)
            #expect(rig.folder.entries == ["a.bin.ness-part", "a.bin.ness-part.json"])
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            isRefusing.withLock { $0 = false }
            _ = try await rig.start(segments: 4).value
            #expect(rig.saved == Self.content)
        }
    }

    @Test("progress covers the whole file and never decreases, regardless of which segment advances")
    func progress() async throws {
        try await withDownloads(of: Self.server, { $0.number == 3 ? $1.cut(after: 5_000) : $1 }) { rig in
            let seen = Log<TransferProgress>()
            let promise = rig.start(segments: 4, with: CounterRetryControl(maxRetryCount: 1)).onProgress { seen.add($0) }
            _ = try await promise.value
            for await _ in promise.progressUpdates {}
            let counts = seen.entries.map(\.completedBytes)
            #expect(counts == counts.sorted() && counts.last == 400_000)
            #expect(seen.entries.allSatisfy { $0.totalBytes == nil || $0.totalBytes == 400_000 })
        }
    }

    @Test("a loader that sends a range twice does not add its bytes twice", arguments: [1, 2])
    func twice(segments: Int) async throws {
        let sent = Tally()
        try await withDownloads(
            of: Self.server, configure: { $0.insert(.followUp(atMost: 1) { _ in sent.enter() == 0 ? .retry : .accept }, at: .exchange) }
        ) { rig in
            _ = try await rig.start(segments: segments).value
            #expect(rig.saved == Self.content)
        }
    }

    @Test("a loader that changes the status of every part does not end the download after the first one")
    func otherStatus() async throws {
        try await withDownloads(of: Self.server, configure: { $0.insert(.modifyResponse { $0.statusCode = 200 }, at: .exchange) }) { rig in
            _ = try await rig.start(segments: 2).value
            #expect(rig.saved == Self.content)
        }
    }

    @Test("a range that a loader repeats after an error leaves a partial file that a later run completes correctly")
    func repeatedAfterError() async throws {
        let repeats = ClosureLoader { request, next in
            do { return try await next(request) } catch { return try await next(request) }
        }
        try await withDownloads(of: Self.server) {
            $0.number <= 3 ? $1.cut(after: 100_000) : $1
        } configure: {
            $0.insert(repeats, at: .exchange)
        } _: { rig in
            _ = try? await rig.start().value
            _ = try await rig.start().value
            #expect(rig.saved == Self.content)
        }
    }
}
