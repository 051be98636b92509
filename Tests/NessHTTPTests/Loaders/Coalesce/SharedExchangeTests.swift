import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// Tests that callers who share an exchange keep their own secrets, time limits and validators.
@Suite(.inTurn) struct SharedExchangeTests {
    @Test("a caller's error names its own request, and hides that caller's secrets")
    func ownSecrets() async throws {
        let gate = TestGate(), handler = CountingHandler()
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.mock.on(.get, "/x") { _ in
            await gate.wait()
            return .json(["badge": "1234"], status: 500)
        }
        let plain = rig.ness.httpRequest(withUrl: "x?badge=1234").validate(statusCode: 200)
        let first = plain.dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = plain.set(secretNames: ["badge"]).dataRequest()
        await handler.tally.wait(for: 1)
        gate.open()
        let open = await first.nessError(), hidden = await second.nessError()
        #expect(open?.description.contains("1234") == true)
        #expect(hidden?.description.contains("1234") == false, "\(hidden.map(\.description) ?? "")")
        #expect(hidden?.response?.description.contains("1234") == false)
        #expect(hidden?.request?.id != open?.request?.id)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a transport error of a shared exchange hides each caller's secrets, and counts that caller's attempts")
    func ownSecretsOfTheWire() async throws {
        let gate = TestGate(), handler = CountingHandler()
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.mock.on(.get, "/x") { _ in
            await gate.wait()
            return .failure(.connectionLost)
        }
        let first = rig.ness.httpRequest(withUrl: "x?badge=1234").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.httpRequest(withUrl: "x?badge=1234").set(secretNames: ["badge"]).dataRequest()
        await handler.tally.wait(for: 1)
        gate.open()
        #expect(await first.nessError()?.description.contains("1234") == true)
        let hidden = await second.nessError()
        #expect(hidden?.kind == .connectionLost && hidden?.context.attempts == 1)
        #expect(hidden?.description.contains("1234") == false)
    }

    @Test("each caller leaves after its own idle timeout, and the others continue", arguments: [true, false])
    func ownTimeout(shortFirst: Bool) async throws {
        let gate = TestGate(), wire = ReceiveGates()
        let rig = Rig(advances: false) { $0.loaders = [wire] }
        rig.mock.on(.get, "/x") { _ in
            await gate.wait()
            return .text("late")
        }
        let limits: [Duration] = shortFirst ? [.milliseconds(500), .seconds(1_000_000)] : [.seconds(1_000_000), .milliseconds(500)]
        let first = rig.ness.httpRequest(withUrl: "x").set(timeout: limits[0]).dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.httpRequest(withUrl: "x").set(timeout: limits[1]).dataRequest()
        await wire.changed.wait { second.status.text.hasPrefix("running") }
        let (short, long) = shortFirst ? (first, second) : (second, first)
        // The timer of the shorter limit may start a moment after the caller has joined, and a byte may move after that.
        while !short.isCompleted {
            rig.clock.advance(by: .milliseconds(600))
            await Task.yield()
        }
        #expect(await short.nessError()?.kind == .timedOut)
        #expect(!long.isCompleted)
        gate.open()
        #expect(try await long.value.message.text == "late")
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a caller who joins during several exchanges on the wire, as of segments, leaves after its own idle timeout")
    func ownTimeoutOfSegments() async throws {
        let manual = ManualClock(), clock = PipelineClock(manual)
        let patient = HTTPRequest(url: try url("https://mock.test/x"), timeout: .seconds(100))
        var hasty = patient
        hasty.timeout = .seconds(5)
        let exchange = SharedExchange(patient, for: Call(patient, clock: clock), clock: clock)
        let first = try #require(exchange.join(patient, in: CallContext(Call(patient, clock: clock))))
        let context = CallContext(exchange.call).shared(exchange.call, exchange: exchange)
        let segments = (0..<3).map { _ in IdleWatchdog(clock, timeout: .seconds(100), in: context) }
        for segment in segments { segment.look() }
        segments[2].finish()
        let second = try #require(exchange.join(hasty, in: CallContext(Call(hasty, clock: clock))))
        manual.advance(by: .seconds(5))
        await #expect(throws: NessError.self) { try await second.wait() }
        #expect(exchange.callerCount == 1)
        first.leave()
        for segment in segments { segment.finish() }
    }

    private static let clock = PipelineClock(ManualClock())

    /// An exchange that one caller has joined, and what makes requests equal to its own.
    private static func exchange(_ path: String, user: Int = 0) throws -> (SharedExchange, RequestIdentity) {
        let request = HTTPRequest(url: try url("https://mock.test/\(path)"), headers: ["X-User": "\(user)"])
        let call = Call(request, clock: clock)
        let exchange = SharedExchange(request, for: call, clock: clock)
        _ = exchange.join(request, in: CallContext(call))
        return (exchange, try #require(RequestIdentity(request, in: CallContext(call), ignoring: [])))
    }

    @Test("a write closes the reads of its target that began before, however many writes follow")
    func closedReads() throws {
        var table = ExchangeTable()
        let (before, identity) = try Self.exchange("x")
        let (other, otherIdentity) = try Self.exchange("y")
        func insert(_ exchange: SharedExchange, _ identity: RequestIdentity) {
            let isInserted = table.insert(exchange, isRead: true, for: identity, replacing: nil)
            #expect(isInserted)
        }
        insert(before, identity)
        insert(other, otherIdentity)
        table.closeReads(of: "https://mock.test/x")
        #expect(table.running(identity) == nil && table.running(otherIdentity) === other)
        let (after, _) = try Self.exchange("x")
        insert(after, identity)
        #expect(table.writeCount == 1)
        for number in 0..<1_000 { table.closeReads(of: "https://mock.test/\(number)") }
        #expect(table.running(identity) === after && table.running(otherIdentity) === other)
        #expect(table.writeCount < 50, "writes that close no read are forgotten, although reads are in flight")
        table.remove(before, for: identity)
        #expect(table.running(identity) === after)
        table.closeReads(of: "https://mock.test/x")
        #expect(table.running(identity) == nil)
        table.remove(after, for: identity)
        table.remove(other, for: otherIdentity)
        insert(before, identity)
        #expect(table.running(identity) === before)
        for exchange in [before, after, other] { exchange.discard() }
    }

    @Test("an exchange is found among others for its URL, and all callers of one can be excluded")
    func many() throws {
        var table = ExchangeTable()
        let exchanges = try (0..<500).map { try Self.exchange("x", user: $0) }
        for (exchange, identity) in exchanges { _ = table.insert(exchange, isRead: true, for: identity, replacing: nil) }
        let running = table.running(exchanges[499].1)
        #expect(running === exchanges[499].0)
        for (exchange, identity) in exchanges { table.remove(exchange, for: identity) }
        for (exchange, _) in exchanges { exchange.discard() }

        let (shared, _) = try Self.exchange("x")
        let request = shared.call.request
        for _ in 0..<500 { _ = shared.join(request, in: CallContext(Call(request, clock: Self.clock))) }
        #expect(shared.callerCount == 501)
        shared.excludeCallers(becauseOf: Rejected())
        #expect(shared.callerCount == 0)
    }

    @Test("a read that begins after a write has completed does not join a read from before it")
    func readAfterWrite() async throws {
        let gate = TestGate()
        let rig = Rig()
        rig.mock.on(.get, "/x") { request in
            guard request.number == 1 else { return .text("after") }
            await gate.wait()
            return .text("before")
        }
        rig.mock.on(.put, "/x", replies: [.status(204), .status(409), .failure(.connectionLost)])
        let before = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        // A write to another URL changes nothing.
        rig.mock.on(.put, "/y") { _ in .status(204) }
        _ = try await rig.ness.httpRequest(.put, withUrl: "y").dataRequest().value
        _ = try await rig.ness.httpRequest(.put, withUrl: "x").set(stringBody: "1").dataRequest().value
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "after")
        gate.open()
        #expect(try await before.value.message.text == "before")
    }

    @Test("a duplicate identifier never merges requests with different credentials")
    func identifierAndCredential() async throws {
        let gate = TestGate()
        let rig = Rig()
        rig.mock.on(.get, "/x") { request in
            await gate.wait()
            return .text(request.headers["Authorization"] ?? "")
        }
        let request = rig.ness.httpRequest(withUrl: "x").set(duplicateIdentifier: "me")
        let mine = request.set(headers: ["Authorization": "mine"]).dataRequest()
        let yours = request.set(headers: ["Authorization": "yours"]).dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        gate.open()
        #expect(try await mine.value.message.text == "mine")
        #expect(try await yours.value.message.text == "yours")
    }

    private enum Trace {
        @TaskLocal static var name = "none"
    }

    @Test("a shared exchange inherits no caller's task-local values")
    func taskLocals() async throws {
        let seen = Log<String>()
        let ness = Ness {
            $0.baseURL = URL(string: "https://mock.test")
            $0.transport = FakeTransport { _, receive in
                seen.add(Trace.name)
                try await receive(.head(statusCode: 200, headers: [:]))
            }
        }
        _ = try await Trace.$name.withValue("caller") { try await ness.httpRequest(withUrl: "x").dataRequest().value }
        #expect(seen.entries == ["none"])
    }

    @Test("a caller who leaves a shared exchange gets no more events, and is released")
    func leaving() async throws {
        final class Listener: RequestActivity {
            let log = Log<Int>()
            func requestDidStart(attempt: Int) { log.add(attempt) }
            func requestDidSend(bytes: Int64, of total: Int64?) {}
            func requestDidReceive(bytes: Int64, of total: Int64?) {}
        }
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let clock = PipelineClock(ManualClock())
        let exchange = SharedExchange(request, for: Call(request, clock: clock), clock: clock)
        let leaving = Listener(), staying = Listener()
        func join(_ listener: Listener) throws -> SharedExchange.Share {
            let context = CallContext(Call(request, clock: clock)).with { $0.activity = listener }
            guard let share = exchange.join(request, in: context) else { throw Rejected() }
            return share
        }
        let first = try join(leaving), second = try join(staying)
        exchange.excludeCallers(except: second, becauseOf: Rejected())
        await #expect(throws: Rejected.self) { try await first.wait() }
        exchange.requestDidStart(attempt: 1)
        #expect(leaving.log.entries.isEmpty)
        #expect(staying.log.entries == [1])
        #expect(exchange.callerCount == 1)
        // A caller whose task is cancelled leaves, too.
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask { _ = try? await second.wait() }
        }
        #expect(exchange.callerCount == 0 && !exchange.isOpen)
    }

    @Test("a caller who decided to join an exchange just before its end gets its response; one that all have left takes nobody")
    func joiningAtTheEnd() async throws {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let clock = PipelineClock(ManualClock())
        func make() -> SharedExchange { SharedExchange(request, for: Call(request, clock: clock), clock: clock) }
        func join(_ exchange: SharedExchange, _ call: Call? = nil) -> SharedExchange.Share? {
            exchange.join(request, in: CallContext(call ?? Call(request, clock: clock)))
        }
        let ended = make()
        let first = try #require(join(ended))
        ended.start {
            ended.requestDidStart(attempt: 1)
            return .success(HTTPResponse(statusCode: 204, request: request))
        }
        #expect(try await first.wait().statusCode == 204)
        #expect(!ended.isOpen)
        let late = Call(request, clock: clock)
        #expect(try await join(ended, late)?.wait().statusCode == 204)
        #expect(late.tracker.attempts == 1, "it knows what happened before it joined")

        let left = make()
        _ = try #require(join(left))
        left.excludeCallers(becauseOf: Rejected())
        #expect(join(left) == nil, "it was left by all")
    }

    @Test("an exchange that does not start, because another caller was faster, is released with its caller")
    func discarded() async throws {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let clock = PipelineClock(ManualClock())
        weak var released: SharedExchange?
        do {
            let exchange = SharedExchange(request, for: Call(request, clock: clock), clock: clock)
            released = exchange
            #expect(exchange.join(request, in: CallContext(Call(request, clock: clock))) != nil, "it takes a caller")
            exchange.discard()
        }
        #expect(released == nil)
    }

    @Test("a request releases its objects at its end, even if it was observed and its response is kept")
    func noCycle() async throws {
        final class Kept: Sendable {}
        enum Holds: RequestOptionKey { static let defaultValue: Kept? = nil }
        let rig = Rig { $0.observers = [ActivityCounter(), RequestLogger { _ in }] }
        rig.mock.on(nil, "/x") { _ in .text("x") }
        weak var weakly: Kept?
        func send() async throws {
            let kept = Kept()
            weakly = kept
            let request = rig.ness.httpRequest(.post, withUrl: "x").set(option: Holds.self, to: kept)
            _ = try await request.dataRequest().value
            for try await _ in request.streamRequest().chunks {}
            _ = await request.validate(statusCode: 300).dataRequest().nessError()
        }
        try await send()
        rig.mock.forgetRequests()
        // The tasks release the requests a moment after the promises have settled.
        for _ in 0..<100_000 where weakly != nil { await Task.yield() }
        #expect(weakly == nil)
    }
}
