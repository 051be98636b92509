#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Downloads that wait in a queue.
@Suite(.inTurn) struct DownloadQueueTests {
    private static let content = patternedData(100_000)

    /// Runs a test with a rig that sends one request at a time. The server cuts off `/cut`, opens the first gate at any other request, and
    /// then waits for the second gate.
    private func withQueue(_ arrived: TestGate, _ go: TestGate, _ body: (DownloadRig) async throws -> Void) async throws {
        try await withDownloads(of: FileServer(content: Self.content)) { request, reply in
            if request.path == "/cut" { return reply.cut(after: 60_000) }
            arrived.open()
            await go.wait()
            return reply
        } configure: {
            $0.maximumConnectionsPerHost = 1
        } _: { rig in
            try await body(rig)
        }
    }

    /// The files below a folder that this process has open.
    private func openFiles(_ folder: URL) throws -> [String] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let files = descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        return files.filter { $0.hasPrefix(folder.resolvingSymlinksInPath().path) }
    }

    @Test("downloads that wait have no open file, whether they are new or resume, and each becomes whole", arguments: [1, 4])
    func noOpenFiles(segments: Int) async throws {
        let go = TestGate(), arrived = TestGate(), count = 40
        try await withQueue(arrived, go) { rig in
            let ness = rig.ness, folder = rig.folder.resolvingSymlinksInPath()
            func download(_ name: String) -> DownloadPromise {
                ness.get(name).downloadRequest(forSavedLocation: folder.appending(path: name), segments: segments)
            }
            let resumed = folder.appending(path: "resumed")
            _ = try? await ness.get("cut").downloadRequest(forSavedLocation: resumed, identifiedBy: "r").value
            let first = download("first")
            await arrived.wait()
            var promises = (0..<count).map { download("\($0)") }
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
                #expect(try Data(contentsOf: file) == Self.content)
            }
            #expect(Set(folder.entries) == Set(["first", "resumed"] + (1..<count).map { "\($0)" }))
            let ranges = rig.server.requests.filter { $0.path == "/resumed" }.map { $0.headers["Range"] }
            #expect(ranges == ["bytes=60000-99999"])
        }
    }

    @Test("a download that has just started has no file on the disk until its first request leaves the queues")
    func notYetOpen() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.bin.ness-part")
            let file = try await PartialFile.open(path: place.path, source: "s", elapsed: { .zero })
            let open = try openFiles(folder)
            #expect(open.isEmpty && folder.entries.isEmpty)
            try await file.open()
            #expect(folder.entries == ["a.bin.ness-part"])
            await file.close()
        }
    }

    @Test("a partial file that another program changed during the wait is not continued")
    func changedMeanwhile() async throws {
        let go = TestGate(), arrived = TestGate()
        try await withQueue(arrived, go) { rig in
            func download(_ path: String) -> DownloadPromise {
                rig.ness.get(path).downloadRequest(forSavedLocation: rig.file, identifiedBy: "a")
            }
            _ = try? await download("cut").value
            #expect(try Data(contentsOf: rig.partial).count == 60_000)
            let first = rig.ness.get("first").dataRequest()
            await arrived.wait()
            let promise = download("a")
            try await rig.ness.waitForRequests(1, at: .hostQueue)
            try Data("other".utf8).write(to: rig.partial)
            go.open()
            _ = try await first.value
            #expect(await promise.nessError()?.kind == .fileSystem)
            #expect(try Data(contentsOf: rig.partial) == Data("other".utf8))
        }
    }
}
#endif
