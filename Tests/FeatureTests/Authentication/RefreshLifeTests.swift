import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The start and the end of a refresh: see ruling C29.
@Suite("Life of a refresh", .inTurn(.withoutSockets))
struct RefreshLifeTests {
    private typealias Token = RefreshableAuthentication<String>

    /// A refresh that waits for a gate and takes notice of its cancellation.
    private struct Slow: Sendable {
        let begun = Tally()
        let go = TestGate()
        let canceled = TestGate()

        func token(timeout: Duration? = .seconds(300), then result: @escaping @Sendable () async throws -> String = { "new" }) -> Token {
            Token(credential: "old", timeout: timeout) {
                ["Authorization": $0]
            } refresh: { _, _ in
                begun.enter()
                try await withTaskCancellationHandler {
                    await go.wait()
                    try Task.checkCancellation()
                } onCancel: {
                    canceled.open()
                    go.open()
                }
                return try await result()
            }
        }

        func rig(_ token: Token, advances: Bool = false) -> Rig {
            let rig = Rig(advances: advances) { $0.authentication = token }
            rig.mock.on(.get, "/x") { .status($0.headers["Authorization"] == "new" ? 200 : 401) }
            return rig
        }
    }

    @Test(
        "a refresh that has started outlives the drops and the deadlines of all waiting requests, and the next request finds its credential",
        arguments: [true, false])
    func outlivesItsWaiters(byDrop: Bool) async throws {
        let slow = Slow(), token = slow.token(), rig = slow.rig(token)
        let promises = (0..<3).map { rig.ness.httpRequest(withUrl: "x?\($0)").set(deadline: .milliseconds(300)).dataRequest() }
        try await rig.ness.waitForRequests(3, at: .refresh)
        await slow.begun.wait(for: 1)
        if byDrop { for promise in promises { promise.drop() } } else { rig.clock.advance(by: .milliseconds(300)) }
        for promise in promises { #expect(await promise.nessError()?.kind == (byDrop ? .dropped : .timedOut)) }
        let next = rig.ness.httpRequest(withUrl: "x").dataRequest()
        try await rig.ness.waitForRequests(1, at: .refresh)
        slow.go.open()
        #expect(try await next.value.message.statusCode == 200)
        #expect(slow.begun.total == 1 && token.credential == "new")
    }

    @Test("a refresh whose requests were all dropped before it started never runs, and no shutdown waits for it")
    func neverBegins() async throws {
        let refresh = RunningRefresh(of: Slow().token()), begun = Tally(), running = RunningRequests()
        let waiter = Task { try await refresh.wait(countedBy: nil) }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiter.value }
        #expect(!refresh.isLive)
        refresh.start(registeredBy: { running.add($0, running.epoch) }) { begun.enter() }
        await #expect(throws: RunningRefresh.Abandoned.self) { _ = try await refresh.wait(countedBy: nil) }
        #expect(begun.total == 0)
        #expect(running.state.withLock { $0.refreshes.count } == 0)
        await running.shutDown(within: .zero, PipelineClock(ContinuousClock())) {}
    }

    @Test("a refresh for a request from before a reset never runs")
    func beforeAReset() async throws {
        let refresh = RunningRefresh(of: Slow().token()), begun = Tally(), running = RunningRequests()
        let epoch = running.epoch
        await running.reset {}
        refresh.start(registeredBy: { running.add($0, epoch) }) { begun.enter() }
        await #expect(throws: RunningRefresh.Abandoned.self) { _ = try await refresh.wait(countedBy: nil) }
        #expect(begun.total == 0)
    }

    @Test(
        "a reset and a shutdown end a refresh, and drop the request that waits for it, if there is one", arguments: [true, false],
        [true, false])
    func endsWithItsManager(byReset: Bool, isAwaited: Bool) async throws {
        let slow = Slow(), token = slow.token(), rig = slow.rig(token)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await slow.begun.wait(for: 1)
        if !isAwaited { promise.drop() }
        if byReset { await rig.ness.reset() } else { await rig.ness.shutdown(within: .zero) }
        #expect(await promise.nessError()?.kind == .dropped)
        await slow.canceled.wait()
        #expect(token.credential == "old")
    }

