import Dispatch
import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Refreshes whose own requests could come to wait for them.
@Suite("Refresh from inside", .inTurn(.withoutSockets))
struct RefreshInsideTests {
    typealias Token = RefreshableAuthentication<String>

    /// A manager that a refresh of its own can reach.
    private final class Link: Sendable {
        private let lock = Lock<Ness?>(nil)
        var ness: Ness? {
            get { lock.withLock { $0 } }
            set { lock.withLock { $0 = newValue } }
        }

        func send(_ path: String, _ change: (RequestBuilder) -> RequestBuilder = { $0 }) -> DataPromise {
            guard let ness else { preconditionFailure("no manager") }
            return change(ness.httpRequest(.post, withUrl: path)).dataRequest()
        }
    }

    private static func token(
        timeout: Duration? = .seconds(300), clock: any Clock<Duration> = ContinuousClock(),
        _ refresh: @escaping @Sendable (String) async throws -> String
    ) -> Token {
        Token(credential: "old", timeout: timeout, clock: clock) {
            ["Authorization": "Bearer \($0)"]
        } refresh: { stale, _ in
            try await refresh(stale)
        }
    }

    /// A manager whose server refuses all credentials but `new`; `/token` and `/login` answer those alone who bring none.
    private static func rig(_ link: Link, _ authentication: any Authentication, advances: Bool = true) -> Rig {
        let rig = Rig(advances: advances) { $0.authentication = authentication }
        rig.mock.on(.get, "/x") { .status($0.headers["Authorization"] == "Bearer new" ? 200 : 401) }
        for path in ["/login", "/token"] { rig.mock.on(.post, path) { .status($0.headers["Authorization"] == nil ? 200 : 401) } }
        link.ness = rig.ness
        return rig
    }

    enum Way: CaseIterable {
        case then, thenContinue, recoverContinue, handle, finally, asyncThen, immediate, main, ownQueue, nested, aTaskInAHandler, all
        case delayed, whenDropped
    }

    /// Makes the second request of a refresh in a handler.
    private static func second(_ link: Link, _ way: Way) async throws {
        let first: Promise<DataResult> = link.send("login"), queue = DispatchQueue(label: "own")
        @Sendable func token(_ first: DataResult) -> Promise<DataResult> { link.send("token") }
        switch way {
        case .then: _ = try await first.then { _ in link.send("token") }.value.value
        case .thenContinue: _ = try await first.thenContinue { token($0) }.value
        case .recoverContinue:
            let failed = first.then { _ -> DataResult in throw Rejected() }
            _ = try await failed.recoverContinue { _ in link.send("token") as Promise<DataResult> }.value
        case .handle:
            let (other, resolver) = Promise<DataResult>.pending()
            first.then { _ -> DataResult in throw Rejected() }.handle { _ in link.send("token").finally { resolver.settle($0, $1) } }
            _ = try await other.value
        case .finally:
            let (other, resolver) = Promise<DataResult>.pending()
            first.finally { _, _ in link.send("token").finally { resolver.settle($0, $1) } }
            _ = try await other.value
        case .asyncThen: _ = try await first.then { _ async throws in try await link.send("token").value }.value
        case .immediate: _ = try await first.thenContinue(on: .immediate) { token($0) }.value
        case .main: _ = try await first.thenContinue(on: .main) { token($0) }.value
        case .ownQueue: _ = try await first.thenContinue(on: queue) { token($0) }.value
        case .nested:
            _ = try await first.thenContinue { result in
                Promise.resolved(()).then(on: queue) { _ in }.thenContinue { _ in token(result) }
            }.value
        case .aTaskInAHandler: _ = try await first.then { _ in Task { try await link.send("token").value } }.value.value
        case .all:
            let both = Promise<(DataResult, DataResult)>.all(first, link.send("login?2") as Promise<DataResult>)
            _ = try await both.thenContinue { token($0.0) }.value
        case .delayed:
            let late = first.delayed(by: .seconds(1), clock: ManualClock(advancesAutomatically: true))
            _ = try await late.thenContinue { token($0) }.value
        case .whenDropped:
            let (never, kept) = Promise<Void>.pending()
            let (other, resolver) = Promise<DataResult>.pending()
            never.handle { _ in link.send("token").finally { resolver.settle($0, $1) } }
            // From a thread that belongs to nothing.
            DispatchQueue(label: "other").async { never.drop() }
            _ = try await other.value
            withExtendedLifetime(kept) {}
        }
    }

    @Test("a refresh may make its second request in any handler, on any queue, and never waits for itself", arguments: Way.allCases)
    func inAHandler(_ way: Way) async throws {
        let link = Link()
        let rig = Self.rig(
            link,
            Self.token { _ in
                try await Self.second(link, way)
                return "new"
            })
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        let others = rig.mock.requests.filter { $0.method == .post }
        // A refresh may leave its first request behind, which then arrives in any order.
        #expect(others.contains { $0.url.path == "/token" })
        #expect(others.allSatisfy { $0.headers["Authorization"] == nil })
    }

