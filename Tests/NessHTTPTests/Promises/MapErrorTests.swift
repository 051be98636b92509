import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Promises of requests whose errors an SDK changes.
@Suite(.inTurn) struct MapErrorTests {
    /// The error of an SDK.
    private struct Hidden: Error, Equatable {
        let kind: NessError.Kind?

        init(_ error: any Error) { kind = (error as? NessError)?.kind }

        init(kind: NessError.Kind) { self.kind = kind }
    }

    /// Sends a request, and returns its promise, whose errors are changed.
    private typealias Start = @Sendable (Ness, _ path: String, URL) -> AnyPromise

    private static let starts: [(name: String, start: Start)] = [
        ("data", { ness, path, _ -> DataPromise in ness.get(path).dataRequest().mapError { Hidden($0) } }),
        ("upload", { ness, path, file -> UploadPromise in ness.put(path).uploadRequest(forFileLocation: file).mapError { Hidden($0) } }),
        (
            "download",
            { ness, path, file -> DownloadPromise in ness.get(path).downloadRequest(forSavedLocation: file).mapError { Hidden($0) } }
        ),
        (
            "conditional download",
            { ness, path, file -> ConditionalDownloadPromise in
                ness.get(path).downloadRequestIfChanged(forSavedLocation: file).mapError { Hidden($0) }
            }
        ),
        ("stream", { ness, path, _ -> StreamPromise in ness.get(path).streamRequest().mapError { Hidden($0) } }),
        (
            "typed",
            { ness, path, _ -> RequestPromise<String> in ness.get(path).dataRequest(decoding: String.self).mapError { Hidden($0) } }
        ),
    ]

    @Test("every kind of promise keeps its kind and gets the changed error, of a failure and of a drop", arguments: starts.map(\.name))
    func kinds(name: String) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a"), start = try #require(Self.starts.first { $0.name == name }).start
            try Data("content".utf8).write(to: file)
            let rig = Rig(), gate = TestGate()
            defer { gate.open() }
            rig.mock.on(nil, "/lost", replies: [.failure(.connectionLost)])
            rig.mock.on(nil, "/silent") { _ in
                await gate.wait()
                return .status(200)
            }
            #expect(await start(rig.ness, "lost", file).untilSettled() as? Hidden == Hidden(kind: .connectionLost))
            let dropped = start(rig.ness, "silent", file)
            await rig.mock.waitUntil { $0.requests.count == 2 }
            dropped.drop()
            #expect(dropped.error as? Hidden == Hidden(kind: .dropped))
            let reset = start(rig.ness, "silent", file)
            await rig.mock.waitUntil { $0.requests.count == 3 }
            rig.ness.dropAllRequests()
            #expect(await reset.untilSettled() as? Hidden == Hidden(kind: .dropped))
        }
    }

    @Test("a drop of a changed promise cancels its request; the status is that of the request, and dropped afterwards")
    func status() async throws {
        let rig = Rig(), started = TestGate(), canceled = TestGate(), end = TestGate()
        rig.mock.on(.get, "/x") { _ in
            started.open()
            await withTaskCancellationHandler {
                await end.wait()
            } onCancel: {
                canceled.open()
                end.open()
            }
            return .status(200)
        }
        let promise = rig.ness.get("x").dataRequest().mapError { Hidden($0) }
        await started.wait()
        #expect(promise.status.text == "running 0.0")
        promise.drop()
        #expect(promise.status.text == "dropped")
        await canceled.wait()
        // Dropped alone, while another handler waits for the request.
        rig.mock.on(.get, "/y", replies: [.status(200)])
        rig.ness.maximumConnectionsPerHost = 0
        let request = rig.ness.get("y").dataRequest(), changed = request.mapError { Hidden($0) }
        let other = request.then { $0.message.statusCode }
        changed.drop()
        #expect(changed.status.text == "dropped" && request.status.text == "idle")
        rig.ness.maximumConnectionsPerHost = 1
        #expect(try await other.value == 200)
    }

    @Test("a changed download can be paused and resumed, and shows its progress")
    func pause() async throws {
        let content = patternedData(300_000)
        try await withDownloads(of: FileServer(content: content), stallsFirst) { rig in
            let promise = rig.start().mapError { Hidden($0) }
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            #expect(promise.isPaused && promise.status.text == "idle")
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            #expect(promise.progress == TransferProgress(completedBytes: 100_000, totalBytes: 300_000))
            #expect(promise.resume() == .resumed)
            let result = try await promise.value
            #expect(result.dataLocalURL == rig.file && promise.status.text == "completed 200")
            #expect(rig.saved == content)
        }
    }

    @Test("the chunks, lines and events of a changed stream fail with the changed error")
    func iteration() async throws {
        try await withServer({ _ in
            .script([.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\ndata: 1\n\n"), .close])
        }) { _, ness in
            func stream() -> StreamPromise { ness.get("x").streamRequest().mapError { Hidden($0) } }
            await #expect(throws: Hidden(kind: .truncated)) { for try await _ in stream().chunks {} }
            await #expect(throws: Hidden(kind: .truncated)) { for try await _ in stream().lines {} }
            await #expect(throws: Hidden(kind: .truncated)) { for try await _ in stream().serverSentEvents {} }
            await #expect(throws: Hidden(kind: .truncated)) { for try await _ in try await stream().value.chunks {} }
        }
    }

    @Test("a drop of a changed stream ends its iteration with the changed error, and a released one ends its exchange")
    func droppedStream() async throws {
        try await withServer({ _ in .script([.send(chunkedHead), .chunk("a\n"), .stall]) }) { server, ness in
            let stream = ness.get("x").streamRequest().mapError { Hidden($0) }
            await #expect(throws: Hidden(kind: .dropped)) {
                for try await _ in stream.lines { stream.drop() }
            }
            #expect(stream.status.text == "dropped")
            for try await _ in ness.get("x").streamRequest().mapError({ Hidden($0) }).lines { break }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }
}
