import Foundation
import NessTesting
import Synchronization
import TestSupport
import Testing

@testable import NessHTTP

/// Observers are notified of exchanges and waits.
@Suite(.inTurn(.withoutSockets)) struct ExchangeObservationTests {
    /// Notes each event of a request under its path, and the numbers of its exchanges.
    final class Recorder: RequestObserver {
        let log = Log<String>()
        let exchanges = Log<RequestExchange>()
        let metrics = Log<RequestMetrics>()

        private func add(_ event: String, _ request: HTTPRequest) { log.add("\(request.tags.requestID ?? request.url.path): \(event)") }
        func events(of name: String) -> [String] {
            log.entries.filter { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
        }

        func requestWillWait(_ request: HTTPRequest, at place: WaitingPlace) { add("waits \(place)", request) }
        func requestDidWait(_ request: HTTPRequest, at place: WaitingPlace, for duration: Duration) {
            add("waited \(place) \(duration / .seconds(1))", request)
        }
        func requestWillRefresh(_ request: HTTPRequest) { add("refreshes", request) }
        func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) {
            exchanges.add(exchange)
            add("\(exchange.isJoined ? "joined" : "began") \(exchange.request.method) \(exchange.request.url.path)", request)
        }
        func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest) {
            add("head \(head.statusCode) of \(exchange.request.url.path)", request)
        }
        func requestDidEndExchange(_ exchange: RequestExchange, with outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest) {
            switch outcome {
            case .success(let response): add("ended \(response.statusCode) of \(exchange.request.url.path)", request)
            case .failure(let error):
                add("ended \((error as? NessError)?.kind.rawValue ?? "\(type(of: error))") of \(exchange.request.url.path)", request)
            }
        }
        func requestDidCollect(_ collected: RequestMetrics, of request: HTTPRequest) { metrics.add(collected) }
        func requestDidEnd(_ request: HTTPRequest) { add("end", request) }
    }

    private func rig(_ recorder: Recorder, _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Rig {
        Rig(advances: false) {
            $0.observers = [recorder]
            configure(&$0)
        }
    }

    /// Sends the request that all callers share, tagged with a caller's name.
    private func get(_ caller: String, over rig: Rig) -> DataPromise {
        rig.ness.get("a").set(tags: RequestTags(requestID: caller)).dataRequest()
    }

    @Test("each exchange of a request with a redirect and a failure starts and ends once, with its URL")
    func redirect() async throws {
        let recorder = Recorder()
        let rig = rig(recorder)
        rig.mock.on(.get, "/a", replies: [.failure(.connectionLost), .status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b", replies: [.text("hello")])
        _ = try await rig.ness.get("a").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(
            recorder.events(of: "/a") == [
                "began GET /a", "ended connectionLost of /a", "began GET /a", "head 302 of /a", "ended 302 of /a", "began GET /b",
                "head 200 of /b", "ended 200 of /b", "end",
            ])
        #expect(Set(recorder.exchanges.entries.map(\.id)).count == 3)
    }

    @Test("of several waits at one place, a caller who joins late is notified of those that have not ended")
    func latestWaits() {
        var known = LatestEvents(), now = LatestEvents()
        func places(_ events: [ExchangeEvent]) -> [String] {
            events.map { event in
                switch event {
                case .waits(let place): "waits \(place)"
                case .waited(let place): "waited \(place)"
                default: "other"
                }
            }
        }
        for _ in 1...2 { known.keep(.waits(.hostQueue)) }
        now.keep(.waits(.hostQueue))
        #expect(places(now.since(known)) == ["waited hostQueue"])
        #expect(places(known.since(now)) == ["waits hostQueue"])
        now.keep(.waits(.hostQueue))
        #expect(places(now.since(known)) == [])
    }

    @Test("a caller who joins late is notified of the connection, unless it knows the connection already")
    func latestConnection() throws {
        var now = LatestEvents()
        now.keep(.began(RequestExchange(HTTPRequest(url: try url("https://mock.test/a")))))
        let begun = now
        now.keep(.connection(ConnectionMetrics(isReused: true)))
        func connections(since known: LatestEvents) -> Int {
            now.since(known).count { if case .connection = $0 { true } else { false } }
        }
        #expect(connections(since: LatestEvents()) == 1 && connections(since: begun) == 1)
        #expect(connections(since: now) == 0)
    }

    @Test("a pause on the main thread notifies no observer there")
    func pauseOnMain() async throws {
        final class Threads: RequestObserver {
            let events = Log<String>()
            private func add(_ event: String) { events.add(Thread.isMainThread ? "\(event) on main" : event) }
            func requestDidPause(_ request: HTTPRequest) { add("pause") }
            func requestDidEndExchange(_ exchange: RequestExchange, with outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest)
            {
                add("end")
            }
            func requestDidEnd(_ request: HTTPRequest) { add("over") }
        }
        let threads = Threads(), started = TestGate(), never = TestGate()
        let rig = Rig { $0.observers = [threads] }
        rig.mock.on(.get, "/a") { _ in
            started.open()
            await never.wait()
            return .text("")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID().uuidString)")
        let download = rig.ness.get("a").downloadRequest(forSavedLocation: folder)
        await started.wait()
        await MainActor.run { download.pause() }
        await threads.events.wait(for: 2)
        await MainActor.run { download.drop() }
        await threads.events.wait(for: 3)
        #expect(threads.events.entries == ["pause", "end", "over"])
    }

    @Test("what a loader adds at the place of the exchange is in the exchange's request, and a secret in no description")
    func loaderAdds() async throws {
        let recorder = Recorder()
        let rig = rig(recorder) {
            $0.authentication = .bearer("hunter2")
            $0.insert(.modifyRequest { $0.tags = RequestTags(route: "r\($0.url.path)") }, at: .exchange)
        }
        rig.mock.on(.get, "/a", replies: [.text("x")])
        _ = try await rig.ness.get("a").dataRequest().value
        let exchange = try #require(recorder.exchanges.entries.first)
        #expect(exchange.request.tags.route == "r/a")
        #expect(exchange.request.headers["Authorization"] == "Bearer hunter2" && !"\(exchange.request)".contains("hunter2"))
    }

    @Test("callers who share an exchange are notified of it under one number; the others have joined", arguments: [false, true])
    func shared(startsLate: Bool) async throws {
        let recorder = Recorder()
        let rig = rig(recorder)
        let gate = TestGate()
        rig.mock.on(.get, "/a", after: gate) { _ in .text("x") }
        let first = get("1", over: rig)
        if startsLate { await recorder.log.wait(for: 1) }
        let others = [get("2", over: rig), get("3", over: rig)]
        await recorder.log.wait(for: 3)
        gate.open()
        for promise in [first] + others { _ = try await promise.value }
        let all = (1...3).map { recorder.events(of: "\($0)") }
        #expect(all.filter { $0.first == "began GET /a" }.count == 1)
        for events in all { #expect(events.dropFirst() == ["head 200 of /a", "ended 200 of /a", "end"]) }
        #expect(Set(recorder.exchanges.entries.map(\.id)).count == 1)
        #expect(recorder.exchanges.entries.filter(\.isJoined).count == 2)
    }

    @Test("a caller who leaves a shared exchange is notified of its end by the drop, and the others of the real one")
    func leaves() async throws {
        let recorder = Recorder()
        let rig = rig(recorder)
        let gate = TestGate()
        rig.mock.on(.get, "/a", after: gate) { _ in .text("x") }
        let first = get("1", over: rig)
        await recorder.log.wait(for: 1)
        let second = get("2", over: rig)
        await recorder.log.wait(for: 2)
        first.drop()
        await recorder.log.wait { $0.contains("1: end") }
        gate.open()
        _ = try await second.value
        #expect(recorder.events(of: "1") == ["began GET /a", "ended dropped of /a", "end"])
        #expect(recorder.events(of: "2") == ["joined GET /a", "head 200 of /a", "ended 200 of /a", "end"])
    }

    @Test("a stream whose reader leaves early ends its exchange before the request")
    func streamIsLeft() async throws {
        let recorder = Recorder()
        try await withServer({ _ in .script([.send(chunkedHead), .chunk("a\nb\n"), .stall]) }) {
            $0.observers = [recorder]
        } _: { server, ness in
            for try await _ in ness.get("x").streamRequest().lines { break }
            await recorder.log.wait { $0.last == "/x: end" }
            #expect(recorder.events(of: "/x") == ["began GET /x", "head 200 of /x", "ended CancellationError of /x", "end"])
        }
    }

    @Test("a caller who joins after a redirect is not notified of the exchange before it, even if the first caller has no observers")
    func joinsAfterRedirect() async throws {
        let recorder = Recorder(), gate = TestGate(), rig = Rig()
        rig.mock.on(.get, "/a", replies: [.status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b", after: gate) { _ in .text("x") }
        let first = rig.ness.get("a").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        let second = rig.ness.get("a").add(observer: recorder).dataRequest()
        await recorder.log.wait(for: 1)
        gate.open()
        for promise in [first, second] { _ = try await promise.value }
        await recorder.log.wait { $0.last == "/a: end" }
        #expect(recorder.events(of: "/a") == ["joined GET /b", "head 200 of /b", "ended 200 of /b", "end"])
    }

    @Test("waits in the queues have a start, an end and a length, and the metrics add them up; a drop ends a wait")
    func queues() async throws {
        let recorder = Recorder()
        let rig = rig(recorder) { $0.throttle = ThrottleLimit(rate: 1) }
        rig.mock.on(.get, "/a", replies: [.text("x")])
        rig.ness.maximumConnectionsPerHost = 0
        let first = rig.ness.get("a").set(tags: RequestTags(requestID: "1")).dataRequest()
        let dropped = rig.ness.get("a?own").set(tags: RequestTags(requestID: "2")).dataRequest()
        try await rig.ness.waitForRequests(2, at: .hostQueue)
        rig.clock.advance(by: .seconds(3))
        dropped.drop()
        await recorder.log.wait { $0.contains("2: end") }
        rig.ness.maximumConnectionsPerHost = 6
        _ = try await first.value
        let second = rig.ness.get("a").set(tags: RequestTags(requestID: "3")).dataRequest()
        try await rig.ness.waitForRequests(1, at: .throttle)
        rig.clock.advance(by: .seconds(1))
        _ = try await second.value
        #expect(recorder.events(of: "1").prefix(2) == ["waits hostQueue", "waited hostQueue 3.0"])
        #expect(recorder.events(of: "2") == ["waits hostQueue", "waited hostQueue 3.0", "end"])
        #expect(recorder.events(of: "3").prefix(2) == ["waits throttle", "waited throttle 1.0"])
        #expect(recorder.metrics.entries.map(\.waits) == [[.hostQueue: .seconds(3)], [.hostQueue: .seconds(3)], [.throttle: .seconds(1)]])
    }

    @Test("callers who share an exchange wait for its turn together, even one who joins during the wait")
    func sharedWait() async throws {
        let recorder = Recorder()
        let rig = rig(recorder)
        rig.mock.on(.get, "/a", replies: [.text("x")])
        rig.ness.maximumConnectionsPerHost = 0
        let first = get("1", over: rig)
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        rig.clock.advance(by: .seconds(2))
        let second = get("2", over: rig)
        await recorder.log.wait(for: 2)
        rig.clock.advance(by: .seconds(1))
        rig.ness.maximumConnectionsPerHost = 1
        for promise in [first, second] { _ = try await promise.value }
        #expect(recorder.events(of: "1").prefix(2) == ["waits hostQueue", "waited hostQueue 3.0"])
        #expect(recorder.events(of: "2").prefix(2) == ["waits hostQueue", "waited hostQueue 1.0"])
    }

    @Test("a refresh is started by one request, and all that need it wait for it")
    func refresh() async throws {
        let recorder = Recorder()
        let refreshing = TestGate(), go = TestGate()
        let rig = rig(recorder) {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": "Bearer \($0)"]
            } refresh: { _, _ in
                refreshing.open()
                await go.wait()
                return "new"
            }
        }
        rig.mock.on(.get, "/a") { request in request.headers["Authorization"] == "Bearer new" ? .text("x") : .status(401) }
        rig.mock.on(.get, "/b") { request in request.headers["Authorization"] == "Bearer new" ? .text("x") : .status(401) }
        let first = rig.ness.get("a").dataRequest()
        await refreshing.wait()
        let second = rig.ness.get("b").dataRequest()
        try await rig.ness.waitForRequests(2, at: .refresh)
        rig.clock.advance(by: .seconds(5))
        go.open()
        for promise in [first, second] { _ = try await promise.value }
        func waits(of path: String) -> [String] { recorder.events(of: path).filter { $0.contains("refresh") } }
        #expect(waits(of: "/a") == ["refreshes", "waits refresh", "waited refresh 5.0"])
        #expect(waits(of: "/b") == ["waits refresh", "waited refresh 5.0"])
    }

    @Test("an observer is notified of the start with the task-local values of the caller, however the request starts")
    func taskLocals() async throws {
        enum Local { @TaskLocal static var name = "none" }
        struct Observer: RequestObserver {
            let log: Log<String>
            func requestDidStart(_ request: HTTPRequest) { log.add("\(request.url.path) \(Local.name)") }
        }
        let log = Log<String>()
        let rig = Rig { $0.observers = [Observer(log: log)] }
        rig.mock.on(.get, "*", replies: [.text("x")])
        let ness = rig.ness
        try await withFolder { folder in
            try await Local.$name.withValue("caller") {
                _ = try await ness.get("a").dataRequest().value
                _ = try await ness.get("b").response()
                let paused = ness.get("c").downloadRequest(forSavedLocation: folder.appending(path: "c"))
                Local.$name.withValue("other") { paused.pause() }
                Local.$name.withValue("third") { paused.resume() }
                _ = try await paused.value
            }
        }
        #expect(log.entries == ["/a caller", "/b caller", "/c caller"])
    }
}
