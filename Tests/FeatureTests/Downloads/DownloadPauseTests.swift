import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Pausing and going on, in every phase and from any thread.
@Suite(.inTurn) struct DownloadPauseTests {
    private static let content = patternedData(300_000)
    private static let server = FileServer(content: content)

    /// Runs a test with a download that is paused after 100,000 bytes, and whose connection is closed.
    private func withPaused(
        _ change: (RequestBuilder) -> RequestBuilder = { $0 }, configure: (inout Ness.Configuration) -> Void = { _ in },
        _ body: (DownloadRig, DownloadPromise) async throws -> Void
    ) async throws {
        try await withDownloads(of: Self.server, stallsFirst, configure: configure) { rig in
            let promise = change(rig.ness.get("a")).downloadRequest(forSavedLocation: rig.file)
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            try await body(rig, promise)
            #expect(rig.ranges == [nil, "bytes=100000-299999"])
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
        }
    }

    @Test("a pause closes the connection and keeps the received bytes; the same promise continues")
    func middle() async throws {
        try await withPaused { rig, promise in
            let ends = Witness(promise)
            #expect(promise.isPaused && promise.status.text == "idle")
            #expect(promise.progress == TransferProgress(completedBytes: 100_000, totalBytes: 300_000))
            #expect(ends.ends.isEmpty)
            #expect(promise.resume() == .resumed && !promise.isPaused)
            let result = try await promise.value
            #expect(result.dataLocalURL.path == rig.file.path)
            promise.pause()
            #expect(!promise.isPaused && promise.resume() == .failToResume && promise.status.text == "completed 200")
            #expect(await ends.outcome() == ["value"])
        }
    }

    @Test("a download that continues after a pause may refresh its credential again")
    func renewedTwice() async throws {
        let refreshes = Tally()
        let authentication = refreshing(from: "0") { "\(refreshes.enter() + 1)" }
        try await withDownloads(of: Self.server) { request, reply in
            // The first credential is too old at once, the next one after the pause.
            if request.headers["authorization"] != (request.number <= 2 ? "1" : "2") { return .status(401) }
            return request.number == 2 ? reply.cut(after: 100_000, then: .stall) : reply
        } configure: {
            $0.authentication = authentication
        } _: { rig in
            let promise = rig.start()
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            promise.resume()
            _ = try await promise.value
            #expect(rig.saved == Self.content && refreshes.total == 2)
        }
    }

    @Test("a pause during a refresh does not repeat the attempt that follows it") func notRepeated() async throws {
        let begun = TestGate(), go = TestGate()
        let authentication = refreshing(from: "0") {
            begun.open()
            await go.wait()
            return "1"
        }
        try await withDownloads { _, request in
            .status(request.headers["authorization"] == "0" ? 401 : 500)
        } configure: {
            $0.authentication = authentication
        } _: { rig in
            let promise = rig.start()
            await begun.wait()
            promise.pause()
            promise.resume()
            go.open()
            #expect(await promise.nessError()?.response?.statusCode == 500)
            #expect(rig.server.requestCount == 2)
        }
    }

    @Test("a pause before the start sends nothing; a resume without a pause changes nothing")
    func beforeTheStart() async throws {
        try await withDownloads(of: Self.server) { rig in
            // However long it takes to get to the pause.
            rig.ness.maximumConnectionsPerHost = 0
            let promise = rig.start()
            promise.pause()
            promise.resume()
            promise.pause()
            rig.ness.maximumConnectionsPerHost = 6
            // A task of another request that has come back shows that this one would have been sent by now.
            _ = try await rig.ness.httpRequest(withUrl: "other").dataRequest().value
            #expect(promise.isPaused && !promise.isCompleted)
            #expect(promise.resume() == .resumed && promise.resume() == .resumed)
            _ = try await promise.value
            #expect(rig.saved == Self.content)
        }
    }

    @Test("a download that is paused in the host's queue takes no slot; after the resume it queues behind the others")
    func queued() async throws {
        let gate = TestGate()
        try await withDownloads(of: Self.server) { request, reply in
            if request.path == "/first" { await gate.wait() }
            return reply
        } configure: {
            $0.maximumConnectionsPerHost = 1
        } _: { rig in
            let first = rig.ness.httpRequest(withUrl: "first").dataRequest()
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            let promise = rig.start()
            promise.pause()
            let second = rig.ness.httpRequest(withUrl: "second").dataRequest()
            gate.open()
            _ = try await (first.value, second.value)
            #expect(rig.server.requests.map(\.path) == ["/first", "/second"])
            promise.resume()
            _ = try await promise.value
            #expect(rig.saved == Self.content)
        }
    }

