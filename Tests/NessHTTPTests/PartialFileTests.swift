import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// What sockets show only by chance: exchanges that were given up and still speak, file systems that lack something.
@Suite(.inTurn) struct PartialFileTests {
    private func withPartialFile(_ body: (PartialFile, URL) async throws -> Void) async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part")
            try await body(try PartialFile(path: place.path, source: "s"), place)
        }
    }

    private func response(_ status: Int, _ headers: HTTPHeaders) throws -> HTTPResponse {
        HTTPResponse(statusCode: status, headers: headers, request: HTTPRequest(url: try url("https://example.com/a")))
    }

    private func sink(_ file: PartialFile, _ asked: DownloadSink.Asked, beginning: Int? = nil) -> DownloadSink {
        DownloadSink(
            file, beginning: beginning ?? file.present.beginning, span: 0, asked: asked, spanCount: 1, mayKnowRanges: Lock(true))
    }

    @Test("an exchange of before a restart can neither write nor begin, nor can any after the end")
    func stale() async throws {
        try await withPartialFile { file, place in
            let whole = try response(200, ["Content-Length": "10", "ETag": "\"v1\""])
            let early = sink(file, .whole), asleep = sink(file, .part(from: 5, to: 10)), late = sink(file, .whole)
            let probe = sink(file, .part(from: 0, to: 1))
            #expect(try early.begin(whole, judgedBy: []))
            try early.write(Data("01234".utf8))
            try file.restart()
            #expect(throws: CancellationError.self) { try early.write(Data("56789".utf8)) }
            // The head of a part would make the file begin in its middle, or anew.
            #expect(throws: DownloadSink.Mismatch.self) {
                _ = try asleep.begin(try response(206, ["Content-Range": "bytes 5-9/10", "ETag": "\"v1\""]), judgedBy: [])
            }
            #expect(throws: CancellationError.self) {
                _ = try probe.begin(try response(206, ["Content-Range": "bytes 0-0/10", "ETag": "\"v1\""]), judgedBy: [])
            }
            #expect(throws: CancellationError.self) { _ = try late.begin(whole, judgedBy: []) }
            #expect(file.record.count == 0 && file.record.validator == nil)

            let fresh = sink(file, .whole)
            #expect(try fresh.begin(whole, judgedBy: []))
            try fresh.write(Data("abcde".utf8))
            await file.close()
            #expect(throws: CancellationError.self) { try fresh.write(Data("fghij".utf8)) }
            // The head of another answer must not take away the record of whoever is at it now.
            #expect(throws: CancellationError.self) { _ = try fresh.begin(whole, judgedBy: []) }
            #expect(throws: CancellationError.self) { try file.restart() }
            #expect(try Data(contentsOf: place) == Data("abcde".utf8))
            #expect(FileManager.default.fileExists(atPath: place.path + ".json"))
            let again = try PartialFile(path: place.path, source: "s")
            #expect(again.record.count == 5 && again.record.validator == "\"v1\"")
            await again.close()
        }
    }

    @Test("who was dropped while the file was synced gets no file")
    func cancelledFinish() async throws {
        try await withPartialFile { file, place in
            let exchange = sink(file, .whole)
            #expect(try exchange.begin(try response(200, ["Content-Length": "3", "ETag": "\"v1\""]), judgedBy: []))
            try exchange.write(Data("abc".utf8))
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

    @Test("a file system without links gives a free name all the same, and never one that is taken", arguments: [EPERM, ENOTSUP, EIO])
    func withoutLinks(code: Int32) async throws {
        try await withFolder { folder in
            let from = folder.appendingPathComponent("from"), to = folder.appendingPathComponent("to")
            try Data("new".utf8).write(to: from)
            let link: (String, String) -> Int32 = { _, _ in
                errno = code
                return -1
            }
            guard code != EIO else {
                #expect(throws: FileFailure.self) { _ = try OpenFile.renameIfFree(from.path, to: to.path, link: link) }
                return
            }
            try Data("old".utf8).write(to: to)
            #expect(try !OpenFile.renameIfFree(from.path, to: to.path, link: link))
            #expect(try Data(contentsOf: to) == Data("old".utf8))
            try FileManager.default.removeItem(at: to)
            #expect(try OpenFile.renameIfFree(from.path, to: to.path, link: link))
            #expect(try Data(contentsOf: to) == Data("new".utf8) && folder.entries == ["to"])
        }
    }

    @Test("equal downloads that are not merged follow one another; others fail")
    func following() async throws {
        let destinations = DownloadDestinations(), begun = TestGate(), gate = TestGate(), order = Log<Int>()
        let first = Task {
            try await destinations.withSole("p", fetching: "s", for: DownloadLife()) {
                begun.open()
                await gate.wait()
                order.add(1)
            }
        }
        await begun.wait()
        let second = Task { try await destinations.withSole("p", fetching: "s", for: DownloadLife()) { order.add(2) } }
        for other in ["t", nil] {
            await #expect(throws: FileFailure.self) {
                try await destinations.withSole("p", fetching: other, for: DownloadLife()) { order.add(3) }
            }
        }
        gate.open()
        try await first.value
        try await second.value
        #expect(order.entries == [1, 2])
    }

    @Test("cuts cover every byte once", arguments: [0, 1, 2, 63, 64, 65, 1_000, Int64.max])
    func cuts(total: Int64) {
        for number in [-1, 0, 1, 2, 3, 64] {
            let spans = PartialRecord.spans(of: total, cutInto: number)
            #expect(spans.first?.start == 0 && spans.last?.end == total && spans.count <= max(1, number))
            #expect(zip(spans, spans.dropFirst()).allSatisfy { $0.end == $1.start && $0.start < $1.start })
        }
    }
}
