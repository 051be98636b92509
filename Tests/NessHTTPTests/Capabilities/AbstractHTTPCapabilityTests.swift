import Foundation
import NessHTTP
import NessTesting
import Testing

/// AbstractHTTP's capabilities by their numbers in the inventory, where no other suite tests them: the life of a request.
@Suite(.inTurn) struct AbstractHTTPCapabilityTests {
    private typealias Recorder = ObserverTests.Recorder

    // MARK: interrupted, and going again

    /// A manager whose hook sends the request again after a 401, once a gate opens.
    private func waiting(_ recorder: Recorder, _ reached: TestGate, _ go: TestGate) -> Rig {
        let rig = ObserverTests.rig([recorder]) {
            $0.loaders = [
                .followUp { response in
                    guard response.statusCode == 401 else { return .accept }
                    reached.open()
                    await go.wait()
                    return .retry
                }
            ]
        }
        rig.mock.on(.get, "/x", replies: [.status(401), .text("in")])
        return rig
    }

    @Test("ABS-13: a request rests while a hook waits, and continues without a second start")
    func interruption() async throws {
        let recorder = Recorder(), reached = TestGate(), go = TestGate()
        let rig = waiting(recorder, reached, go)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        let before = ObserverTests.sent + ["head"]
        for _ in 0..<100 { await Task.yield() }
        #expect(recorder.events == before && !promise.isCompleted && rig.mock.requests.count == 1)
        go.open()
        #expect(try await promise.value.message.text == "in")
        await recorder.log.wait(for: before.count + 7)
        #expect(recorder.events == before + ["exchange", "head", "received 200", "verdict", "success 200"] + ObserverTests.ended)
    }