    @Test("a pause during a retry's delay keeps the received bytes")
    func retryDelay() async throws {
        let clock = ManualClock()
        try await withDownloads(of: Self.server, cutsFirst, configure: { $0.clock = clock }) { rig in
            let promise = rig.start(with: ClosureRetryControl { $3(.retryAfter(60)) })
            await clock.waitUntil { $0.sleeps == [.seconds(60)] }
            promise.pause()
            await clock.waitUntil { $0.sleeperCount == 0 }
            #expect(promise.isPaused && rig.server.requestCount == 1)
            promise.resume()
            _ = try await promise.value
            #expect(rig.ranges == [nil, "bytes=100000-299999"] && rig.saved == Self.content)
        }
    }

    @Test("a drop during a retry's delay ends the wait, and nothing is sent again")
    func droppedInRetryDelay() async throws {
        let clock = ManualClock()
        try await withDownloads(of: Self.server, cutsFirst, configure: { $0.clock = clock }) { rig in
            let promise = rig.start(with: ClosureRetryControl { $3(.retryAfter(60)) })
            await clock.waitUntil { $0.sleeps == [.seconds(60)] && $0.sleeperCount == 1 }
            promise.drop()
            await clock.waitUntil { $0.sleeperCount == 0 }
            #expect(await promise.nessError()?.kind == .dropped)
            #expect(rig.server.requestCount == 1)
        }
    }