    @Test("setting the credential releases the requests that wait for a refresh, and cancels it")
    func settingTheCredential() async throws {
        let slow = Slow(), token = slow.token(), rig = slow.rig(token)
        let promises = (0..<5).map { rig.ness.get("x?\($0)").dataRequest() }
        try await rig.ness.waitForRequests(5, at: .refresh)
        await slow.begun.wait(for: 1)
        token.credential = "new"
        for promise in promises { #expect(try await promise.value.message.statusCode == 200) }
        await slow.canceled.wait()
        #expect(slow.begun.total == 1 && token.credential == "new")
    }

    @Test("a shutdown lets a refresh end within its time")
    func shutdownWaits() async throws {
        let slow = Slow(), token = slow.token(), rig = slow.rig(token)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await slow.begun.wait(for: 1)
        promise.drop()
        async let shutdown: Void = rig.ness.shutdown(within: .seconds(60))
        await rig.clock.waitUntil { $0.sleeperCount == 2 }
        slow.go.open()
        await shutdown
        #expect(token.credential == "new")
    }

    @Test("a reset of one of two managers with one authentication gives the other's requests a new refresh")
    func twoManagers() async throws {
        let slow = Slow(), token = slow.token(), first = slow.rig(token), second = slow.rig(token)
        let dropped = first.ness.httpRequest(withUrl: "x").dataRequest()
        await slow.begun.wait(for: 1)
        let kept = second.ness.httpRequest(withUrl: "x").dataRequest()
        try await second.ness.waitForRequests(1, at: .refresh)
        await first.ness.reset()
        #expect(await dropped.nessError()?.kind == .dropped)
        #expect(try await kept.value.message.statusCode == 200)
        #expect(slow.begun.total == 2)
    }

    @Test("dropAllRequests() leaves a refresh its requests")
    func dropAll() async throws {
        let go = TestGate()
        let token = Token(credential: "old") {
            ["Authorization": $0]
        } renew: { _, ness in
            try await ness.post("token").decoded(as: String.self)
        }
        let rig = Slow().rig(token)
        rig.mock.on(.post, "/token", after: go) { _ in .text("new") }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        rig.ness.dropAllRequests()
        #expect(await promise.nessError()?.kind == .dropped)
        let next = rig.ness.httpRequest(withUrl: "x").dataRequest()
        try await rig.ness.waitForRequests(1, at: .refresh)
        go.open()
        #expect(try await next.value.message.statusCode == 200)
        #expect(rig.mock.requests.count { $0.url.path == "/token" } == 1)
    }

    @Test("the timeout of a refresh counts on the manager's clock")
    func managersClock() async throws {
        let slow = Slow(), rig = slow.rig(slow.token(timeout: .seconds(30)))
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await slow.begun.wait(for: 1)
        await rig.clock.waitUntil { $0.sleeperCount == 1 }
        rig.clock.advance(by: .seconds(30))
        let error = await promise.nessError()
        #expect(error?.kind == .timedOut && error?.isAuthenticationFailure == true)
        await slow.canceled.wait()
    }

    @Test("an error of a refresh can be told from an error of the request")
    func mark() async throws {
        let link = Lock<Ness?>(nil), slow = Slow()
        slow.go.open()
        let rig = slow.rig(
            slow.token {
                let ness = try #require(link.withLock { $0 })
                return try await ness.httpRequest(.post, withUrl: "token").dataRequest(decoding: String.self).value
            })
        link.withLock { $0 = rig.ness }
        defer { link.withLock { $0 = nil } }
        rig.mock.on(.post, "/token", replies: [.status(401)])
        // The request of a refresh causes no refresh.
        let failed = await rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: String.self).nessError()
        #expect(failed?.isAuthenticationFailure == true && failed?.response?.statusCode == 401)
        #expect(rig.mock.requests.map(\.url.path) == ["/x", "/token"])
        let rejected = await rig.ness.httpRequest(withUrl: "x").withoutAuthentication().dataRequest(decoding: String.self).nessError()
        #expect(rejected?.isAuthenticationFailure == false && rejected?.response?.statusCode == 401)
    }
}
