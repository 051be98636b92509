import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A loader that sends a request again while the first response is late.
@Suite("Hedging", .inTurn) struct HedgingTests {
    /// Sends a second request after an event, and returns the first response.
    private struct Hedge: HTTPLoader {
        let isLate: @Sendable () async -> Void

        func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
            try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
                group.addTask { try await next(request) }
                group.addTask {
                    await isLate()
                    try Task.checkCancellation()
                    return try await next(request)
                }
                defer { group.cancelAll() }
                var failure: (any Error)?
                while let result = await group.nextResult() {
                    do { return try result.get() } catch { failure = failure ?? error }
                }
                throw failure ?? CancellationError()
            }
        }
    }

    @Test(
        "a loader that sends again while the first response is late gets the second, and the first ends on the wire",
        arguments: LoaderPlace.allCases, [HTTPMethod.get, .post])
    func secondRequest(place: LoaderPlace, method: HTTPMethod) async throws {
        let received = Tally(), hangs = TestGate()
        let server = try await TestServer.start { _ in
            if received.enter() == 0 { await hangs.wait() }
            return .text("in time")
        }
        let ness = Ness {
            $0.baseURL = server.url
            $0.insert(Hedge { await received.wait(for: 1) }, at: place)
        }
        try await stopping(server) { server in
            let text = try await ness.httpRequest(method, withUrl: "x").text()
            #expect(text == "in time")
            #expect(received.total == 2)
            // The connection of the first is closed.
            await server.waitUntil { $0.openConnections <= 1 }
            hangs.open()
        }
    }

    @Test("a POST that joins an equal one of a loader, on which the server has acted, is not sent again by the manager's policy")
    func joinsARequestOfALoader() async throws {
        let gate = TestGate(), handler = CountingHandler(), asked = AskedControl()
        let rig = Rig {
            $0.duplicatedHandler = handler
            $0.retryControl = asked
            $0.insert(
                ClosureLoader { request, next in
                    guard request.url.path == "/outer" else { return try await next(request) }
                    return try await next(HTTPRequest(.post, url: request.url.deletingLastPathComponent().appending(path: "a")))
                }, at: .attempt)
        }
        rig.mock.on(.post, "/a", after: gate) { _ in .status(303, headers: ["Location": "/b"]) }
        rig.mock.on(.get, "/b", replies: [.failure(.cannotConnect)])
        let outer = rig.ness.post("outer").set(retry: .never).dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let joined = rig.ness.post("a").dataRequest()
        await handler.tally.wait(for: 1)
        gate.open()
        _ = await outer.nessError()
        let error = await joined.nessError()
        #expect(error?.kind == .cannotConnect && error?.mayHaveReachedServer == true)
        #expect(rig.mock.requests.filter { $0.method == .post }.count == 1 && asked.asked.entries.isEmpty)
    }

    @Test("a caller who joins a request that is sent twice gets the response to the first", arguments: [LoaderPlace.call, .attempt])
    func joining(place: LoaderPlace) async throws {
        let gate = TestGate(), second = TestGate(), tally = Tally(), handler = CountingHandler()
        let rig = Rig {
            $0.duplicatedHandler = handler
            $0.insert(
                ClosureLoader { request, next in
                    guard request.headers.contains("X-Hedged") else { return try await next(request) }
                    return try await Hedge { await second.wait() }.load(request, next: next)
                }, at: place)
            $0.headersIgnoredInDuplicates = ["X-Hedged"]
        }
        rig.mock.on(.get, "/x") { _ in
            let number = tally.enter()
            if number == 0 { await gate.wait() }
            return .text("\(number)")
        }
        let hedged = rig.ness.get("x").set(header: "X-Hedged", to: "1").dataRequest()
        await tally.wait(for: 1)
        let joined = rig.ness.get("x").dataRequest()
        await handler.tally.wait(for: 1)
        second.open()
        #expect(try await hedged.value.message.text == "1")
        gate.open()
        #expect(try await joined.value.message.text == "0")
        #expect(tally.total == 2)
    }

    @Test(
        "extra requests count for the retry budget: without one, the loader waits for the first response",
        arguments: [LoaderPlace.call, .attempt, .authenticated], [HTTPMethod.get, .post])
    func budget(place: LoaderPlace, method: HTTPMethod) async throws {
        let gate = TestGate(), entered = Tally(), received = Tally()
        let rig = Rig {
            $0.retryBudget = RetryBudget(ratio: 0, minimum: 1)
            $0.insert(
                ClosureLoader { request, next in
                    let number = received.total
                    return try await Hedge {
                        await received.wait(for: number + 1)
                        entered.enter()
                    }.load(request, next: next)
                }, at: place)
        }
        rig.mock.on(method, "/x") { _ in
            let number = received.enter()
            if number != 1 { await gate.wait() }
            return .text("\(number)")
        }
        let request = rig.ness.httpRequest(method, withUrl: "x")
        #expect(try await request.text() == "1")
        let second = request.dataRequest()
        await entered.wait(for: 2)
        gate.open()
        #expect(try await second.value.message.text == "2")
        #expect(received.total == 3)
    }

    @Test("a loader that sends again after it has the response needs no retry budget", arguments: LoaderPlace.allCases)
    func inSequence(place: LoaderPlace) async throws {
        let rig = Rig(onUnmatched: .reply(.text("x"))) {
            $0.retryBudget = RetryBudget(ratio: 0, minimum: 0)
            $0.insert(
                ClosureLoader { request, next in
                    _ = try await next(request)
                    return try await next(request)
                }, at: place)
        }
        #expect(try await rig.ness.get("x").text() == "x")
        #expect(rig.mock.requests.count == 2)
    }

    @Test(
        "two requests of a loader at the same moment are both sent", arguments: [LoaderPlace.call, .attempt, .authenticated],
        [HTTPMethod.get, .post])
    func together(place: LoaderPlace, method: HTTPMethod) async throws {
        let received = Tally(), handler = CountingHandler(.ignoreCurrentCompletion)
        let rig = Rig {
            $0.duplicatedHandler = handler
            $0.insert(
                ClosureLoader { request, next in
                    async let first = next(request)
                    async let second = next(request)
                    _ = try await first
                    return try await second
                }, at: place)
        }
        rig.mock.on(method, "/x") { _ in
            received.enter()
            await received.wait(for: 2)
            return .text("both")
        }
        #expect(try await rig.ness.httpRequest(method, withUrl: "x").text() == "both")
        #expect(received.total == 2 && handler.tally.total == 0)
    }

    private enum Tenant: RequestOptionKey { static let defaultValue = "" }

    @Test(
        "without a budget, an extra request fails unless it can wait for an equal one, and the first continues",
        arguments: [
            (.attempt, "bytes=100-199", ""), (.authenticated, "bytes=100-199", ""), (.attempt, nil, "other"), (.exchange, nil, ""),
        ] as [(LoaderPlace, String?, String)])
    func refused(place: LoaderPlace, range: String?, tenant: String) async throws {
        let gate = TestGate(), received = Tally(), failed = Log<NessError.Kind>()
        let rig = Rig {
            $0.retryBudget = RetryBudget(ratio: 0, minimum: 0)
            $0.insert(
                ClosureLoader { request, next in
                    async let first = next(request)
                    await received.wait(for: 1)
                    var other = request
                    other.headers["Range"] = range
                    other[Tenant.self] = tenant
                    do { _ = try await next(other) } catch let error as NessError { failed.add(error.kind) }
                    gate.open()
                    return try await first
                }, at: place)
        }
        rig.mock.on(.get, "/x") { _ in
            received.enter()
            await gate.wait()
            return .text("first")
        }
        #expect(try await rig.ness.get("x").text() == "first")
        #expect(failed.entries == [.duplicate] && received.total == 1)
    }

    @Test("an extra request counts for the budget even while the cache revalidates the response to a request that a loader made")
    func refusedInBackground() async throws {
        let side = try url("https://mock.test/side"), gate = TestGate(), received = Tally(), ends = Log<NessError.Kind?>()
        let rig = CacheRig {
            $0.retryBudget = RetryBudget(ratio: 0, minimum: 0)
            $0.insert(ClosureLoader { _, next in try await next(HTTPRequest(url: side)) }, at: .attempt)
            $0.insert(
                ClosureLoader { request, next in
                    guard received.total > 0 else { return try await next(request) }
                    async let first = next(request)
                    await received.wait(for: 2)
                    do {
                        _ = try await next(request)
                        ends.add(nil)
                    } catch let error as NessError {
                        ends.add(error.kind)
                    }
                    gate.open()
                    return try await first
                }, at: .exchange)
        }
        rig.mock.on(.get, "/side") { _ in
            if received.enter() == 1 { await gate.wait() }
            return .text("side", headers: ["Cache-Control": "max-age=60, stale-while-revalidate=60"])
        }
        #expect(try await rig.get().source == .network)
        rig.advance(70)
        #expect(try await rig.get().source == .stale)
        await ends.wait(for: 1)
        #expect(ends.entries == [.duplicate])
    }

    @Test(
        "a loader that gives up its first request without canceling it leaves nothing on the wire",
        arguments: [LoaderPlace.call, .attempt, .authenticated])
    func abandoned(place: LoaderPlace) async throws {
        let received = Tally(), ended = TestGate()
        let rig = Rig {
            $0.insert(
                ClosureLoader { request, next in
                    Task { try await next(request) }
                    await received.wait(for: 1)
                    return try await next(request)
                }, at: place)
        }
        rig.mock.on(.get, "/x") { _ in
            guard received.enter() == 0 else { return .text("second") }
            await withTaskCancellationHandler {
                await TestGate().wait()
            } onCancel: {
                ended.open()
            }
            return .text("first")
        }
        #expect(try await rig.ness.get("x").text() == "second")
        await ended.wait()
    }
}
