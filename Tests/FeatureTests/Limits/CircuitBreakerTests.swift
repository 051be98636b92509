import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite("Circuit breaker", .inTurn(.withoutSockets))
struct CircuitBreakerTests {
    private let rig = Rig(advances: false) {
        $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 4, window: .seconds(10), openDuration: .seconds(30))
        $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
    }

    /// Sends a request, and returns its status or the kind of its error.
    private func get(_ address: String = "x") async -> String {
        do {
            return "\(try await rig.ness.httpRequest(withUrl: address).dataRequest().value.message.statusCode)"
        } catch {
            return (error as? NessError)?.kind.rawValue ?? "\(error)"
        }
    }

    private func gets(_ count: Int) async -> [String] {
        var ends: [String] = []
        for _ in 0..<count { ends.append(await get()) }
        return ends
    }

    @Test("at the failure ratio the breaker opens for that host alone, and sends nothing")
    func itOpensAtTheRatioAndSendsNothing() async throws {
        rig.mock.on(.get, "/x", replies: [.status(200), .status(200), .status(500), .failure(.connectionLost), .status(200)])
        #expect(await gets(6) == ["200", "200", "500", "connectionLost", "circuitOpen", "circuitOpen"])
        #expect(rig.mock.requests.count == 4)
        // Other hosts are not affected.
        rig.mock.on(.get, "https://other.test/x", replies: [.status(204)])
        #expect(await get("https://other.test/x") == "204")
    }

    @Test("the breaker stays closed below the minimum number of requests in a window") func fewRequestsSayNothing() async throws {
        rig.mock.on(.get, "/x", replies: [.status(500)])
        #expect(await gets(3) == ["500", "500", "500"])
        rig.clock.advance(by: .seconds(10))
        // A new window counts from zero.
        #expect(await gets(5) == ["500", "500", "500", "500", "circuitOpen"])
    }

    @Test("the breaker stays closed below the failure ratio") func belowTheRatioItStaysClosed() async throws {
        rig.mock.on(.get, "/x", replies: [.status(200), .status(200), .status(200), .status(500), .status(404), .status(429)])
        #expect(await gets(8) == ["200", "200", "200", "500", "404", "429", "429", "429"])
    }

    @Test("one successful probe closes the breaker") func oneProbeClosesIt() async throws {
        let gate = TestGate()
        rig.mock.on(.get, "/x", replies: [.status(503)])
        #expect(await gets(5).last == "circuitOpen")
        rig.mock.on(.get, "/x", after: gate) { _ in .status(200) }
        rig.clock.advance(by: .seconds(29))
        #expect(await get() == "circuitOpen")
        rig.clock.advance(by: .seconds(1))
        let probe = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 5 }
        #expect(await gets(3) == ["circuitOpen", "circuitOpen", "circuitOpen"])
        #expect(rig.mock.requests.count == 5)
        gate.open()
        #expect(try await probe.value.message.statusCode == 200)
        #expect(await gets(3) == ["200", "200", "200"])
    }

    @Test("a failed probe keeps the breaker open for the same time again") func aProbeThatFailsKeepsItOpenAsLongAgain() async throws {
        rig.mock.on(.get, "/x", replies: [.status(500)])
        #expect(await gets(5).last == "circuitOpen")
        rig.clock.advance(by: .seconds(30))
        #expect(await gets(2) == ["500", "circuitOpen"])
        rig.clock.advance(by: .seconds(29))
        #expect(await get() == "circuitOpen")
        rig.clock.advance(by: .seconds(1))
        #expect(await gets(2) == ["500", "circuitOpen"])
    }

    /// Keeps the changes of all circuit breakers.
    private final class Changes: RequestObserver {
        let entries = Log<String>()

        func circuitBreakerDidChange(_ change: CircuitBreakerChange) {
            entries.add("\(change.group ?? change.origin ?? ""): \(change.old) \(change.new)")
        }
    }

    @Test("observers are notified of each change of a breaker, even by a reset; a request that says nothing causes none")
    func changes() async throws {
        let changes = Changes(), origin = "https://mock.test:443: "
        rig.ness.observers = [changes]
        rig.mock.on(.get, "/x", replies: [.status(500)])
        #expect(await gets(5).last == "circuitOpen")
        rig.clock.advance(by: .seconds(30))
        #expect(await get() == "500")
        rig.clock.advance(by: .seconds(30))
        let gate = TestGate()
        rig.mock.on(.get, "/x", after: gate) { _ in .status(200) }
        for drops in [true, false] {
            let count = rig.mock.requests.count, probe = rig.ness.httpRequest(withUrl: "x").dataRequest()
            await rig.mock.waitUntil { $0.requests.count == count + 1 }
            if drops { probe.drop() } else { gate.open() }
            _ = try? await probe.value
        }
        rig.mock.on(.get, "/x", replies: [.status(500)])
        #expect(await gets(5).last == "circuitOpen")
        await rig.ness.reset()
        #expect(await get() == "500")
        let expected = [
            "closed open", "open halfOpen", "halfOpen open", "open halfOpen", "halfOpen closed", "closed open", "open closed",
        ]
        await changes.entries.wait { $0.count == expected.count }
        #expect(changes.entries.entries == expected.map { origin + $0 })
    }

    @Test("the change of a group's breaker names the group")
    func groupChange() async throws {
        let changes = Changes()
        let rig = Rig {
            $0.observers = [changes]
            $0.limitGroup = { _ in LimitGroup("billing", circuitBreaker: CircuitBreakerLimit(minimumRequests: 1)) }
        }
        rig.mock.on(.get, "/x", replies: [.status(500)])
        _ = try? await rig.ness.get("x").response()
        await changes.entries.wait { !$0.isEmpty }
        #expect(changes.entries.entries == ["billing: closed open"])
    }

    @Test("the error of an open breaker says that no request was sent; a reset closes the breaker")
    func theErrorSaysThatNothingWasSent() async throws {
        rig.mock.on(.get, "/x", replies: [.status(500)])
        _ = await gets(4)
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(error?.kind == .circuitOpen && error?.context.attempts == 0 && error?.context.reason.contains("mock.test") == true)
        await rig.ness.reset()
        #expect(await get() == "500")
    }

    @Test("a breaker that opens between the attempts of a request leaves the last response and error in the request's error")
    func cause() async throws {
        let rig = Rig {
            $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 2)
            $0.retryControl = CounterRetryControl(maxRetryCount: 5)
        }
        rig.mock.on(.get, "/x", replies: [.status(500), .text("no database", status: 500)])
        let rejected = await rig.ness.get("x").validate().dataRequest().nessError()
        #expect(rejected?.kind == .circuitOpen && rejected?.context.attempts == 2)
        #expect(rejected?.response?.text == "no database" && (rejected?.underlying as? NessError)?.kind == .validation)
        #expect(rejected?.description.contains("500 \"no database\"") == true)
        // A request without earlier attempts has no cause.
        let unsent = await rig.ness.get("x").dataRequest().nessError()
        #expect(unsent?.kind == .circuitOpen && unsent?.response == nil && unsent?.underlying == nil)
        rig.mock.on(.get, "https://b.test/x", replies: [.failure(.connectionLost)])
        let lost = await rig.ness.get("https://b.test/x").dataRequest().nessError()
        #expect(lost?.kind == .circuitOpen && lost?.response == nil && (lost?.underlying as? NessError)?.kind == .connectionLost)
    }

    @Test("when the breaker opens, no request that waited in the queue reaches the host")
    func queueBehindBreaker() async throws {
        let gate = TestGate()
        let rig = Rig(advances: false) {
            $0.maximumConnectionsPerHost = 2
            $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 1)
            $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        }
        rig.mock.on(.get, "/x", after: gate) { _ in .status(500) }
        let promises = (0..<202).map { _ in rig.ness.httpRequest(withUrl: "x").dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 2 }
        gate.open()
        let ends = try await Promise.allSettled(promises).value
        #expect(ends.count { (try? $0.get().message.statusCode) == 500 } == 2)
        for case .failure(let error) in ends { #expect((error as? NessError)?.kind == .circuitOpen) }
        #expect(rig.mock.requests.count == 2)
    }

    @Test("the head of a successful stream closes the breaker, while the body still arrives; that of a failed one counts as a failure")
    func streamClosesCircuit() async throws {
        let fails = Lock(true), end = TestGate(), clock = ManualClock()
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: fails.withLock { $0 } ? 500 : 200, headers: [:]))
                if !fails.withLock({ $0 }) { await end.wait() }
            }
            $0.clock = clock
            $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 2, openDuration: .seconds(30))
            $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        }
        defer { end.open() }
        let request = ness.get("https://mock.test/x")
        for _ in 0..<2 { #expect(try await request.streamRequest().value.message.statusCode == 500) }
        #expect(await request.dataRequest().nessError()?.kind == .circuitOpen)
        fails.withLock { $0 = false }
        clock.advance(by: .seconds(30))
        // The first one is the probe. Its body does not end.
        let probe = try await request.streamRequest().value
        #expect(try await request.streamRequest().value.message.statusCode == 200)
        #expect(probe.message.statusCode == 200)
    }
}