    @Test("a handler that was added outside a refresh is authenticated, wherever its promise settles")
    func aHandlerFromOutside() async throws {
        let link = Link(), (shared, resolver) = Promise<Void>.pending()
        let rig = Self.rig(
            link,
            Self.token { _ in
                resolver.resolve(())
                return "new"
            })
        let outside = shared.thenContinue(on: .immediate) { _ in
            rig.ness.httpRequest(withUrl: "x").dataRequest() as Promise<DataResult>
        }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        #expect(try await outside.value.message.statusCode == 200)
        #expect(rig.mock.requests.allSatisfy { $0.headers["Authorization"] != nil })
    }

    @Test("a task that outlives a refresh is authenticated again")
    func aTaskThatOutlivesTheRefresh() async throws {
        let link = Link(), over = TestGate(), later = Lock<Task<Int, any Error>?>(nil)
        let rig = Self.rig(
            link,
            Self.token { _ in
                let task = Task {
                    await over.wait()
                    return try await link.ness?.httpRequest(withUrl: "x").dataRequest().value.message.statusCode ?? 0
                }
                later.withLock { $0 = task }
                return "new"
            })
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        over.open()
        #expect(try await later.withLock { $0 }?.value == 200)
    }

    @Test("a refresh that waits for its own request unrecognized fails at its time limit, with all waiting requests")
    func aDetachedTask() async throws {
        let link = Link(), clock = ManualClock()
        let token = Self.token(timeout: .seconds(30), clock: clock) { _ in
            // As it would be in a callback of another library.
            try await Task.detached {
                _ = try await link.send("token").value
                return "never"
            }.value
        }
        let rig = Self.rig(link, token)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        try await rig.ness.waitForRequests(2, at: .refresh)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(29))
        #expect(!promise.isCompleted)
        clock.advance(by: .seconds(1))
        let error = await promise.nessError()
        #expect(error?.kind == .timedOut && error?.response?.statusCode == 401)
        #expect(error?.context.reason == "the refresh of the credential took longer than 30.0 s")
        #expect(token.credential == "old" && token.waiterCount == 0)
        await clock.waitUntil { $0.sleeperCount == 0 }
    }

    @Test("a refresh that sets the credential itself runs to its end")
    func settingTheCredentialInside() async throws {
        let link = Link(), authentication = Lock<Token?>(nil), saved = Tally()
        let token = Self.token { _ in
            _ = try await link.send("token").then { _ in authentication.withLock { $0 }?.credential = "new" }.value
            _ = try await link.send("login").value
            try Task.checkCancellation()
            saved.enter()
            return "new"
        }
        authentication.withLock { $0 = token }
        defer { authentication.withLock { $0 = nil } }
        let rig = Self.rig(link, token)
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        #expect(saved.total == 1)
    }

    @Test("two refreshes that wait for each other fail immediately, after a 401 and ahead of time", arguments: [false, true])
    func twoThatWaitForEachOther(isAhead: Bool) async throws {
        let tokens = Lock<[Token]>([]), begun = Tally()
        // Each has its request authenticated by the other, once both run.
        let both = (0..<2).map { index in
            Token(credential: "old", isStale: { _ in isAhead }) {
                ["Authorization": $0]
            } renew: { _, ness in
                begun.enter()
                await begun.wait(for: 2)
                let other = tokens.withLock { $0[1 - index] }
                return try await ness.get("y\(index)").authenticate(with: other).validate(statusCode: 200).text()
            }
        }
        tokens.withLock { $0 = both }
        defer { tokens.withLock { $0 = [] } }
        let rig = Rig(onUnmatched: .reply(.status(401)))
        let promises = (0..<2).map { rig.ness.get("x\($0)").authenticate(with: both[$0]).dataRequest() }
        for promise in promises {
            let error = await promise.nessError()
            #expect(error?.kind == (isAhead ? .invalidRequest : .validation) && error?.response?.statusCode == (isAhead ? nil : 401))
        }
        for token in both { #expect(token.waiterCount == 0) }
    }

    @Test("a refresh may wait for another one that no longer waits for it")
    func afterACanceledWait() async throws {
        let begun = TestGate(), canceled = TestGate()
        let first = RunningRefresh(of: begun), second = RunningRefresh(of: canceled)
        second.start(registeredBy: nil) {
            begun.open()
            await canceled.wait()
            let hasWaited = try await first.wait(countedBy: nil)
            #expect(hasWaited)
        }
        first.start(registeredBy: nil) {
            await begun.wait()
            let request = Task { try await second.wait(countedBy: nil) }
            request.cancel()
            await #expect(throws: CancellationError.self) { _ = try await request.value }
            canceled.open()
        }
        let hasEnded = try await second.wait(countedBy: nil)
        #expect(hasEnded)
    }

    @Test("each refresh of a long chain may wait for the one before, even with several requests")
    func chain() async throws {
        let go = TestGate(), refreshes = (0..<40).map { _ in RunningRefresh(of: go) }
        refreshes[0].start(registeredBy: nil) { await go.wait() }
        for (before, refresh) in zip(refreshes, refreshes.dropFirst()) {
            refresh.start(registeredBy: nil) {
                async let other = before.wait(countedBy: nil)
                let haveWaited = [try await before.wait(countedBy: nil), try await other]
                #expect(haveWaited == [true, true])
            }
            await untilTrue { before.waiterCount == 2 || !refresh.isLive }
        }
        go.open()
        let hasEnded = try await refreshes[39].wait(countedBy: nil)
        #expect(hasEnded)
    }
}
