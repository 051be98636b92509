import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Deadlines that several calls share.
@Suite(.inTurn(.withoutSockets)) struct SharedDeadlineTests {
    @Test("calls that share a deadline end at the same time; one that starts later fails, and is not sent")
    func shared() async throws {
        let rig = Rig(advances: false), gate = TestGate()
        defer { gate.open() }
        rig.mock.on(.get, "/quick", replies: [.status(200)])
        rig.mock.on(.get, "/slow") { _ in
            await gate.wait()
            return .status(200)
        }
        let deadline = rig.ness.deadline(after: .seconds(10))
        _ = try await rig.ness.get("quick").set(deadline: deadline).response()
        let first = rig.ness.get("slow").set(deadline: deadline).dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        rig.clock.advance(by: .seconds(6))
        #expect(deadline.remaining == .seconds(4))
        let second = rig.ness.get("slow").set(headers: ["X": "2"]).set(deadline: deadline).dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 3 }
        rig.clock.advance(by: .seconds(4))
        for promise in [first, second] { #expect(await promise.nessError()?.kind == .timedOut) }
        let late = await rig.ness.get("quick").set(deadline: deadline).dataRequest().nessError()
        #expect(late?.kind == .timedOut && late?.context.attempts == 0 && rig.mock.requests.count == 3)
    }

    @Test("events that are read late get only the time that is left until a shared deadline")
    func events() async throws {
        let rig = Rig(advances: false)
        let deadline = rig.ness.deadline(after: .seconds(10))
        let events = rig.ness.get("events").set(deadline: deadline).reconnectingEvents()
        rig.clock.advance(by: .seconds(10))
        let error = await #expect(throws: NessError.self) { for try await _ in events {} }
        #expect(error?.kind == .timedOut && rig.mock.requests.isEmpty)
    }

    @Test("of a deadline as a time and one as a duration, the last that was set applies; both override the manager's")
    func precedence() throws {
        let rig = Rig(advances: false) { $0.deadline = .seconds(1) }
        let deadline = rig.ness.deadline(after: .seconds(10)), request = rig.ness.get("x")
        #expect(try request.build().deadline == .seconds(1))
        #expect(try request.set(deadline: .seconds(3)).set(deadline: deadline).build().deadline == .seconds(10))
        #expect(try request.set(deadline: deadline).set(deadline: .seconds(3)).build().deadline == .seconds(3))
        #expect(try request.set(deadline: deadline).set(timeout: .seconds(3)).build().deadline == .seconds(10))
    }

    @Test("a deadline that is not positive is a mistake as a duration, and has passed as a time")
    func passed() async throws {
        let rig = Rig(advances: false, onUnmatched: .reply(.status(200)))
        #expect(await rig.ness.get("x").set(deadline: .zero).dataRequest().nessError()?.kind == .invalidRequest)
        let deadline = rig.ness.deadline(after: .seconds(-1))
        #expect(await rig.ness.get("x").set(deadline: deadline).dataRequest().nessError()?.kind == .timedOut)
        #expect(rig.mock.requests.isEmpty)
    }
}
