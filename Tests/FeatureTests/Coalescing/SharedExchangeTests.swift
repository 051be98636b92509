import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Tests that callers who share a flight keep their own secrets, time limits and validators.
@Suite(.inTurn(.withoutSockets)) struct SharedExchangeTests {
    @Test("a caller's error names its own request and attempts, and hides that caller's secrets", arguments: [true, false])
    func ownSecrets(isStatus: Bool) async throws {
        let gate = TestGate(), handler = CountingHandler()
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.mock.on(.get, "/x", after: gate) { _ in isStatus ? .json(["badge": "1234"], status: 500) : .failure(.connectionLost) }
        let plain = rig.ness.get("x?badge=1234").validate(statusCode: 200)
        let first = plain.dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = plain.set(secretNames: ["badge"]).dataRequest()
        await handler.tally.wait(for: 1)
        gate.open()
        let open = await first.nessError(), hidden = try #require(await second.nessError())
        #expect(open?.description.contains("1234") == true)
        #expect(hidden.kind == (isStatus ? .validation : .connectionLost) && hidden.context.attempts == 1)
        #expect(!hidden.description.contains("1234") && hidden.response?.description.contains("1234") != true)
        #expect(hidden.request?.id != open?.request?.id)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a caller who joins one exchange or several, such as those of segments, leaves after its own idle timeout", arguments: [1, 3])
    func ownTimeout(count: Int) async throws {
        try await expectOwnTimeout(count) { segments, hasJoined in if count > 1, !hasJoined { segments[2].finish() } }
    }

    @Test("a caller who joins segments leaves after its own idle timeout, even if the segment with the next check ends before")
    func ownTimeoutOfTheRest() async throws {
        try await expectOwnTimeout(2, apart: .seconds(48)) { segments, hasJoined in
            // Plans the first segment's check again, at 100 seconds. The other one's is at 148, and the caller's timeout ends at 101.
            if hasJoined { segments[0].finish() } else { segments[0].checkIdleness() }
        }
    }

    /// Lets a caller with a short idle timeout join the flight of one with a long idle timeout.
    /// - Parameters:
    ///   - count: The number of exchanges.
    ///   - pause: The time after the start of each exchange.
    ///   - change: Changes the exchanges. Called before and after the caller joins.
    private func expectOwnTimeout(_ count: Int, apart pause: Duration = .zero, _ change: ([Exchange], Bool) -> Void) async throws {
        let manual = ManualClock(), clock = PipelineClock(manual)
        let patient = HTTPRequest(url: try url("https://mock.test/x"), timeout: .seconds(100))
        var hasty = patient
        hasty.timeout = .seconds(5)
        let flight = Flight(patient, in: Self.context(patient, clock))
        let first = try #require(flight.join(patient, in: Self.context(patient, clock)))
        let hosts = Limiter<ParsedURL.Origin>(limit: 1)
        let exchanges = (0..<count).map { _ in Exchange(flight, sink: nil, bytesBefore: 0, jar: nil, hosts, nil, clock) }
        for exchange in exchanges {
            try flight.add(exchange)
            try exchange.begin(nil, connectTimeout: nil)
            manual.advance(by: pause)
        }
        change(exchanges, false)
        let second = try #require(flight.join(hasty, in: Self.context(hasty, clock)))
        change(exchanges, true)
        manual.advance(by: .seconds(5))
        await #expect(throws: NessError.self) { _ = try await second.waiter?.wait() }
        #expect(flight.callerCount == 1)
        first.leave()
        for exchange in exchanges { exchange.finish() }
    }

    private static let clock = PipelineClock(ManualClock())

    private static func context(_ request: HTTPRequest, _ clock: PipelineClock = clock) -> CallContext {
        CallContext(Call(.success(request), CallOptions(), clock: clock))
    }

    /// A flight that one caller has joined, and what makes requests equal to its own.
    private static func flight(_ path: String, user: Int = 0) throws -> (Flight, RequestIdentity) {
        let request = HTTPRequest(url: try url("https://mock.test/\(path)"), headers: ["X-User": "\(user)"])
        let context = context(request)
        let identity = try #require(context.identity(of: request, ignoring: []))
        let flight = Flight(request, identity, in: context)
        _ = flight.join(request, in: context)
        return (flight, identity)
    }

    @Test("a write closes the reads of its target that started before, however many writes follow")
    func closedReads() throws {
        let table = FlightTable(ignoringHeaders: [], handler: { nil })
        let (before, identity) = try Self.flight("x")
        let (other, otherIdentity) = try Self.flight("y")
        let areInserted = [before, other].map { table.insert($0, replacing: nil) }
        #expect(areInserted == [true, true])
        table.closeReads(of: ExactText("https://mock.test/x"))
        #expect(table.joinableFlight(for: identity) == nil && table.joinableFlight(for: otherIdentity) === other)
        let (after, _) = try Self.flight("x")
        _ = table.insert(after, replacing: nil)
        #expect(table.writeCount == 1)
        for number in 0..<1_000 { table.closeReads(of: ExactText("https://mock.test/\(number)")) }
        #expect(table.joinableFlight(for: identity) === after && table.joinableFlight(for: otherIdentity) === other)
        #expect(table.writeCount < 50, "writes that close no read are forgotten, although reads are in flight")
        table.remove(before)
        #expect(table.joinableFlight(for: identity) === after)
        table.closeReads(of: ExactText("https://mock.test/x"))
        #expect(table.joinableFlight(for: identity) == nil)
        for flight in [before, after, other] { flight.discard() }
    }

    @Test("a duplicate identifier never merges requests with different credentials")
    func identifierAndCredential() async throws {
        let gate = TestGate()
        let rig = Rig()
        rig.mock.on(.get, "/x", after: gate) { request in .text(request.headers["Authorization"] ?? "") }
        let request = rig.ness.httpRequest(withUrl: "x").set(duplicateIdentifier: "me")
        let mine = request.set(headers: ["Authorization": "mine"]).dataRequest()
        let yours = request.set(headers: ["Authorization": "yours"]).dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        gate.open()
        #expect(try await mine.value.message.text == "mine")
        #expect(try await yours.value.message.text == "yours")
    }

    @Test("a flight that does not start, because another caller was faster, is released with its caller")
    func discarded() async throws {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        weak var released: Flight?
        do {
            let flight = Flight(request, in: Self.context(request))
            released = flight
            #expect(flight.join(request, in: Self.context(request)) != nil, "it takes a caller")
            flight.discard()
        }
        #expect(released == nil)
    }

    @Test("a request without queueing does not join an equal request that waits in a queue")
    func withoutQueueing() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x")))
        rig.ness.maximumConnectionsPerHost = 0
        let queued = rig.ness.get("x").dataRequest()
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        #expect(try await rig.ness.get("x").withoutQueueing().text() == "x")
        #expect(!queued.isCompleted)
        queued.drop()
    }

    @Test("a request that is not idempotent does not join an equal one that is: a stale 408 repeats only the latter")
    func idempotence() async throws {
        let gate = TestGate(), rig = Rig()
        rig.mock.on(.get, "/x", after: gate) { _ in .status(200) }
        let requests = [rig.ness.get("x"), rig.ness.get("x").set(isIdempotent: false)].map { $0.dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 2 }
        gate.open()
        for request in requests { _ = try await request.value }
    }
}
