import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Pausing and going on, in every phase and from any thread.
@Suite(.inTurn) struct DownloadPauseTests {
    private static let content = patternedData(300_000)

    /// The first answer stops after 100,000 bytes; the others are whole.
    private static let stalling: @Sendable (Int, ReceivedRequest) async -> Reply = { number, request in
        let reply = FileServer(content: content).reply(to: request)
        return number == 1 ? reply.cut(after: 100_000, then: .stall) : reply
    }

    @Test(
        "a pause closes the connection and keeps the received bytes; the same promise continues")
    func middle() async throws {
        try await withDownloads(Self.stalling) { rig in
            let promise = rig.start(), ends = Witness(promise)
            await rig.wait(for: 100_000, of: promise)
            #expect(promise.status.text.hasPrefix("running 0.33"))
            promise.pause()
            #expect(promise.isPaused && promise.status.text == "idle")
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            #expect(promise.progress == TransferProgress(completedBytes: 100_000, totalBytes: 300_000))
            #expect(ends.ends.isEmpty)
            #expect(promise.resume() == .resumed && !promise.isPaused)
            let result = try await promise.value
            #expect(result.dataLocalURL.path == rig.file.path)
            #expect(promise.status.text == "completed 200")
            #expect(rig.ranges == [nil, "bytes=100000-299999"])
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            promise.pause()
            #expect(!promise.isPaused && promise.resume() == .failToResume && promise.status.text == "completed 200")
            #expect(await ends.outcome() == ["value"])
        }
    }

    @Test("a download that continues after a pause may refresh its credential again")
    func renewedTwice() async throws {
        let file = FileServer(content: Self.content), refreshes = Tally()
        let authentication = RefreshableAuthentication(credential: "0") {
            ["Authorization": $0]
        } refresh: { _, _ in
            "\(refreshes.enter() + 1)"
        }
        try await withDownloads { number, request in
            // The first credential is too old at once, the next one after the pause.
            if request.headers["authorization"] != (number <= 2 ? "1" : "2") { return .status(401) }
            let reply = file.reply(to: request)
            return number == 2 ? reply.cut(after: 100_000, then: .stall) : reply
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

    @Test("a pause before the start sends nothing; a resume without a pause changes nothing")
    func beforeTheStart() async throws {
        let server = FileServer(content: Self.content)
        try await withDownloads { _, request in
            server.reply(to: request)
        } _: { rig in
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
        let server = FileServer(content: Self.content), gate = TestGate()
        try await withDownloads { _, request in
            if request.path == "/first" { await gate.wait() }
            return server.reply(to: request)
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

    @Test("a deadline stops while a download is paused in the host's queue, and continues after the resume")
    func queuedDeadline() async throws {
        let clock = ManualClock()
        let server = FileServer(content: Self.content)
        try await withDownloads { _, request in
            server.reply(to: request)
        } configure: {
            $0.clock = clock
        } _: { rig in
            rig.ness.maximumConnectionsPerHost = 0
            let promise = rig.ness.httpRequest(withUrl: "a").set(deadline: .seconds(100)).downloadRequest(forSavedLocation: rig.file)
            try await rig.ness.waitForRequests(1, at: .hostQueue)
            promise.pause()
            clock.advance(by: .seconds(1_000))
            #expect(promise.isPaused && !promise.isCompleted)
            promise.resume()
            try await rig.ness.waitForRequests(1, at: .hostQueue)
            clock.advance(by: .seconds(100))
            #expect(await promise.nessError()?.kind == .timedOut)
            #expect(rig.server.requestCount == 0)
        }
    }

    @Test("a pause during a retry's delay keeps the received bytes")
    func retryDelay() async throws {
        let clock = ManualClock()
        let server = FileServer(content: Self.content)
        try await withDownloads { number, request in
            number == 1 ? server.reply(to: request).cut(after: 100_000) : server.reply(to: request)
        } configure: {
            $0.clock = clock
        } _: { rig in
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

    @Test("timeout and deadline stop during a pause, and apply before and after it")
    func deadline() async throws {
        let clock = ManualClock()
        let server = FileServer(content: Self.content)
        try await withDownloads { number, request in
            let reply = server.reply(to: request)
            return number <= 2 ? reply.cut(after: 50_000, then: .stall) : reply
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
        try await withDownloads(Self.stalling) { rig in
            let promise = rig.ness.httpRequest(withUrl: "a").add(group: "g").downloadRequest(forSavedLocation: rig.file)
            let ends = Witness(promise)
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            switch how {
            case "drop": promise.drop()
            case "all": rig.ness.dropAllRequests()
            case "group": rig.ness.dropAllRequests(in: "g")
            default: await rig.ness.reset()
            }
            #expect(await ends.outcome() == ["dropped"])
            #expect(!promise.isPaused && promise.status.text == "dropped" && promise.resume() == .failToResume)
            _ = try await rig.start().value
            #expect(rig.ranges == [nil, "bytes=100000-299999"])
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
        }
    }

    @Test("one of two callers who share a download can pause; both get the file in the end")
    func shared() async throws {
        let server = FileServer(content: Self.content), gate = TestGate()
        try await withDownloads { number, request in
            guard number == 1, case .full(_, _, let body) = server.reply(to: request).content else { return server.reply(to: request) }
            let head = "HTTP/1.1 200 OK\r\n\(opaque)ETag: \"v1\"\r\nContent-Length: \(body.count)\r\n\r\n"
            return .script([.send(head), .sendData(body.prefix(100_000)), .wait(gate), .sendData(body.dropFirst(100_000)), .close])
        } _: { rig in
            let one = rig.start()
            await rig.wait(for: 100_000, of: one)
            let two = rig.start()
            await rig.wait(for: 100_000, of: two)
            one.pause()
            #expect(one.isPaused && !two.isPaused)
            gate.open()
            let result = try await two.value
            #expect(result.dataLocalURL.path == rig.file.path)
            #expect(rig.saved == Self.content && rig.server.requestCount == 1 && one.isPaused)
            one.resume()
            _ = try await one.value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
        }
    }

    @Test("if both callers who share a download pause, the exchange ends; each of them can continue it")
    func bothPause() async throws {
        try await withDownloads(Self.stalling) { rig in
            let promises = [rig.start(), rig.start()]
            for promise in promises { await rig.wait(for: 100_000, of: promise) }
            for promise in promises { promise.pause() }
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            for promise in promises.reversed() { promise.resume() }
            for promise in promises { _ = try await promise.value }
            #expect(rig.ranges.prefix(2) == [nil, "bytes=100000-299999"] && rig.saved == Self.content)
        }
    }

    @Test("a download that shares no exchange can be paused and resumed", arguments: [true, false])
    func unshared(byHandler: Bool) async throws {
        try await withDownloads(Self.stalling) {
            if byHandler { $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately }
        } _: { rig in
            var request = rig.ness.httpRequest(withUrl: "a")
            if !byHandler { request = request.set(redirects: .decide { _ in .follow }) }
            let promise = request.downloadRequest(forSavedLocation: rig.file)
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            #expect(promise.resume() == .resumed)
            _ = try await promise.value
            #expect(rig.saved == Self.content && rig.ranges == [nil, "bytes=100000-299999"])
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
}
