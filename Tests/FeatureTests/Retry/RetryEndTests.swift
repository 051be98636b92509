import Dispatch
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

@Suite("Retry: callbacks, drops and what is final", .inTurn(.withoutSockets))
struct RetryEndTests {
    // MARK: closures

    @Test("only the first call of the callback counts; one that is released uncalled ends the attempts")
    func aCallbackThatIsCalledTwiceCountsOnce() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/again", replies: [.status(503), .status(200)])
        for path in ["/enough", "/silent"] { rig.mock.on(.get, path, replies: [.status(503), .status(200)]) }
        let again = ClosureRetryControl { _, response, _, decide in
            decide(response?.statusCode == 503 ? .retryAfter(3) : .noRetry)
            decide(.noRetry)
            decide(.retryAfter(5))
        }
        let enough = ClosureRetryControl { _, _, _, decide in
            decide(.noRetry)
            decide(.retry)
        }
        let silent = ClosureRetryControl { _, _, _, _ in }
        #expect(try await rig.ness.httpRequest(withUrl: "again").dataRequest(with: again).value.message.statusCode == 200)
        #expect(rig.clock.sleeps == [.seconds(3)])
        for (path, control) in [("enough", enough), ("silent", silent)] {
            #expect(try await rig.ness.get(path).dataRequest(with: control).value.message.statusCode == 503)
        }
        #expect(rig.mock.requests.count == 4)
    }

    @Test("a callback that is kept and never called fails the request at its deadline")
    func aCallbackThatIsKeptFailsAtTheDeadline() async throws {
        let rig = Rig(advances: false), kept = Log<@Sendable (RetryControlDecision) -> Void>(), asked = TestGate()
        rig.mock.on(.get, "/x", replies: [.status(503), .status(200)])
        let control = ClosureRetryControl { _, _, _, decide in
            kept.add(decide)
            asked.open()
        }
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(5)).dataRequest(with: control)
        await asked.wait()
        rig.clock.advance(by: .seconds(5))
        #expect(await promise.nessError()?.kind == .timedOut)
        for decide in kept.entries { decide(.retry) }
        await rig.sentinel()
        #expect(rig.mock.requests.map(\.url.path) == ["/x", "/sentinel"])
    }

    /// The event that ends a call after a failed attempt.
    enum LateEnd: CaseIterable { case deadlineInTheDelay, deadlineInTheDecision, drop, reset, deadlineInTheNextAttempt }

    @Test("an error that ends a call between attempts keeps the response and the error of the last attempt", arguments: LateEnd.allCases)
    func cause(_ end: LateEnd) async throws {
        let rig = Rig(advances: false), asked = TestGate(), never = TestGate(), count = Tally()
        defer { never.open() }
        rig.mock.on(.get, "/x") { _ in
            if count.enter() > 0 { await never.wait() }
            return .text("busy", status: 503)
        }
        let kept = Log<@Sendable (RetryControlDecision) -> Void>()
        let control = ClosureRetryControl { _, _, _, decide in
            kept.add(decide)
            if end != .deadlineInTheDecision { decide(end == .deadlineInTheNextAttempt ? .retry : .retryAfter(3)) }
            asked.open()
        }
        let promise = rig.ness.get("x").set(deadline: .seconds(5)).validate().dataRequest(with: control)
        await asked.wait()
        switch end {
        case .deadlineInTheDecision: break
        case .deadlineInTheNextAttempt: await rig.mock.waitUntil { $0.requests.count == 2 }
        case .deadlineInTheDelay, .drop, .reset: await rig.clock.waitUntil { $0.sleeps.contains(.seconds(3)) }
        }
        switch end {
        case .deadlineInTheDelay, .deadlineInTheDecision, .deadlineInTheNextAttempt:
            // The delay may end before, and the next attempt then waits.
            rig.clock.advance(by: .seconds(5))
        case .drop: promise.drop()
        case .reset: await rig.ness.reset()
        }
        let error = await promise.nessError()
        #expect(error?.kind == ([.drop, .reset].contains(end) ? .dropped : .timedOut))
        #expect(error?.response?.text == "busy")
        #expect((error?.underlying as? NessError)?.kind == .validation)
    }

    @Test("several controls decide in order, until one wants another attempt")
    func anyAsksOneAfterTheOther() async throws {
        let rig = Rig(), third = AskedControl(Eager())
        rig.mock.on(.post, "/x", replies: [.failure(.cannotConnect), .status(500), .status(200)])
        let control = ClosureRetryControl.any([
            BackoffRetryControl(maxRetryCount: 1, initialDelay: .seconds(4)) { $0.upperBound },
            ClosureRetryControl { _, _, _, decide in decide(.noRetry) },
            third,
        ])
        _ = try await rig.ness.httpRequest(.post, withUrl: "x").dataRequest(with: control).value
        #expect(third.asked.entries.map(\.number) == [2])
        #expect(rig.clock.sleeps == [.seconds(4)])
        #expect(rig.mock.requests.count == 3)
        rig.mock.on(.post, "/y", replies: [.status(500), .status(200)])
        #expect(
            try await rig.ness.httpRequest(.post, withUrl: "y").dataRequest(with: ClosureRetryControl.any([])).value.message.statusCode
                == 500)
    }

    // MARK: final outcomes

    @Test("no control decides about an invalid request, a response that cannot be decoded, or a request without a matching mock route")
    func final() async throws {
        let rig = Rig(), control = AskedControl(Eager())
        rig.mock.on(.get, "/x", replies: [.json("nonsense"), .json(User(id: 1, name: "a"))])
        #expect(await rig.ness.get("x").set(headers: ["X": "a\r\nb"]).dataRequest(with: control).nessError()?.kind == .invalidRequest)
        #expect(await rig.ness.get("x").set(retry: control).dataRequest(decoding: User.self).nessError()?.kind == .decoding)
        await #expect(throws: UnmatchedRequest.self) { _ = try await rig.ness.get("y").dataRequest(with: control).value }
        #expect(control.asked.entries.isEmpty)
        #expect(rig.mock.requests.map(\.url.path) == ["/x", "/y"])
    }
    // MARK: the budget

    @Test("a window of the retry budget allows a fraction of its requests, and at least the minimum number of retries")
    func budget() {
        let clock = ManualClock()
        for (budget, requests, retries) in [
            (RetryBudget(ratio: 0, minimum: 3), 100, 3), (RetryBudget(ratio: 0.2, minimum: 0), 20, 4), (RetryBudget(), 10, 100),
        ] {
            let ledger = RetryLedger(budget, PipelineClock(clock))
            func taken() -> Int { (0..<200).count { _ in ledger.takeRetry() } }
            for _ in 0..<requests { ledger.countRequest(at: .zero) }
            #expect(taken() == retries && taken() == 0)
            clock.advance(by: .seconds(9))
            #expect(taken() == 0)
            // Afterwards another window starts.
            clock.advance(by: .seconds(1))
            #expect(taken() == budget.minimum)
        }
    }

    @Test("an unlimited retry budget allows any number of retries")
    func unlimited() {
        let ledger = RetryLedger(.unlimited, PipelineClock(ManualClock()))
        #expect((0..<10_000).count { _ in ledger.takeRetry() } == 10_000)
    }

    @Test("the error of a POST that used up the retry budget warns once that the server may have acted")
    func warnsOnce() async throws {
        let rig = Rig { $0.retryBudget = RetryBudget(ratio: 0, minimum: 0) }
        rig.mock.on(.post, "/x", replies: [.failure(.connectionLost)])
        let text = await rig.ness.post("x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).nessError()?.description ?? ""
        #expect(text.hasSuffix("allows no other attempt now; the server may have acted on the request"))
        #expect(text.components(separatedBy: "may have acted").count == 2)
    }

    @Test("the error and the observers name the retry budget if it kept a request from being retried")
    func namedBudget() async throws {
        let log = Log<String>()
        let rig = Rig {
            $0.retryBudget = RetryBudget(ratio: 0, minimum: 0)
            $0.observers = [RequestLogger { log.add($0) }]
        }
        rig.mock.on(.get, "/x", replies: [.failure(.connectionLost)])
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).nessError()
        #expect(error?.kind == .connectionLost && error?.context.reason.contains("the retry budget") == true)
        #expect(log.entries.count { $0.contains("warning: the retry budget") } == 1)
        _ = await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(log.entries.count { $0.contains("warning: the retry budget") } == 1)
    }
}
