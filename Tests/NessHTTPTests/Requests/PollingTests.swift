import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct PollingTests {
    struct Tick: Codable, Sendable, Equatable { let id: Int }

    struct GetTick: ConnectionSpec {
        typealias ResponseModel = Tick
        let url = "tick"
    }

    private static func tick(_ id: Int) -> Reply { .json(Tick(id: id)) }

    /// Returns the elements of a polling, and the error with which it ends.
    private func collect(_ polling: ResponseSequence<Tick>) async -> ([Int], (any Error)?) {
        var seen: [Int] = []
        do {
            for try await tick in polling { seen.append(tick.id) }
            return (seen, nil)
        } catch {
            return (seen, error)
        }
    }

    @Test(
        "polling continues after a network error",
        arguments: [TransportError.offline, .cannotConnect, .timedOut, .connectionLost, .truncated, .malformedResponse])
    func network(failure: TransportError) async {
        let rig = Rig()
        rig.mock.on(.get, "/tick", replies: [Self.tick(1), .failure(failure), Self.tick(2), .status(500)])
        let (seen, error) = await collect(rig.ness.poll(GetTick(), every: .seconds(30)))
        #expect(seen == [1, 2])
        #expect((error as? NessError)?.kind == .validation)
        #expect(rig.clock.sleeps == [.seconds(30), .seconds(30), .seconds(30)])
    }

    @Test("polling ends with the error of a rejected response, of a decoding failure, or of a drop")
    func ends() async {
        for (reply, kind) in [
            (Reply.status(404), "validation"), (Reply.chunked([Data("?".utf8)], headers: ["Content-Type": "application/json"]), "decoding"),
            (.text("?"), "validation"), (.failure(.tls), "tls"),
        ] {
            let rig = Rig()
            rig.mock.on(.get, "/tick", replies: [Self.tick(1), reply, Self.tick(2)])
            let (seen, error) = await collect(rig.ness.poll(TypedRequest<Tick>.get("tick"), every: .seconds(1)))
            #expect(seen == [1])
            #expect((error as? NessError)?.kind.rawValue == kind)
            #expect(rig.mock.requests.count == 2)
        }
    }

    @Test("polling ends on the errors that the caller names")
    func told() async {
        let rig = Rig()
        rig.mock.on(.get, "/tick", replies: [.status(503), .text("?"), Self.tick(1), .failure(.timedOut)])
        let (seen, error) = await collect(
            rig.ness.poll(GetTick(), every: .seconds(1)) { if case NessError.Kind.timedOut = $0 { true } else { false } })
        #expect(seen == [1])
        #expect((error as? NessError)?.kind == .timedOut)
    }

    @Test("after its error a polling gives no element and sends no request")
    func over() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/tick", replies: [.status(500), Self.tick(1)])
        let iterator = rig.ness.poll(GetTick(), every: .seconds(1)).makeAsyncIterator()
        await #expect(throws: NessError.self) { _ = try await iterator.next() }
        #expect(try await iterator.next() == nil)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("the interval counts from the last response; a slow loop body neither adds to it nor causes extra requests")
    func interval() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/tick") { _ in Self.tick(1).delayed(by: .seconds(2)) }
        let iterator = rig.ness.poll(GetTick(), every: .seconds(10)).makeAsyncIterator()
        _ = try await iterator.next()
        rig.clock.advance(by: .seconds(4))
        _ = try await iterator.next()
        rig.clock.advance(by: .seconds(100))
        _ = try await iterator.next()
        #expect(rig.clock.sleeps == [.seconds(2), .seconds(6), .seconds(2), .seconds(2)])
    }

    @Test("requests of a polling never overlap, and end when the loop is left")
    func leaving() async throws {
        let rig = Rig()
        let tally = Tally()
        rig.mock.on(.get, "/tick") { _ in
            let before = tally.enter()
            await Task.yield()
            tally.leave()
            return Self.tick(before)
        }
        for try await tick in rig.ness.poll(GetTick(), every: .seconds(1)) where tick.id == 4 { break }
        #expect(tally.total == 5 && tally.most == 1)
        #expect(rig.clock.sleeps.count == 4 && rig.clock.sleeperCount == 0)
    }

    @Test("a canceled task ends its polling immediately, during a wait and during a request")
    func cancelling() async throws {
        let rig = Rig(advances: false)
        let reached = TestGate()
        rig.mock.on(.get, "/tick", replies: [Self.tick(1)])
        let waiting = Task { await collect(rig.ness.poll(GetTick(), every: .seconds(1))) }
        await rig.untilAsleep()
        waiting.cancel()
        let (seen, error) = await waiting.value
        #expect(seen == [1] && (error as? NessError)?.kind == .dropped)
        #expect(await rig.clock.waitUntil { $0.sleeperCount == 0 })
        rig.mock.on(.get, "/tick") { _ in
            reached.open()
            await TestGate().wait()
            return Self.tick(2)
        }
        let asking = Task { await collect(rig.ness.poll(GetTick(), every: .seconds(1), endsOn: { _ in false })) }
        await reached.wait()
        asking.cancel()
        #expect((await asking.value.1 as? NessError)?.kind == .dropped)
        #expect(rig.mock.requests.count == 2)
    }

    @Test("two loops over one polling do not disturb each other; no run loop is needed")
    func twice() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/tick") { _ in Self.tick(1) }
        let polling = rig.ness.poll(GetTick(), every: .seconds(1))
        let one = polling.makeAsyncIterator(), other = polling.makeAsyncIterator()
        for _ in 0..<3 {
            #expect(try await one.next() == Tick(id: 1))
            #expect(try await other.next() == Tick(id: 1))
        }
        #expect(rig.mock.requests.count == 6)
    }
}
