import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite("Duplicates: decisions", .inTurn(.withoutSockets))
struct DuplicateDecisionTests {
    /// A server that answers "1" to the first exchange and "2" to the second, each when its gate opens.
    private final class Stage: Sendable {
        let rig: Rig
        let wire = ReceiveGates()
        let gates = [TestGate(), TestGate(), TestGate()]
        let began = Tally(), ended = Tally()
        let handler: CountingHandler

        init(_ decision: RequestDuplicatedDecision) {
            let handler = CountingHandler(decision)
            self.handler = handler
            rig = Rig { [wire] in
                $0.duplicatedHandler = handler
                wire.install(in: &$0)
            }
            rig.mock.on(.post, "/x") { [gates, began, ended] request in
                let number = request.requestNumberOnConnection
                began.enter()
                defer { if Task.isCancelled { ended.enter() } }
                await gates[number - 1].wait()
                return .text("\(number)")
            }
        }

        /// Sends an equal request. When this returns, the server handles the first request, and the handler has decided about each later
        /// one.
        func call(_ control: (any RetryControl)? = nil, heads: Tally = Tally()) async -> DataPromise {
            let before = handler.tally.total, isFirst = rig.mock.requests.isEmpty
            let request = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "b").set(retry: control)
            let promise = request.onHead { _ in heads.enter() }.dataRequest()
            if isFirst { await began.wait(for: 1) } else { await handler.tally.wait(for: before + 1) }
            return promise
        }
    }

    private func isSetAside(_ promise: DataPromise, by name: String, sourceLocation: SourceLocation = #_sourceLocation) async {
        let error = await promise.nessError(sourceLocation: sourceLocation)
        #expect(error?.kind == .duplicate, sourceLocation: sourceLocation)
        #expect(error?.context.reason.contains(name) == true, sourceLocation: sourceLocation)
    }

    @Test("the error of an excluded caller names that caller's request, not the later one") func requestOfExcludedCaller() async throws {
        let rig = Rig { $0.duplicatedHandler = DefaultDuplicatedHandler.dropPreviousRequest }, began = TestGate()
        rig.mock.on(.get, "/search") { request in
            guard request.number == 1 else { return .text("results") }
            began.open()
            await TestGate().wait()
            return .text("unused")
        }
        let old = rig.ness.get("search").set(urlParameters: ["q": "a"]).set(duplicateIdentifier: "search").dataRequest()
        await began.wait()
        let new = rig.ness.get("search").set(urlParameters: ["q": "ab"]).set(duplicateIdentifier: "search").dataRequest()
        let error = await old.nessError()
        #expect(error?.kind == .duplicate && error?.context.request?.url.query == "q=a" && error?.context.attempts == 1)
        #expect(try await new.value.message.text == "results")
    }

    @Test(
        "each usual handler decides which of three callers get the result of which exchange, and an excluded caller is not retried",
        arguments: [
            (.keepFirstCompletion, "ignoreCurrentCompletion", [1, nil, nil], 1),
            (.keepLatestCompletion, "useCurrentCompletion", [nil, nil, 1], 1),
            (.keepAllCompletion, "useBothCompletion", [1, 1, 1], 1),
            (.requestAllSeparately, "requestSeparately", [1, 2, 3], 3),
            (.dropPreviousRequest, "dropAndRequestAgain", [nil, nil, 3], 3),
        ] as [(DefaultDuplicatedHandler, String, [Int?], Int)])
    func usualHandlers(handler: DefaultDuplicatedHandler, name: String, outcomes: [Int?], exchanges: Int) async throws {
        let duplicate = DuplicatedRequest(kind: .data, request: HTTPRequest(url: try url("https://mock.test")))
        let stage = Stage(handler.decide(on: duplicate)), control = AskedControl(Eager())
        var callers: [DataPromise] = []
        for number in 1...3 {
            let caller = await stage.call(control)
            callers.append(caller)
            await stage.began.wait(for: min(number, exchanges))
            if number > 1, handler == .keepFirstCompletion { continue }
            // The handler decides before the caller joins.
            await stage.wire.changed.wait { caller.status.text.hasPrefix("running") }
        }
        for (caller, outcome) in zip(callers, outcomes) where outcome == nil { await isSetAside(caller, by: name) }
        for gate in stage.gates { gate.open() }
        for (caller, outcome) in zip(callers, outcomes) {
            if let outcome { #expect(try await caller.value.message.text == "\(outcome)") }
        }
        #expect(control.asked.entries.isEmpty)
        #expect(stage.handler.asked.entries.first?.callerCount == 1 && stage.handler.asked.entries.map(\.kind) == [.data, .data])
        #expect(stage.rig.mock.requests.count == exchanges)
    }

    @Test(
        "a decision with a completion passes it the result of the exchange, and excludes both callers with their listeners",
        arguments: [true, false])
    func completion(replaces: Bool) async throws {
        let got = Log<String>(), heads = Tally()
        let completion: @Sendable (Result<HTTPResponse, any Error>) -> Void = { got.add((try? $0.get().text) ?? "error") }
        let stage = Stage(replaces ? .dropAndRequestAgainWithCompletion(completion) : .useCompletion(completion))
        for caller in [await stage.call(heads: heads), await stage.call(heads: heads)] {
            await isSetAside(caller, by: replaces ? "dropAndRequestAgainWithCompletion" : "useCompletion")
        }
        for gate in stage.gates { gate.open() }
        await got.wait(for: 1)
        #expect(got.entries == [replaces ? "2" : "1"])
        #expect(heads.total == 0)
        #expect(stage.rig.mock.requests.count == (replaces ? 2 : 1))
    }

    @Test(
        "an exchange that only a completion waits for ends with a reset, a drop of all requests and a shutdown; the completion gets the drop",
        arguments: [0, 1, 2], [true, false])
    func endOfACompletion(way: Int, replaces: Bool) async throws {
        let got = Log<NessError.Kind?>()
        let completion: @Sendable (Result<HTTPResponse, any Error>) -> Void = { result in
            if case .failure(let error) = result { got.add((error as? NessError)?.kind) }
        }
        let stage = Stage(replaces ? .dropAndRequestAgainWithCompletion(completion) : .useCompletion(completion))
        let callers = [await stage.call(), await stage.call()]
        for caller in callers { #expect(await caller.nessError()?.kind == .duplicate) }
        // An exchange that is ended before the server has its request never gets there.
        if replaces { await stage.began.wait(for: 2) }
        switch way {
        case 0: await stage.rig.ness.reset()
        case 1: stage.rig.ness.dropAllRequests()
        default: await stage.rig.ness.shutdown(within: .zero)
        }
        await got.wait(for: 1)
        #expect(got.entries == [.dropped])
        await stage.ended.wait(for: replaces ? 2 : 1)
    }

    @Test("a download that a completion takes over is saved in its file")
    func completionOfADownload() async throws {
        let saved = Log<URL?>(), first = TestGate()
        let completion: @Sendable (Result<HTTPResponse, any Error>) -> Void = { saved.add((try? $0.get())?.file) }
        try await withDownloads { number, _ in
            if number == 1 { await first.wait() }
            return .text("content")
        } configure: {
            $0.duplicatedHandler = CountingHandler(.dropAndRequestAgainWithCompletion(completion))
        } _: { rig in
            let earlier = rig.start()
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            for caller in [earlier, rig.start()] { #expect(await caller.nessError()?.kind == .duplicate) }
            await saved.wait(for: 1)
            first.open()
            #expect(saved.entries == [rig.file] && rig.saved == Data("content".utf8))
        }
    }

    @Test("a write that a completion takes over outdates the cache when it ends, not when its callers are excluded")
    func completionOfAWrite() async throws {
        let done = TestGate(), mayEnd = TestGate()
        let handler = CountingHandler(.useCompletion { _ in done.open() })
        let rig = CacheRig { $0.duplicatedHandler = handler }
        rig.count(["Cache-Control": "max-age=60"])
        rig.mock.on(.put, "/x", after: mayEnd) { _ in .status(204) }
        let first = rig.ness.put("x").set(stringBody: "b").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.put("x").set(stringBody: "b").dataRequest()
        for caller in [first, second] { #expect(await caller.nessError()?.kind == .duplicate) }
        // The state before the write.
        #expect(try await rig.get().text == "1")
        mayEnd.open()
        await done.wait()
        #expect(try await rig.get().text == "2")
    }
}