    @Test("timeout and deadline stop during a pause, and apply before and after it")
    func deadline() async throws {
        let clock = ManualClock()
        try await withDownloads(of: Self.server) {
            $0.number <= 2 ? $1.cut(after: 50_000, then: .stall) : $1
        } configure: {
            $0.clock = clock
        } _: { rig in
            let builder = rig.ness.httpRequest(withUrl: "a").set(timeout: .seconds(10), deadline: .seconds(100))
            let promise = builder.downloadRequest(forSavedLocation: rig.file)
            await rig.wait(for: 50_000, of: promise)
            promise.pause()
            await clock.waitUntil { $0.sleeperCount == 0 }
            clock.advance(by: .seconds(100_000))
            #expect(promise.isPaused && !promise.isCompleted)
            promise.resume()
            await rig.wait(for: 100_000, of: promise)
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(11))
            #expect(await promise.nessError()?.kind == .timedOut)
            #expect(!promise.isPaused)
            _ = try await rig.start().value
            #expect(rig.ranges.last == "bytes=100000-299999" && rig.saved == Self.content)
        }
    }

    @Test(
        "a paused download can be dropped alone, with all, or by a reset, and another download continues from its bytes",
        arguments: ["drop", "all", "group", "reset"])
    func droppedWhilePaused(how: String) async throws {
        try await withPaused {
            $0.add(group: "g")
        } _: { rig, promise in
            let ends = Witness(promise)
            switch how {
            case "drop": promise.drop()
            case "all": rig.ness.dropAllRequests()
            case "group": rig.ness.dropAllRequests(in: "g")
            default: await rig.ness.reset()
            }
            #expect(await ends.outcome() == ["dropped"])
            #expect(!promise.isPaused && promise.status.text == "dropped" && promise.resume() == .failToResume)
            _ = try await rig.start().value
        }
    }

    @Test("a download that shares no exchange can be paused and resumed", arguments: [true, false])
    func unshared(byHandler: Bool) async throws {
        try await withPaused {
            byHandler ? $0 : $0.set(redirects: .decide { _ in .follow })
        } configure: {
            if byHandler { $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately }
        } _: { _, promise in
            #expect(promise.resume() == .resumed)
            _ = try await promise.value
        }
    }

    @Test("a pause has no effect on a POST, which a resume would send again, unless it is declared idempotent", arguments: [true, false])
    func post(isMarked: Bool) async throws {
        let go = TestGate()
        try await withDownloads { number, _ in
            number > 1 ? .data(Self.content) : Reply.data(Self.content).cut(after: 100_000, then: .wait(go))
        } _: { rig in
            var request = rig.ness.httpRequest(.post, withUrl: "a")
            if isMarked { request = request.set(isIdempotent: true) }
            let promise = request.downloadRequest(forSavedLocation: rig.file)
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            #expect(promise.isPaused == isMarked)
            #expect(promise.resume() == .resumed)
            go.open()
            _ = await promise.settled
            #expect(rig.server.requestCount == (isMarked ? 2 : 1))
        }
    }

    @Test(
        "a loader that makes a response of every error does not end a paused download",
        arguments: [LoaderPlace.attempt, .authenticated])
    func answered(place: LoaderPlace) async throws {
        let caught = TestGate()
        let loader = ClosureLoader.loader { request, next in
            do { return try await next(request) } catch {
                caught.open()
                return HTTPResponse(statusCode: 503, request: request)
            }
        }
        try await withPaused(configure: { $0.insert(loader, at: place) }) { _, promise in
            await caught.wait()
            #expect(promise.resume() == .resumed)
            _ = try await promise.value
        }
    }

    @Test("a retry after a pause asks the server again, if the caller has rejected the response") func rejected() async throws {
        let judged = Tally()
        try await withDownloads(of: Self.server, stallsFirst) { rig in
            // The head of each attempt, and the complete response of the second.
            let builder = rig.ness.get("a").validate { _ in if judged.enter() == 2 { throw CocoaError(.coderInvalidValue) } }
            let promise = builder.downloadRequest(forSavedLocation: rig.file, with: CounterRetryControl(maxRetryCount: 1))
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            promise.resume()
            _ = try await promise.value
            #expect(rig.ranges == [nil, "bytes=100000-299999", nil] && rig.saved == Self.content)
        }
    }

    // MARK: several callers

    /// The first reply continues once the gate is open; the others are another version.
    private func inTwoVersions(_ gate: TestGate) -> @Sendable (Int, ReceivedRequest) async -> Reply {
        { number, request in
            if number > 1 { return FileServer(content: Data("new".utf8), tag: "\"v2\"").reply(to: request) }
            let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n\(opaque)Content-Length: 300000\r\n\r\n"
            return .script([
                .send(head), .sendData(Self.content.prefix(100_000)), .wait(gate), .sendData(Self.content.dropFirst(100_000)), .close,
            ])
        }
    }

    @Test("one who paused never gets the response of another version than the file has") func replacedMeanwhile() async throws {
        let gate = TestGate()
        try await withDownloads(inTwoVersions(gate)) { rig in
            let first = rig.start(), second = rig.start()
            for promise in [first, second] { await rig.wait(for: 100_000, of: promise) }
            second.pause()
            gate.open()
            _ = try await first.value
            _ = try await rig.start().value
            second.resume()
            let result = try await second.value
            #expect(result.message.headers["ETag"] == "\"v2\"")
            #expect(rig.saved == Data("new".utf8) && rig.server.requestCount == 3)
        }
    }

    @Test("each of those who paused a shared download gets the file that the one who did not pause has completed meanwhile")
    func getsFile() async throws {
        let gate = TestGate()
        try await withDownloads(inTwoVersions(gate)) { rig in
            let promises = (0..<3).map { _ in rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: rig.folder) }
            for promise in promises { await rig.wait(for: 100_000, of: promise) }
            #expect(promises[0].status.text.hasPrefix("running 0.33"))
            // The one who started it, and one who joined.
            for promise in promises.prefix(2) { promise.pause() }
            #expect(promises.map(\.isPaused) == [true, true, false])
            gate.open()
            let saved = try await promises[2].value.dataLocalURL
            for promise in promises.prefix(2) {
                #expect(promise.isPaused)
                promise.resume()
                #expect(try await promise.value.dataLocalURL == saved)
            }
            #expect(rig.server.requestCount == 1 && rig.folder.entries == ["a"])
            #expect(try Data(contentsOf: saved) == Self.content)
        }
    }

    @Test("if both callers who share a download pause, the exchange ends; each of them can continue it")
    func bothPause() async throws {
        try await withDownloads(of: Self.server, stallsFirst) { rig in
            let promises = [rig.start(), rig.start()]
            for promise in promises { await rig.wait(for: 100_000, of: promise) }
            for promise in promises { promise.pause() }
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            for promise in promises.reversed() { promise.resume() }
            for promise in promises { _ = try await promise.value }
            #expect(rig.ranges.prefix(2) == [nil, "bytes=100000-299999"] && rig.saved == Self.content)
        }
    }

    @Test("one who joined keeps the partial file while it is paused, although the starter was dropped")
    func keepsFile() async throws {
        try await withDownloads(of: Self.server, stallsFirst) { rig in
            let starter = rig.start(), joined = rig.start()
            await rig.wait(for: 100_000, of: joined)
            starter.drop()
            joined.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            #expect(await rig.start("other").nessError()?.kind == .fileSystem)
            joined.resume()
            _ = try await joined.value
            #expect(rig.saved == Self.content && rig.ranges.last == "bytes=100000-299999")
            // Nobody is paused any more.
            _ = try await rig.start("other").value
        }
    }
}
