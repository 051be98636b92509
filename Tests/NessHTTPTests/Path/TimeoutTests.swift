import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests time limits with a clock that the tests advance.
@Suite(.inTurn) struct TimeoutTests {
    /// Starts a server that runs some steps for a request and then stalls. Calls a closure with both once the request has arrived.
    private func stalled(
        _ steps: [ConnectionStep] = [], gates: [Int64: TestGate] = [:], wire: ReceiveGates = ReceiveGates(),
        _ body: (TestServer, Ness, ManualClock, TestGate) async throws -> Void
    ) async throws {
        let received = TestGate(), clock = ManualClock()
        let server = try await TestServer.start(script: { _ in [.receiveRequest, .signal(received)] + steps + [.stall] })
        let ness = Ness { configuration in
            configuration.baseURL = server.url
            configuration.clock = clock
            ReceiveGates(gates: gates).install(in: &configuration)
            wire.install(in: &configuration)
        }
        try await body(server, ness, clock, received)
        #expect(await server.waitUntil { $0.busyConnections == 0 })
        await server.stop()
    }

    @Test("a request to a silent server fails after 60 seconds, and its connection closes")
    func beforeHead() async throws {
        try await stalled { server, ness, clock, received in
            let promise = ness.httpRequest(withUrl: "silent").dataRequest()
            await received.wait()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(59))
            #expect(!promise.isCompleted)
            clock.advance(by: .seconds(1))
            let error = await promise.nessError()
            #expect(error?.kind == .timedOut)
            #expect(error?.context.attempts == 1)
            #expect(error?.context.reason == "no byte was sent or received for 60.0 seconds")
            #expect(error?.description.contains("/silent") == true)
            #expect(promise.status.text == "error")
        }
    }

    @Test("the time to the first byte has a separate limit; from the head on the idle timeout applies")
    func firstByte() async throws {
        let taken = TestGate(), go = TestGate()
        let start = "HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\n\r\n1"
        try await stalled([.wait(go), .send(start)], gates: [1: taken]) { _, ness, clock, received in
            let builder = ness.httpRequest(withUrl: "slow").set(timeout: .seconds(20), firstByteTimeout: .seconds(300))
            let promise = builder.streamRequest()
            await received.wait()
            await clock.waitForSleepers(1)
            // Longer than the idle timeout, which the check planned for 300 seconds would end too late.
            clock.advance(by: .seconds(100))
            // Waits for the check at the end of the connect timeout, so that it runs before the head arrives.
            await clock.waitForSleepers(1)
            #expect(!promise.isCompleted)
            go.open()
            let result = try await promise.value
            await taken.wait()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(20))
            let error = await #expect(throws: NessError.self) { for try await _ in result.chunks {} }
            #expect(error?.kind == .timedOut && error?.context.reason == "no byte was sent or received for 20.0 seconds")
        }
        try await stalled { _, ness, clock, received in
            let promise = ness.httpRequest(withUrl: "silent").set(timeout: .seconds(20), firstByteTimeout: .seconds(300)).dataRequest()
            await received.wait()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(299))
            #expect(!promise.isCompleted)
            clock.advance(by: .seconds(1))
            #expect(await promise.nessError()?.context.reason == "no byte was sent or received for 300.0 seconds")
        }
        let refused = await Ness().httpRequest(withUrl: "http://x").set(firstByteTimeout: .zero).dataRequest().nessError()
        #expect(refused?.kind == .invalidRequest)
    }

    @Test("a timeout counts from the start of its timer, even if the timer's task starts to wait later")
    func lateTimer() async {
        let manual = ManualClock(), clock = PipelineClock(manual)
        for _ in 0..<100 {
            let fired = TestGate()
            let cancel = clock.startTimer(after: .seconds(60)) { fired.open() }
            manual.advance(by: .seconds(60))
            await fired.wait()
            cancel()
        }
    }

    @Test("the idle timeout counts from the stage's start, not from the attempt's, when only a test moves the clock")
    func beginning() async {
        struct Slow: HTTPLoader {
            let clock: ManualClock
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
                clock.advance(by: .seconds(59))
                return try await next(request)
            }
        }
        let clock = ManualClock(), sent = Tally(), never = TestGate()
        let ness = Ness {
            $0.clock = clock
            $0.insert(Slow(clock: clock), at: .exchange)
            $0.transport = FakeTransport { _, _ in
                sent.enter()
                await never.wait()
                throw CancellationError()
            }
        }
        let promise = ness.httpRequest(withUrl: "http://x").dataRequest()
        await sent.wait(for: 1)
        clock.advance(by: .seconds(1))
        #expect(await promise.nessError()?.kind == .timedOut)
    }

    @Test("the idle timeout ends a request whose lower loader never continues, before or after the exchange", arguments: [true, false])
    func aLoaderBelow(isFirst: Bool) async throws {
        /// Waits without end, and takes no notice of a cancellation.
        struct Endless: HTTPLoader {
            let isFirst: Bool
            let waits: TestGate
            let never: TestGate
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
                if !isFirst { _ = try await next(request) }
                waits.open()
                await Task.detached { [never] in await never.wait() }.value
                return try await next(request)
            }
        }
        let waits = TestGate(), never = TestGate(), clock = ManualClock()
        let server = try await TestServer.start { _ in .text("hello") }
        let ness = Ness {
            $0.baseURL = server.url
            $0.clock = clock
            $0.insert(Endless(isFirst: isFirst, waits: waits, never: never), at: .exchange)
        }
        let promise = ness.httpRequest(withUrl: "x").dataRequest()
        await waits.wait()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        #expect(await promise.nessError()?.kind == .timedOut)
        never.open()
        await server.stop()
    }

    @Test("every byte restarts the idle timeout")
    func restart() async throws {
        let more = TestGate(), half = TestGate()
        let steps: [ConnectionStep] = [.wait(more), .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\n\r\n12345")]
        try await stalled(steps, gates: [5: half]) { _, ness, clock, received in
            let promise = ness.httpRequest(withUrl: "x").dataRequest()
            await received.wait()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(40))
            more.open()
            await half.wait()
            // 80 seconds after the start and 40 after the last byte, the timer checks and sleeps again.
            clock.advance(by: .seconds(40))
            await clock.waitForSleepers(1)
            #expect(!promise.isCompleted)
            clock.advance(by: .seconds(19))
            #expect(!promise.isCompleted)
            #expect(clock.sleeperCount == 1)
            clock.advance(by: .seconds(1))
            #expect(await promise.nessError()?.kind == .timedOut)
        }
    }

    @Test("the deadline ends a request even while bytes arrive")
    func deadline() async throws {
        let half = TestGate()
        try await stalled([.send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\n\r\n12345")], gates: [5: half]) { _, ness, clock, _ in
            let promise = ness.httpRequest(withUrl: "x").set(deadline: .seconds(30)).dataRequest()
            await half.wait()
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(29))
            #expect(!promise.isCompleted)
            clock.advance(by: .seconds(1))
            let error = await promise.nessError()
            #expect(error?.kind == .timedOut)
            #expect(error?.context.reason == "the deadline of 30.0 seconds has passed")
        }
    }

    @Test("a deadline also counts the time before the exchange")
    func deadlineInLoader() async throws {
        let clock = ManualClock()
        let stuck = ClosureLoader { request, next in
            await TestGate().wait()
            return try await next(request)
        }
        try await withServer(configure: {
            $0.clock = clock
            $0.loaders = [stuck]
        }) { server, ness in
            let promise = ness.httpRequest(withUrl: "x").set(deadline: .milliseconds(1500)).dataRequest()
            await clock.waitForSleepers(1)
            clock.advance(by: .milliseconds(1499))
            #expect(!promise.isCompleted)
            clock.advance(by: .milliseconds(1))
            #expect(await promise.nessError()?.kind == .timedOut)
            #expect(server.requestCount == 0)
        }
    }

    @Test("a loader that ignores its cancellation cannot delay its caller")
    func stubbornLoader() async throws {
        let clock = ManualClock(), never = TestGate()
        let stubborn = ClosureLoader { request, next in
            // A separate task, which is not canceled with this one.
            await Task { await never.wait() }.value
            return try await next(request)
        }
        let ness = Ness { configuration in
            configuration.clock = clock
            configuration.loaders = [stubborn]
        }
        let promise = ness.httpRequest(withUrl: "http://x").set(deadline: .seconds(1)).dataRequest()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await promise.nessError()?.kind == .timedOut)
        never.open()
    }

    @Test("by default the idle timeout is 60 seconds, and there is no deadline")
    func defaults() throws {
        #expect(HTTPRequest.defaultTimeout == .seconds(60))
        let request = HTTPRequest(url: try url("http://x"))
        #expect(request.timeout == .seconds(60) && request.deadline == nil)
        let plain = try Ness().httpRequest(withUrl: "http://x").build()
        #expect(plain.timeout == .seconds(60))
        #expect(plain.deadline == nil)
        let ness = Ness { configuration in
            configuration.timeout = .seconds(5)
            configuration.deadline = .seconds(9)
        }
        #expect(try ness.httpRequest(withUrl: "http://x").build().timeout == .seconds(5))
        #expect(try ness.httpRequest(withUrl: "http://x").build().deadline == .seconds(9))
        let own = try ness.httpRequest(withUrl: "http://x").set(timeout: .seconds(1)).set(deadline: .seconds(2)).build()
        #expect(own.timeout == .seconds(1))
        #expect(own.deadline == .seconds(2))
    }

    @Test("a request that ends leaves no timer behind")
    func noTimerLeft() async throws {
        let clock = ManualClock(), received = TestGate(), answer = TestGate()
        try await withServer(
            { _ in
                received.open()
                await answer.wait()
                return .text("ok")
            }, configure: { $0.clock = clock }
        ) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").set(deadline: .seconds(10)).dataRequest()
            await received.wait()
            await clock.waitForSleepers(2)
            answer.open()
            let text = try await promise.value.message.text
            #expect(text == "ok")
            #expect(await clock.waitUntil { $0.sleeperCount == 0 })
        }
    }

    @Test("a manager's timeout and deadline end its requests", arguments: [true, false])
    func timeouts(isDeadline: Bool) async throws {
        let rig = Rig(advances: false) {
            $0.timeout = .seconds(isDeadline ? 1_000 : 30)
            $0.deadline = .seconds(isDeadline ? 100 : 1_000)
        }
        let arrived = TestGate()
        rig.mock.on(.get, "/x") { _ in
            arrived.open()
            await TestGate().wait()
            return .status(200)
        }
        let builder = rig.ness.httpRequest(withUrl: "x")
        try #require(try builder.build().deadline != nil)
        let promise = builder.dataRequest()
        await arrived.wait()
        await rig.clock.waitForSleepers(2)
        rig.clock.advance(by: .seconds(isDeadline ? 99 : 29))
        #expect(!promise.isCompleted)
        rig.clock.advance(by: .seconds(1))
        let error = await promise.nessError()
        #expect(error?.kind == .timedOut)
        #expect(error?.context.reason.contains(isDeadline ? "deadline of 100.0" : "30.0 seconds") == true)
    }
}
