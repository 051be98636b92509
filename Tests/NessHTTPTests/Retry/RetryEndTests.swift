import Dispatch
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite("Retry: callbacks, drops and what is final", .inTurn(.withoutSockets))
struct RetryEndTests {
    // MARK: closures

    @Test("only the first call of the callback counts") func aCallbackThatIsCalledTwiceCountsOnce() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/again", replies: [.status(503), .status(200)])
        rig.mock.on(.get, "/enough", replies: [.status(503), .status(200)])
        let again = ClosureRetryControl { _, response, _, decide in
            decide(response?.statusCode == 503 ? .retryAfter(3) : .noRetry)
            decide(.noRetry)
            decide(.retryAfter(5))
        }
        let enough = ClosureRetryControl { _, _, _, decide in
            decide(.noRetry)
            decide(.retry)
        }
        #expect(try await rig.ness.httpRequest(withUrl: "again").dataRequest(with: again).value.message.statusCode == 200)
        #expect(rig.clock.sleeps == [.seconds(3)])
        #expect(try await rig.ness.httpRequest(withUrl: "enough").dataRequest(with: enough).value.message.statusCode == 503)
        #expect(rig.mock.requests.count == 3)
    }

    @Test("a callback that is released uncalled ends the attempts") func aCallbackThatIsNeverCalledEndsIt() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.status(503), .status(200)])
        let control = ClosureRetryControl { _, _, _, _ in }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value.message.statusCode == 503)
        #expect(rig.mock.requests.count == 1)
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

    // MARK: drops

    @Test(
        "a drop during the delay ends the request immediately, and nothing more is sent")
    func aDropDuringTheDelay() async throws {
        let rig = Rig(advances: false)
        rig.mock.on(.post, "/x", replies: [.status(503), .status(200)])
        let control = AskedControl(CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: 60))
        let promise = rig.ness.httpRequest(.post, withUrl: "x").dataRequest(with: control)
        let witness = Witness(promise)
        await rig.untilAsleep()
        promise.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        #expect(promise.status.text == "dropped")
        await rig.clock.waitUntil { $0.sleeperCount == 0 }
        rig.clock.advance(by: .seconds(120))
        await rig.sentinel()
        #expect(rig.mock.requests.map(\.url.path) == ["/x", "/sentinel"])
        #expect(control.asked.entries.count == 1)
        #expect(await witness.outcome() == ["dropped"])
    }

    @Test("no wait starts that would pass the deadline") func aDelayBeyondTheDeadlineIsNotBegun() async throws {
        let rig = Rig(advances: false)
        rig.mock.on(.get, "/x", replies: [.status(503), .status(200)])
        let control = CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: 60)
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(10)).dataRequest(with: control)
        #expect(try await promise.value.message.statusCode == 503)
        #expect(rig.clock.sleeps.isEmpty && rig.mock.requests.count == 1)
    }

    // MARK: final outcomes

    @Test("no control retries an untrusted certificate") func tlsIsFinal() async throws {
        let controls: [any RetryControl] = [CounterRetryControl(maxRetryCount: 3), BackoffRetryControl(maxRetryCount: 3)]
        for control in controls {
            let rig = Rig()
            rig.mock.on(.get, "/x", replies: [.failure(.tls), .status(200)])
            #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).nessError()?.kind == .tls)
            #expect(rig.mock.requests.count == 1)
        }
    }

    @Test("no control decides about an invalid request") func whatCantBeSentIsNotAskedAbout() async throws {
        let rig = Rig(), control = AskedControl(Eager())
        let promise = rig.ness.httpRequest(withUrl: "x").set(headers: ["X": "a\r\nb"]).dataRequest(with: control)
        #expect(await promise.nessError()?.kind == .invalidRequest)
        #expect(control.asked.entries.isEmpty)
    }

    @Test("a response that cannot be decoded is not fetched again") func aBodyThatCantBeDecodedIsNotFetchedAgain() async throws {
        let rig = Rig(), control = AskedControl(Eager())
        rig.mock.on(.get, "/x", replies: [.json("nonsense"), .json(User(id: 1, name: "a"))])
        let undecodable = await rig.ness.httpRequest(withUrl: "x").set(retry: control).dataRequest(decoding: User.self).nessError()
        #expect(undecodable?.kind == .decoding)
        #expect(control.asked.entries.isEmpty)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a request without a matching mock route fails immediately, regardless of the control")
    func anUnmatchedRequestIsNotRetried() async throws {
        let rig = Rig(), control = AskedControl(Eager())
        await #expect(throws: UnmatchedRequest.self) { _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value }
        #expect(rig.mock.requests.count == 1)
        #expect(control.asked.entries.isEmpty)
    }

    // MARK: the budget

    @Test("a window of the retry budget always allows the minimum number of retries") func aWindowAlwaysHasSoManyRetries() async throws {
        let rig = Rig { $0.retryBudget = RetryBudget(ratio: 0, minimum: 3, window: .seconds(10)) }
        rig.mock.on(.get, "/x", replies: [.status(503)])
        for _ in 0..<5 { _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value }
        #expect(rig.mock.requests.count == 8)
        rig.clock.advance(by: .seconds(9))
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(rig.mock.requests.count == 9)
        rig.clock.advance(by: .seconds(1))
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 9)).value
        #expect(rig.mock.requests.count == 13)
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

    @Test("above the minimum, retries are limited to a fraction of the requests") func retriesMayBeAPartOfTheRequests() async throws {
        let rig = Rig { $0.retryBudget = RetryBudget(ratio: 0.2, minimum: 0) }
        rig.mock.on(.get, "/good", replies: [.status(200)])
        rig.mock.on(.get, "/bad", replies: [.status(503)])
        let control = CounterRetryControl(maxRetryCount: 1)
        for _ in 0..<10 { _ = try await rig.ness.httpRequest(withUrl: "good").dataRequest(with: control).value }
        for _ in 0..<10 { _ = try await rig.ness.httpRequest(withUrl: "bad").dataRequest(with: control).value }
        // 20 requests allow 4 retries.
        #expect(rig.mock.requests.count == 24)
    }
}

extension Rig {
    /// Sends another request. Earlier requests have been sent by then, as far as a test can know without sleeping.
    func sentinel() async {
        mock.on(.get, "/sentinel") { _ in .status(204) }
        _ = try? await ness.httpRequest(withUrl: "sentinel").dataRequest().value
    }
}
