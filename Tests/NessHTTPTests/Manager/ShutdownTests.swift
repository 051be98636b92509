import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

@Suite("Shutdown", .inTurn)
struct ShutdownTests {
    /// A transport whose exchanges end when its gate is open, and which counts its shutdowns.
    private struct Gated: Transport {
        let arrived = Tally(), ended = Tally(), shutdowns = Tally(), gate = TestGate()

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            arrived.enter()
            defer { ended.enter() }
            await gate.wait()
            try Task.checkCancellation()
            try await receive(.head(statusCode: 200, headers: [:]))
        }

        func shutdown() async {
            #expect(ended.total == arrived.total)
            shutdowns.enter()
        }
    }

    private static func manager(_ transport: any Transport, _ clock: ManualClock = ManualClock()) -> Ness {
        Ness {
            $0.transport = transport
            $0.clock = clock
            $0.baseURL = URL(string: "https://mock.test")
        }
    }

    /// Suspends until a manager takes no more requests.
    private static func untilClosed(_ ness: Ness) async {
        await untilTrue { ness.pipeline.running.refusal(of: ness.pipeline.running.epoch) != nil }
    }

    @Test("requests that were started just before start and end, of every kind")
    func started() async throws {
        try await withFolder { folder in
            try await withServer { server, ness in
                let posts = (0..<50).map { _ in ness.post("x").dataRequest() }
                let download = ness.get("x").downloadRequest(forSavedLocation: folder.appendingPathComponent("a"))
                let stream = ness.get("x").streamRequest()
                await ness.shutdown(within: .seconds(300))
                for post in posts { _ = try await post.value }
                #expect(try await download.value.message.statusCode == 200)
                #expect(try await stream.value.message.statusCode == 200)
                #expect(await ness.post("x").dataRequest().nessError()?.context.reason == "the manager was shut down")
            }
        }
    }

    @Test("a paused download counts as running: it can be resumed")
    func resumed() async throws {
        let content = patternedData(300_000)
        try await withDownloads { number, request in
            let reply = FileServer(content: content).reply(to: request)
            return number == 1 ? reply.cut(after: 100_000, then: .stall) : reply
        } _: { rig in
            let promise = rig.start()
            await rig.wait(for: 100_000, of: promise)
            promise.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            let end = Task { await rig.ness.shutdown(within: .seconds(300)) }
            await Self.untilClosed(rig.ness)
            #expect(promise.resume() == .resumed)
            _ = try await promise.value
            await end.value
            #expect(rig.saved == content)
        }
    }

    @Test("running requests end, new ones are rejected, and finally every connection is closed", arguments: [HTTPMethod.get, .post])
    func sockets(method: HTTPMethod) async throws {
        let gate = TestGate(), order = Log<String>()
        let server = try await TestServer.start { request in
            if request.path == "/slow" { await gate.wait() }
            return .text("ok")
        }
        let ness = Ness { $0.baseURL = server.url }
        _ = try await ness.httpRequest(method, withUrl: "before").dataRequest().value
        let slow = ness.httpRequest(method, withUrl: "slow").dataRequest()
        await server.waitUntil { $0.requestCount == 2 }
        let end = Task {
            await ness.shutdown(within: .seconds(300))
            order.add("shut down")
        }
        await Self.untilClosed(ness)
        let refused = await ness.httpRequest(method, withUrl: "after").dataRequest().nessError()
        #expect(refused?.kind == .dropped && refused?.context.reason == "the manager was shut down")
        #expect(!slow.isCompleted && order.entries.isEmpty)
        gate.open()
        #expect(try await slow.value.message.text == "ok")
        await end.value
        await server.waitUntil { $0.openConnections == 0 }
        // Harmless.
        await ness.shutdown(within: .zero)
        await ness.reset()
        await ness.shutdown(within: .seconds(300))
        #expect(await ness.httpRequest(method, withUrl: "after").dataRequest().nessError()?.kind == .dropped)
        #expect(server.requestCount == 2)
        await server.stop()
    }

    @Test("requests that do not end in time are dropped; then the transport is shut down, and no timer remains")
    func theRestIsDropped() async throws {
        let transport = Gated(), clock = ManualClock()
        let ness = Self.manager(transport, clock)
        let promises = (0..<3).map { ness.httpRequest(.post, withUrl: "\($0)").dataRequest() }
        await transport.arrived.wait(for: 3)
        await clock.waitForSleepers(3)
        let end = Task { await ness.shutdown(within: .seconds(10)) }
        await clock.waitForSleepers(4)
        clock.advance(by: .seconds(9))
        #expect(promises.allSatisfy { !$0.isCompleted } && transport.shutdowns.total == 0)
        clock.advance(by: .seconds(1))
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        await end.value
        #expect(transport.shutdowns.total == 1)
        await clock.waitUntil { $0.sleeperCount == 0 }
    }

    @Test("without time, or if the waiting task is canceled, all requests are dropped immediately", arguments: [true, false])
    func atOnce(isCancelled: Bool) async throws {
        let transport = Gated()
        let ness = Self.manager(transport)
        let promise = ness.httpRequest(withUrl: "x").dataRequest()
        await transport.arrived.wait(for: 1)
        let end = Task { await ness.shutdown(within: isCancelled ? .seconds(300) : .zero) }
        if isCancelled { end.cancel() }
        #expect(await promise.nessError()?.kind == .dropped)
        await end.value
        #expect(transport.shutdowns.total == 1)
    }

    @Test("a running request may still refresh its credential") func refresh() async throws {
        let gate = TestGate(), begun = TestGate(), manager = Lock<Ness?>(nil)
        let token = RefreshableAuthentication(credential: "old") {
            ["Authorization": $0]
        } refresh: { _, _ in
            begun.open()
            await gate.wait()
            let ness = try #require(manager.withLock { $0 })
            let promise = ness.httpRequest(.post, withUrl: "login").dataRequest()
            return try await promise.thenContinue { _ in ness.httpRequest(.post, withUrl: "token").dataRequest() as Promise<DataResult> }
                .value.message.text
        }
        let rig = Rig(advances: false) { $0.authentication = token }
        manager.withLock { $0 = rig.ness }
        defer { manager.withLock { $0 = nil } }
        rig.mock.on(.get, "/x") { .status($0.headers["Authorization"] == "new" ? 200 : 401) }
        for path in ["/login", "/token"] { rig.mock.on(.post, path) { _ in .text("new") } }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await begun.wait()
        let end = Task { await rig.ness.shutdown(within: .seconds(60)) }
        await Self.untilClosed(rig.ness)
        gate.open()
        #expect(try await promise.value.message.statusCode == 200)
        await end.value
    }

    @Test("a paused download is dropped, and keeps its bytes for the next program") func download() async throws {
        let content = patternedData(300_000), server = FileServer(content: content)
        try await withDownloads { number, request in
            number == 1 ? server.reply(to: request).cut(after: 100_000, then: .stall) : server.reply(to: request)
        } _: { rig in
            let paused = rig.start()
            await rig.wait(for: 100_000, of: paused)
            paused.pause()
            await rig.ness.shutdown(within: .zero)
            #expect(await paused.nessError()?.kind == .dropped)
            #expect(rig.folder.entries == ["a.bin.ness-part", "a.bin.ness-part.json"])
            #expect(await rig.start().nessError()?.kind == .dropped)
            let next = Ness { $0.baseURL = rig.server.url }
            _ = try await next.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: rig.file).value
            #expect(rig.saved == content && rig.ranges == [nil, "bytes=100000-299999"])
            await next.shutdown(within: .zero)
        }
    }

    @Test("inside an exchange shutdown returns immediately, and completes when the exchange has ended")
    func inside() async throws {
        final class Closing: Transport {
            let manager = Lock<Ness?>(nil), returned = TestGate(), shutdowns = Tally()

            func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
                await manager.withLock { $0 }?.shutdown(within: .seconds(300))
                returned.open()
                try await receive(.head(statusCode: 200, headers: [:]))
            }
            func shutdown() async { shutdowns.enter() }
        }
        let closing = Closing(), ness = Self.manager(closing)
        closing.manager.withLock { $0 = ness }
        defer { closing.manager.withLock { $0 = nil } }
        #expect(try await ness.httpRequest(.post, withUrl: "x").dataRequest().value.message.statusCode == 200)
        #expect(closing.returned.isOpen)
        await closing.shutdowns.wait(for: 1)
        #expect(await ness.httpRequest(.post, withUrl: "x").dataRequest().nessError()?.kind == .dropped)
    }

    @Test("a shutdown ends after the observers of the requests that it drops were notified")
    func observersOfDropped() async throws {
        let recorder = EventRecorder(), started = TestGate()
        let rig = Rig(advances: false) { $0.observers = [recorder] }
        rig.mock.on(.get, "/x") { _ in
            started.open()
            try await rig.clock.sleep(for: .seconds(1_000))
            return .text("late")
        }
        let promise = rig.ness.get("x").dataRequest()
        await started.wait()
        await rig.ness.shutdown(within: .zero)
        #expect(recorder.events.suffix(3) == ["failure dropped", "metrics", "end"])
        #expect(await promise.nessError()?.kind == .dropped)
    }
}
