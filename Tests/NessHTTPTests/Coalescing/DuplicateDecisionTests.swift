import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite("Duplicates: decisions", .inTurn(.withoutSockets))
struct DuplicateDecisionTests {
    /// A server that answers "1" to the first exchange and "2" to the second, each when its gate opens.
    private final class Stage: Sendable {
        let rig = Rig()
        let gates = [TestGate(), TestGate(), TestGate()]
        let began = Tally(), ended = Tally()
        let handler: CountingHandler

        init(_ decision: RequestDuplicatedDecision) {
            handler = CountingHandler(decision)
            rig.ness.duplicatedHandler = handler
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
        func call(_ control: (any RetryControl)? = nil) async -> DataPromise {
            let before = handler.tally.total, isFirst = rig.mock.requests.isEmpty
            let promise = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "b").dataRequest(with: control)
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

    @Test("the request of an excluded caller is not retried") func aCallerWhoWasSetAsideIsNotRetried() async throws {
        let stage = Stage(.dropAndRequestAgain), control = AskedControl(Eager())
        let old = await stage.call(control), new = await stage.call(control)
        await isSetAside(old, by: "dropAndRequestAgain")
        await stage.rig.mock.waitUntil { $0.requests.count == 2 }
        stage.gates[1].open()
        #expect(try await new.value.message.text == "2")
        #expect(control.asked.entries.isEmpty)
        #expect(stage.rig.mock.requests.count == 2)
    }

    @Test("ignoreCurrentCompletion excludes the current caller")
    func ignoreCurrentCompletion() async throws {
        let stage = Stage(.ignoreCurrentCompletion)
        let first = await stage.call(), second = await stage.call(), third = await stage.call()
        await isSetAside(second, by: "ignoreCurrentCompletion")
        await isSetAside(third, by: "ignoreCurrentCompletion")
        stage.gates[0].open()
        #expect(try await first.value.message.text == "1")
        #expect(stage.rig.mock.requests.count == 1)
    }

    @Test("useCurrentCompletion excludes the earlier callers")
    func useCurrentCompletion() async throws {
        let stage = Stage(.useCurrentCompletion)
        let first = await stage.call(), second = await stage.call()
        await isSetAside(first, by: "useCurrentCompletion")
        let third = await stage.call()
        await isSetAside(second, by: "useCurrentCompletion")
        stage.gates[0].open()
        #expect(try await third.value.message.text == "1")
        #expect(stage.rig.mock.requests.count == 1)
        #expect(stage.handler.asked.entries.map(\.callerCount) == [1, 1])
    }

    @Test("useBothCompletion gives both callers the result of one exchange")
    func useBothCompletion() async throws {
        let stage = Stage(.useBothCompletion)
        let callers = [await stage.call(), await stage.call()]
        stage.gates[0].open()
        for caller in callers { #expect(try await caller.value.message.text == "1") }
        #expect(stage.rig.mock.requests.count == 1)
        #expect(stage.handler.asked.entries.map(\.kind) == [.data])
    }

    @Test("a decision with a completion passes it the result of the exchange, and excludes both callers", arguments: [true, false])
    func completion(replaces: Bool) async throws {
        let got = Log<String>(), done = TestGate()
        let completion: @Sendable (Result<HTTPResponse, any Error>) -> Void = { result in
            got.add((try? result.get().text) ?? "error")
            done.open()
        }
        let stage = Stage(replaces ? .dropAndRequestAgainWithCompletion(completion) : .useCompletion(completion))
        let callers = [await stage.call(), await stage.call()]
        for caller in callers {
            await isSetAside(caller, by: replaces ? "dropAndRequestAgainWithCompletion" : "useCompletion")
        }
        let count = replaces ? 2 : 1
        stage.gates[count - 1].open()
        await done.wait()
        #expect(got.entries == ["\(count)"])
        #expect(stage.rig.mock.requests.count == count)
    }

    @Test(
        "an exchange that only a completion waits for ends with a reset, a drop of all requests and a shutdown; the completion gets the drop",
        arguments: [0, 1, 2])
    func endOfACompletion(way: Int) async throws {
        for replaces in [true, false] {
            let got = Log<NessError.Kind?>(), done = TestGate()
            let completion: @Sendable (Result<HTTPResponse, any Error>) -> Void = { result in
                if case .failure(let error) = result { got.add((error as? NessError)?.kind) }
                done.open()
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
            await done.wait()
            #expect(got.entries == [.dropped])
            await stage.ended.wait(for: replaces ? 2 : 1)
        }
    }

    @Test("requestSeparately sends the duplicate on its own") func requestSeparately() async throws {
        let stage = Stage(.requestSeparately)
        let first = await stage.call(), second = await stage.call()
        await stage.rig.mock.waitUntil { $0.requests.count == 2 }
        stage.gates[1].open()
        #expect(try await second.value.message.text == "2")
        stage.gates[0].open()
        #expect(try await first.value.message.text == "1")
    }

    @Test("each default handler makes its decision") func theUsualHandlers() throws {
        let duplicate = DuplicatedRequest(kind: .data, request: HTTPRequest(url: try url("https://mock.test")))
        let names = [
            DefaultDuplicatedHandler.dropPreviousRequest, .keepAllCompletion, .keepFirstCompletion, .keepLatestCompletion,
            .requestAllSeparately,
        ].map { "\($0.decide(on: duplicate))" }
        #expect(
            names == ["dropAndRequestAgain", "useBothCompletion", "ignoreCurrentCompletion", "useCurrentCompletion", "requestSeparately"])
    }

    @Test("a download that a completion takes over is saved in its file")
    func completionOfADownload() async throws {
        let saved = Log<URL?>(), done = TestGate(), first = TestGate()
        let completion: @Sendable (Result<HTTPResponse, any Error>) -> Void = { result in
            saved.add((try? result.get())?.file)
            done.open()
        }
        try await withDownloads { number, _ in
            if number == 1 { await first.wait() }
            return .text("content")
        } configure: {
            $0.duplicatedHandler = CountingHandler(.dropAndRequestAgainWithCompletion(completion))
        } _: { rig in
            let earlier = rig.start()
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            for caller in [earlier, rig.start()] { #expect(await caller.nessError()?.kind == .duplicate) }
            await done.wait()
            first.open()
            #expect(saved.entries == [rig.file] && rig.saved == Data("content".utf8))
        }
    }

    @Test("a write that a completion takes over outdates the cache when it ends, not when its callers are excluded")
    func completionOfAWrite() async throws {
        let done = TestGate(), writes = Tally(), mayEnd = TestGate()
        let handler = CountingHandler(.useCompletion { _ in done.open() })
        let rig = CacheRig { $0.duplicatedHandler = handler }
        rig.count(["Cache-Control": "max-age=60"])
        rig.mock.on(.put, "/x") { _ in
            writes.enter()
            await mayEnd.wait()
            return .status(204)
        }
        let first = rig.ness.put("x").set(stringBody: "b").dataRequest()
        await writes.wait(for: 1)
        let second = rig.ness.put("x").set(stringBody: "b").dataRequest()
        for caller in [first, second] { #expect(await caller.nessError()?.kind == .duplicate) }
        // The state before the write.
        #expect(try await rig.get().text == "1")
        mayEnd.open()
        await done.wait()
        #expect(try await rig.get().text == "2")
    }
}
