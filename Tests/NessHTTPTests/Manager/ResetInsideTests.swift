import Dispatch
import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// A reset that is awaited inside what it has to wait for.
///
/// Each of these would hang if the reset waited for its caller, so that each has a time limit.
@Suite(.timeLimit(.minutes(15))) struct ResetInsideTests {
    /// A manager that a stage of its own can reach.
    private final class Link: Sendable {
        private let lock = Lock<Ness?>(nil)
        var ness: Ness? {
            get { lock.withLock { $0 } }
            set { lock.withLock { $0 = newValue } }
        }
        func reset() async { await ness?.reset() }
    }

    /// A manager whose wire does what a closure says before it answers the request for `x`. Other requests are answered at once.
    private func manager(
        _ link: Link, _ configure: (inout Ness.Configuration) -> Void = { _ in }, send: @escaping @Sendable () async -> Void
    ) -> Ness {
        let ness = Ness {
            $0.baseURL = URL(string: "https://mock.test")
            $0.clock = ManualClock()
            $0.transport = FakeTransport { request, receive in
                if request.url.lastPathComponent == "x" { await send() }
                try await receive(.head(statusCode: 200, headers: [:]))
            }
            configure(&$0)
        }
        link.ness = ness
        return ness
    }

    /// Sends a request that is dropped by a reset from inside, and checks that the manager works afterwards.
    private func check(_ ness: Ness, _ request: (RequestBuilder) -> RequestBuilder = { $0 }) async throws {
        let error = await request(ness.httpRequest(.post, withUrl: "x")).dataRequest().nessError()
        #expect(error?.kind == .dropped)
        // Ends with the one that runs, if it still does.
        await ness.reset()
        #expect(try await ness.httpRequest(withUrl: "after").dataRequest().value.message.statusCode == 200)
    }

    enum Way: CaseIterable { case directly, inATask, inAChild, inAGroup, inAHandler, inATaskOfAHandler, twice, twiceAtOnce }

    private static func reset(_ link: Link, _ way: Way) async {
        switch way {
        case .directly: await link.reset()
        case .inATask: await Task { await link.reset() }.value
        case .inAChild:
            async let reset: Void = link.reset()
            await reset
        case .inAGroup:
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await Task { await link.reset() }.value }
            }
        case .inAHandler: try? await Promise.resolved(()).then { _ async in await link.reset() }.value
        case .inATaskOfAHandler:
            let promise = Promise.resolved(()).then(on: DispatchQueue(label: "handler")) { Task { await link.reset() } }
            await (try? promise.value)?.value
        case .twice:
            await link.reset()
            await link.reset()
        case .twiceAtOnce:
            async let one: Void = link.reset()
            async let other: Void = link.reset()
            _ = await (one, other)
        }
    }

    @Test("a transport may await a reset of its manager in any way", arguments: Way.allCases)
    func aTransportAwaitsIt(_ way: Way) async throws {
        let link = Link()
        try await check(manager(link) { await Self.reset(link, way) })
    }

    @Test(
        "a loader at any place may await a reset, before and after the rest", arguments: LoaderPlace.allCases,
        [true, false])
    func aLoaderAwaitsIt(_ place: LoaderPlace, isBefore: Bool) async throws {
        let link = Link()
        let loader = ClosureLoader { request, next in
            let resets = request.url.lastPathComponent == "x"
            if resets && isBefore { await link.reset() }
            let response = try await next(request)
            if resets && !isBefore { await link.reset() }
            return response
        }
        try await check(manager(link, { $0.insert(loader, at: place) }, send: {}))
    }

    @Test("a download whose loader awaits a reset leaves no file and frees its destination") func aLoaderOfADownloadAwaitsIt() async throws
    {
        try await withFolder { folder in
            let link = Link()
            let loader = ClosureLoader { request, next in
                if request.url.lastPathComponent == "x" { await link.reset() }
                return try await next(request)
            }
            let ness = manager(link, { $0.insert(loader, at: .exchange) }, send: {})
            let destination = folder.appendingPathComponent("file")
            let error = await ness.httpRequest(withUrl: "x").downloadRequest(forSavedLocation: destination).nessError()
            #expect(error?.kind == .dropped)
            await ness.reset()
            #expect(folder.entries.isEmpty)
            // The file is free.
            _ = try await ness.httpRequest(withUrl: "after").downloadRequest(forSavedLocation: destination).value
            #expect(folder.entries == ["file"])
        }
    }

    @Test("a deferred body may await a reset") func aBodyAwaitsIt() async throws {
        let link = Link()
        let deferred = HTTPBody.Segment.deferred {
            await link.reset()
            return HTTPBody(Data())
        }
        try await check(manager(link) {}) { $0.set(body: HTTPBody(segments: [deferred], headers: [:])) }
    }

    @Test("a refresh of credentials may await a reset") func aRefreshAwaitsIt() async throws {
        let link = Link()
        let authentication = RefreshableAuthentication(
            credential: 1, apply: { ["Authorization": "\($0)"] },
            refresh: { credential, _ in
                await link.reset()
                return credential + 1
            })
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = authentication }
        link.ness = rig.ness
        rig.mock.on(.post, "/x", replies: [.status(401)])
        try await check(rig.ness)
    }

    @Test("a retry control may await a reset, and nothing is sent again") func aRetryControlAwaitsIt() async throws {
        struct Resetting: RetryControl {
            let link: Link
            func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
                await link.reset()
                return .retryAfter(0)
            }
        }
        let rig = Rig(onUnmatched: .reply(.status(200))), link = Link()
        link.ness = rig.ness
        rig.mock.on(.post, "/x", replies: [.status(503)])
        let error = await rig.ness.httpRequest(.post, withUrl: "x").dataRequest(with: Resetting(link: link)).nessError()
        #expect(error?.kind == .dropped && rig.mock.requests.count == 1)
        #expect(try await rig.ness.httpRequest(withUrl: "after").dataRequest().value.message.statusCode == 200)
    }

    @Test("an observer may start a reset") func anObserverBeginsIt() async throws {
        struct Observer: RequestObserver {
            let link: Link
            let ended: Log<String>
            func requestWillSend(_ request: HTTPRequest) {
                guard request.url.lastPathComponent == "x" else { return }
                Task {
                    await link.reset()
                    ended.add("reset")
                }
            }
        }
        let link = Link(), ended = Log<String>()
        let ness = manager(link) {
            $0.observers = [Observer(link: link, ended: ended)]
        } send: {
            await TestGate().wait()
        }
        try await check(ness)
        await ended.wait(for: 1)
    }

    @Test("a loader's own reset may await a reset of the manager") func aLoadersOwnResetAwaitsIt() async throws {
        struct Resetting: HTTPLoader {
            let link: Link
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) }
            func reset() async { await link.reset() }
        }
        let link = Link()
        let ness = manager(link) {
            $0.loaders = [Resetting(link: link)]
        } send: {
            await link.reset()
        }
        try await check(ness)
    }

    @Test("two managers may reset each other from inside") func twoManagersResetEachOther() async throws {
        let links = [Link(), Link()], met = Tally()
        let managers = links.indices.map { index in
            manager(links[index]) {
                met.enter()
                await met.wait(for: 2)
                await links[1 - index].reset()
            }
        }
        let promises = managers.map { $0.httpRequest(withUrl: "x").dataRequest() }
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        for ness in managers { await ness.reset() }
    }

    @Test("many exchanges may await a reset at the same time") func manyExchangesAwaitItAtOnce() async throws {
        let link = Link(), met = Tally()
        let ness = Ness {
            $0.baseURL = URL(string: "https://mock.test")
            $0.transport = FakeTransport { request, receive in
                if request.method == .post {
                    met.enter()
                    await met.wait(for: 6)
                    await link.reset()
                }
                try await receive(.head(statusCode: 200, headers: [:]))
            }
        }
        link.ness = ness
        let promises = (0..<6).map { _ in ness.httpRequest(.post, withUrl: "x").dataRequest() }
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        await ness.reset()
        #expect(try await ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
    }

    // MARK: C21

    @Test("a reset that is awaited outside completes after an exchange that awaits it inside")
    func outsideAndInside() async throws {
        let link = Link(), hasReset = TestGate(), gate = TestGate(), order = Log<String>()
        let ness = manager(link) {
            await link.reset()
            hasReset.open()
            await Task.detached { await gate.wait() }.value
            order.add("the exchange ended")
        }
        let promise = ness.httpRequest(withUrl: "x").dataRequest()
        await hasReset.wait()
        #expect(await promise.nessError()?.kind == .dropped)
        let outside = Task {
            await ness.reset()
            order.add("the reset ended")
        }
        // Also one that is canceled: nothing may be sent once it goes on.
        outside.cancel()
        // The reset runs until then.
        #expect(await ness.httpRequest(withUrl: "meanwhile").dataRequest().nessError()?.kind == .dropped)
        #expect(order.entries.isEmpty)
        gate.open()
        await outside.value
        #expect(order.entries == ["the exchange ended", "the reset ended"])
    }

    @Test("a task that outlives its exchange awaits a reset like any other task")
    func aTaskThatOutlivesItsExchange() async throws {
        let link = Link(), isOver = TestGate(), arrived = TestGate(), gate = TestGate(), order = Log<String>()
        let later = Lock<Task<Void, Never>?>(nil)
        let ness = Ness {
            $0.baseURL = URL(string: "https://mock.test")
            $0.transport = FakeTransport { request, receive in
                if request.url.lastPathComponent == "x" {
                    let task = Task {
                        await isOver.wait()
                        await link.reset()
                        order.add("the reset ended")
                    }
                    later.withLock { $0 = task }
                } else {
                    arrived.open()
                    await Task.detached { await gate.wait() }.value
                    order.add("the exchange ended")
                }
                try await receive(.head(statusCode: 200, headers: [:]))
            }
        }
        link.ness = ness
        _ = try await ness.httpRequest(withUrl: "x").dataRequest().value
        let other = ness.httpRequest(withUrl: "other").dataRequest()
        await arrived.wait()
        isOver.open()
        #expect(await other.nessError()?.kind == .dropped)
        #expect(await ness.httpRequest(withUrl: "meanwhile").dataRequest().nessError()?.kind == .dropped)
        #expect(order.entries.isEmpty)
        gate.open()
        await later.withLock { $0 }?.value
        #expect(order.entries == ["the exchange ended", "the reset ended"])
    }
}
