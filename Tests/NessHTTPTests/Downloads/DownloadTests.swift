import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Downloads into a file, over real sockets.
@Suite(.inTurn) struct DownloadTests {
    private let content = patternedData(3_000_000)

    /// A server that sends the start of the file and then nothing, until it is asked again.
    private func interrupted(after count: Int, _ tag: String = "\"v1\"") -> @Sendable (ReceivedRequest) -> Reply {
        let content = content
        return { request in
            let server = FileServer(content: content, tag: tag)
            guard request.headers["range"] == nil else { return server.reply(to: request) }
            let head = "HTTP/1.1 200 OK\r\n\(opaque)Content-Length: \(content.count)\r\nETag: \(tag)\r\nAccept-Ranges: bytes\r\n\r\n"
            return .script([.send(head), .sendData(content.prefix(count)), .stall])
        }
    }

    @Test("the file exists once it is complete, and its length is the progress")
    func theFileIsThereWhenItIsWhole() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a.bin")
            let server = FileServer(content: content)
            try await withServer({ server.reply(to: $0) }) { _, ness in
                let promise = ness.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: file)
                let result = try await promise.value
                #expect(result.dataLocalURL.path == file.path)
                #expect(result.message.statusCode == 200 && result.message.body.isEmpty)
                #expect(promise.progress == TransferProgress(completedBytes: 3_000_000, totalBytes: 3_000_000))
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(folder.entries == ["a.bin"])
        }
    }

    @Test("a pause keeps the received bytes, and a resume continues from them") func aPauseKeepsWhatCameAndAResumeGoesOn() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a.bin"), half = ReceiveGates()
            try await withServer(interrupted(after: 1_000_000)) {
                half.install(in: &$0)
            } _: { server, ness in
                let promise = ness.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: file)
                await half.changed.wait { promise.progress.completedBytes == 1_000_000 }
                promise.pause()
                promise.pause()
                #expect(promise.isPaused && promise.status.text == "idle")
                #expect(await server.waitUntil { $0.busyConnections == 0 })
                #expect(!FileManager.default.fileExists(atPath: file.path))
                #expect(promise.resume() == .resumed)
                #expect(promise.resume() == .resumed)
                let result = try await promise.value
                #expect(result.message.statusCode == 200 && result.message.headers["content-length"] == "3000000")
                #expect(promise.resume() == .failToResume)
                #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=1000000-2999999"])
                #expect(server.requests.last?.headers["if-range"] == "\"v1\"")
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(folder.entries == ["a.bin"])
        }
    }

    @Test("a download in segments arrives complete") func segments() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a.bin")
            let server = FileServer(content: content)
            try await withServer({ server.reply(to: $0) }) { server, ness in
                _ = try await ness.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: file, segments: 4).value
                #expect(server.requestCount == 5)
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(folder.entries == ["a.bin"])
        }
    }

    @Test("a download ends in response and file; without a file it is an error")
    func downloadResult() async throws {
        try await withFolder { folder in
            let rig = Rig()
            rig.mock.on(.get, "/file") { _ in .text("content", headers: ["X-A": "1"]) }
            rig.mock.on(.get, "/none") { _ in .status(204) }
            let target = folder.appendingPathComponent("a")
            let result = try await rig.ness.httpRequest(withUrl: "file").downloadRequest(forSavedLocation: target).value
            #expect(result.dataLocalURL == target && result.message.headers["X-A"] == "1")
            #expect(try Data(contentsOf: result.dataLocalURL) == Data("content".utf8))
            let other = folder.appendingPathComponent("b")
            let error = await rig.ness.httpRequest(withUrl: "none").downloadRequest(forSavedLocation: other).nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == 204)
            #expect(folder.entries == ["a"])
        }
    }
}
