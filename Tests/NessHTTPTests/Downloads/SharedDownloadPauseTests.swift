import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Pauses of a caller who joined the download of another one.
@Suite(.inTurn) struct SharedDownloadPauseTests {
    private static let content = patternedData(300_000)

    @Test("one who joined keeps the partial file while it is paused, although the starter was dropped")
    func keepsFile() async throws {
        let file = FileServer(content: Self.content)
        try await withDownloads { number, request in
            let reply = file.reply(to: request)
            return number == 1 ? reply.cut(after: 100_000, then: .stall) : reply
        } _: { rig in
            let starter = rig.start(), joined = rig.start()
            await rig.wait(for: 100_000, of: joined)
            starter.drop()
            joined.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            let other = rig.ness.httpRequest(withUrl: "other").downloadRequest(forSavedLocation: rig.file)
            _ = await other.settled
            #expect((other.error as? NessError)?.kind == .fileSystem)
            joined.resume()
            _ = try await joined.value
            #expect(rig.saved == Self.content && rig.ranges.last == "bytes=100000-299999")
            // Nobody is paused any more.
            _ = try await rig.ness.httpRequest(withUrl: "other").downloadRequest(forSavedLocation: rig.file).value
        }
    }

    @Test("each of those who joined and were paused gets the file that the starter has completed meanwhile")
    func getsFile() async throws {
        let gate = TestGate()
        try await withDownloads { _, _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 300000\r\n\r\n"
            return .script([
                .send(head), .sendData(Self.content.prefix(100_000)), .wait(gate), .sendData(Self.content.dropFirst(100_000)), .close,
            ])
        } _: { rig in
            func start() -> DownloadPromise { rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: rig.folder) }
            let starter = start(), others = [start(), start()]
            for promise in others {
                await rig.wait(for: 100_000, of: promise)
                promise.pause()
            }
            gate.open()
            let saved = try await starter.value.dataLocalURL
            for promise in others {
                promise.resume()
                #expect(try await promise.value.dataLocalURL == saved)
            }
            #expect(rig.server.requestCount == 1 && rig.folder.entries == ["a"])
        }
    }

    @Test("a pause during a refresh does not repeat the attempt that follows it") func notRepeated() async throws {
        let begun = TestGate(), go = TestGate()
        let authentication = RefreshableAuthentication(credential: "0") {
            ["Authorization": $0]
        } refresh: { _, _ in
            begun.open()
            await go.wait()
            return "1"
        }
        try await withDownloads { _, request in
            .status(request.headers["authorization"] == "0" ? 401 : 500)
        } configure: {
            $0.authentication = authentication
        } _: { rig in
            let promise = rig.ness.httpRequest(withUrl: "a").validate(statusCodes: 200..<300).downloadRequest(forSavedLocation: rig.file)
            await begun.wait()
            promise.pause()
            promise.resume()
            go.open()
            _ = await promise.settled
            #expect((promise.error as? NessError)?.response?.statusCode == 500)
            #expect(rig.server.requestCount == 2)
        }
    }
}