    @Test("ABS-14: a drop while a hook waits ends the request like any drop")
    func breaking() async throws {
        let recorder = Recorder(), reached = TestGate()
        let rig = waiting(recorder, reached, TestGate())
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        promise.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        await rig.ness.reset()
        await recorder.log.wait(for: 7)
        #expect(recorder.events == ObserverTests.sent + ["head", "failure dropped"] + ObserverTests.ended)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("ABS-15: a spec is read each time it is sent; a builder, and a request that is sent again, do not change")
    func restartAndRepeat() async throws {
        struct Counted: ConnectionSpec {
            typealias ResponseModel = Void
            let calls = Tally()
            let url = "x"
            var headers: HTTPHeaders { ["X-Call": "\(calls.enter())"] }
        }
        let rig = Rig { $0.loaders = [.followUp { $0.statusCode == 202 ? .retry : .accept }] }
        rig.mock.on(.get, "/x", replies: [.status(200), .status(200), .status(202), .status(200)])
        let spec = Counted()
        try await rig.ness.request(spec).value
        try await rig.ness.request(spec).value
        let builder = rig.ness.httpRequest(spec)
        _ = try await builder.dataRequest().value
        _ = try await builder.dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["X-Call"] } == ["0", "1", "2", "2", "2"])
    }

    @Test("ABS-17: a request that is sent again after its end has a start and an end of its own")
    func secondCycle() async throws {
        let recorder = Recorder()
        let rig = ObserverTests.rig([recorder])
        rig.mock.on(.get, "/x", replies: [.status(200)])
        let builder = rig.ness.httpRequest(withUrl: "x"), cycle = ObserverTests.answered(200) + ["success 200"] + ObserverTests.ended
        for _ in 0..<2 { _ = try await builder.dataRequest().value }
        await recorder.log.wait(for: 2 * cycle.count)
        #expect(recorder.events == cycle + cycle)
    }

    @Test("ABS-18: late events of an abandoned request reach neither its caller nor the next request's")
    func superseded() async throws {
        let sent = Tally(), go = TestGate(), late = TestGate()
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                let number = sent.enter()
                // This exchange ignores the drop.
                if number == 0 { await Task.detached { await go.wait() }.value }
                defer { if number == 0 { late.open() } }
                try await receive(.head(statusCode: 200, headers: [:]))
                try await receive(.body(Data("\(number)".utf8)))
            }
        }
        // A POST, because a GET might still find the exchange of the old one and share it.
        let builder = ness.httpRequest(.post, withUrl: "http://x"), old = builder.dataRequest()
        let witness = Witness(old)
        await sent.wait(for: 1)
        old.drop()
        let new = builder.dataRequest()
        #expect(try await new.value.message.text == "1")
        go.open()
        await late.wait()
        await ness.reset()
        #expect(await witness.outcome() == ["dropped"])
        #expect(witness.ends == ["dropped"])
        #expect(new.result?.message.text == "1")
    }

    // MARK: who hears of it, and where

    @Test("ABS-19: observers, validators and parsing run off the main thread, handlers on the queue that they name")
    @MainActor func threads() async throws {
        struct Watched: ConnectionSpec {
            let places: Log<Bool>
            let url = "x"
            func validate(response: HTTPResponse) -> Bool {
                places.add(isOnMainQueue())
                return true
            }
            func parseResponse(response: HTTPResponse) throws -> Int {
                places.add(isOnMainQueue())
                return 1
            }
        }
        let places = Log<Bool>(), handlers = Log<Bool>()
        let rig = ObserverTests.rig([Recorder(at: { _ in places.add(isOnMainQueue()) })])
        rig.mock.on(.get, "/x", replies: [.status(200)])
        let promise = rig.ness.request(Watched(places: places))
        _ = try await promise.then(on: .main) { _ in handlers.add(isOnMainQueue()) }.then { handlers.add(isOnMainQueue()) }.value
        #expect(handlers.entries == [true, false])
        await places.wait(for: 11)
        #expect(places.entries == Array(repeating: false, count: 11))
    }

    @Test("ABS-21: one closure gets the error, with kind and response, and another the end")
    func closures() async throws {
        let rig = Rig(), heard = Log<String>()
        rig.mock.on(.get, "/x", replies: [.status(200), .text("gone", status: 410), .failure(.offline)])
        for _ in 0..<3 {
            let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: Void.self)
                .handle { error in
                    let error = error as? NessError
                    heard.add("\(error?.kind.rawValue ?? "") \(error?.response?.text ?? "-")")
                }
                .finally { _, error in heard.add(error == nil ? "end" : "end by error") }
            _ = try? await promise.value
        }
        #expect(heard.entries == ["end", "validation gone", "end by error", "offline -", "end by error"])
    }

    // MARK: managers

    @Test("ABS-24: the default manager can be replaced, which changes the requests made afterwards")
    func sharedConfiguration() async throws {
        let before = Ness.default
        defer { Ness.default = before }
        let rigs = (0..<2).map { number in Rig(onUnmatched: .reply(.status(200))) { $0.defaultHeaders = ["X-Number": "\(number)"] } }
        Ness.default = rigs[0].ness
        let old = Ness.default.httpRequest(withUrl: "x")
        Ness.default = rigs[1].ness
        _ = try await Ness.default.httpRequest(withUrl: "x").dataRequest().value
        _ = try await old.dataRequest().value
        #expect(rigs.map { $0.mock.requests.map { $0.headers["X-Number"] } } == [["0"], ["1"]])
    }

    @Test("ABS-29: requests in flight are kept, counted and dropped together, by group or all")
    func holder() async throws {
        let changes = Log<Int>(), go = TestGate(), counter = ActivityCounter { changes.add($0) }
        let rig = Rig { $0.observers = [counter] }
        rig.mock.on(.get, "/:name") { _ in
            await go.wait()
            return .status(200)
        }
        // The test keeps no reference to this request.
        rig.ness.httpRequest(withUrl: "unkept").dataRequest()
        let grouped = rig.ness.httpRequest(withUrl: "grouped").group("list").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        #expect(counter.count == 2)
        rig.ness.dropAllRequests(in: "list")
        #expect(await grouped.nessError()?.kind == .dropped)
        await changes.wait(for: 3)
        #expect(counter.count == 1)
        let last = rig.ness.httpRequest(withUrl: "last").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 3 }
        rig.ness.dropAllRequests()
        #expect(await last.nessError()?.kind == .dropped)
        await changes.wait(for: 6)
        #expect(changes.entries == [1, 2, 1, 2, 1, 0])
    }
}
