import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite("Refresh", .inTurn(.withoutSockets))
struct RefreshTests {
    typealias Token = RefreshableAuthentication<String>

    private static func token(
        _ first: String = "old", _ refresh: @escaping @Sendable (String, HTTPResponse) async throws -> String
    ) -> Token {
        Token(credential: first) {
            ["Authorization": "Bearer \($0)"]
        } refresh: {
            try await refresh($0, $1)
        }
    }

    private static func takes(_ credential: String, _ request: ReceivedRequest) -> Reply {
        .status(request.headers["Authorization"] == "Bearer \(credential)" ? 200 : 401)
    }

    @Test("the outcome of a request that a loader sends again after a failed refresh is retried like any other")
    func retriedAfterALoadersSecondTry() async throws {
        let refreshes = Tally()
        let token = Self.token { _, _ in
            if refreshes.enter() == 0 { throw Rejected() }
            return "new"
        }
        let again = ClosureLoader { request, next in
            do { return try await next(request) } catch { return try await next(request) }
        }
        let rig = Rig {
            $0.authentication = token
            $0.insert(again, at: .attempt)
        }
        rig.mock.on(.get, "/x", replies: [.status(401), .failure(.connectionLost), .status(200)])
        let response = try await rig.ness.httpRequest(withUrl: "x").set(retry: CounterRetryControl(maxRetryCount: 1)).response()
        #expect(response.statusCode == 200 && rig.mock.requests.count == 3)
    }

    @Test("a hundred concurrent requests that get a 401 cause one refresh and 200 requests")
    func oneRefreshForAll() async throws {
        let refreshes = Tally(), all = TestGate()
        let token = Self.token { stale, response in
            #expect(stale == "old" && response.statusCode == 401)
            refreshes.enter()
            return "new"
        }
        let rig = Rig { $0.authentication = token }
        rig.mock.on(.get, "/x", after: all) { Self.takes("new", $0) }
        let promises = (0..<100).map { rig.ness.httpRequest(withUrl: "x?\($0)").dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 100 }
        all.open()
        #expect(try await Promise.all(promises).value.allSatisfy { $0.message.statusCode == 200 })
        #expect(refreshes.total == 1)
        #expect(rig.mock.requests.count == 200)
        #expect(token.credential == "new")
    }

    @Test("a request with an older credential is sent again without a refresh")
    func whatWasSentWithAnOlderCredentialGoesAgainWithoutARefresh() async throws {
        let refreshes = Tally(), gate = TestGate()
        let token = Self.token { _, _ in
            refreshes.enter()
            return "never"
        }
        let rig = Rig { $0.authentication = token }
        rig.mock.on(.get, "/x", after: gate) { Self.takes("new", $0) }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        token.credential = "new"
        gate.open()
        #expect(try await promise.value.message.statusCode == 200)
        #expect(refreshes.total == 0)
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
    }

    @Test("a failed refresh fails all requests that wait; the next 401 starts another")
    func aFailedRefreshFailsAllWhoWaitedAndTheNext401TriesAnew() async throws {
        let refreshes = Tally(), gate = TestGate()
        let token = Self.token { stale, _ in
            #expect(stale == "old")
            if refreshes.enter() > 0 { return "new" }
            await gate.wait()
            throw Rejected(name: "refresh")
        }
        let rig = Rig { $0.authentication = token }
        rig.mock.on(.get, "/x") { Self.takes("new", $0) }
        let promises = (0..<10).map { rig.ness.httpRequest(withUrl: "x?\($0)").dataRequest() }
        try await rig.ness.waitForRequests(10, at: .refresh)
        gate.open()
        let outcomes = try await Promise.allSettled(promises).value
        let failed = outcomes.count { if case .failure(let error) = $0 { error as? Rejected == Rejected(name: "refresh") } else { false } }
        #expect(failed == 10 && rig.mock.requests.count == 10)
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        #expect(refreshes.total == 2)
    }

    @Test(
        "a 403 is handled once if the authentication supports it, even after a 401; a 401 after it is final",
        arguments: [
            ([403, 200], true, 200, 1), ([401, 403, 200], true, 200, 2), ([403, 401, 200], true, 401, 1), ([403, 403, 200], true, 403, 1),
            ([401, 403, 401, 200], true, 401, 2), ([403, 503, 403, 200], true, 403, 1), ([403, 200], false, 403, 0),
            ([401, 403], false, 403, 1),
        ] as [([Int], Bool, Int, Int)])
    func forbidden(answers: [Int], refreshesOnForbidden: Bool, status: Int, renewals: Int) async throws {
        let refreshes = Tally()
        let token = Token(credential: "old", refreshesOnForbidden: refreshesOnForbidden) {
            ["Authorization": "Bearer \($0)"]
        } refresh: { _, _ in
            refreshes.enter()
            return "new"
        }
        let rig = Rig {
            $0.authentication = token
            $0.retryControl = CounterRetryControl(maxRetryCount: 1)
        }
        rig.mock.on(.get, "/x", replies: answers.map { Reply.status($0) })
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == status)
        #expect(refreshes.total == renewals)
    }

    @Test("a 401 is handled once per request, even with other failures between two of them, and no retry control decides about it")
    func onceForAllAttempts() async throws {
        let refreshes = Tally(), control = AskedControl(Eager())
        let rig = Rig {
            $0.authentication = Self.token { _, _ in "new \(refreshes.enter())" }
        }
        rig.mock.on(.get, "/x", replies: [.status(401), .status(503), .failure(.connectionLost), .status(401), .status(200)])
        let builder = rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200)
        #expect(await builder.dataRequest(with: control).nessError()?.response?.statusCode == 401)
        #expect(refreshes.total == 1)
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer old"] + Array(repeating: "Bearer new 0", count: 3))
        #expect(control.asked.entries.map(\.number) == [1, 2])
        // The next request has its own.
        #expect(try await builder.dataRequest().value.message.statusCode == 200)
    }

    @Test("a failed refresh is final for every error, which the caller gets unchanged")
    func aFailedRefreshIsFinal() async throws {
        let request = HTTPRequest(.post, url: try url("https://mock.test/token"))
        let passing = NessError(.connectionLost, NessError.Context(request: request, reason: "lost"))
        let errors: [(any Error, String)] = [
            (Rejected(), "Rejected"), (passing, "connectionLost /token"), (TransportError.timedOut, "timedOut /x"),
        ]
        for (error, expected) in errors {
            let control = AskedControl(Eager()), refreshes = Tally()
            let rig = Rig {
                $0.authentication = Self.token { _, _ in
                    refreshes.enter()
                    throw error
                }
            }
            rig.mock.on(.get, "/x", replies: [.status(503), .status(401)])
            let seen = await #expect(throws: (any Error).self) { try await rig.ness.get("x").dataRequest(with: control).value }
            let named = (seen as? NessError).map { "\($0.kind.rawValue) \($0.request?.url.path ?? "-")" }
            #expect(named ?? (seen is Rejected ? "Rejected" : nil) == expected)
            // It was asked about the 503 before.
            #expect(control.asked.entries.map(\.response?.statusCode) == [503])
            #expect(refreshes.total == 1)
            #expect(rig.mock.requests.count == 2)
        }
    }

    @Test("callers who share an exchange each get the new credential, even if a redirect led to the 401")
    func sharedRedirect() async throws {
        let refreshes = Tally(), go = TestGate()
        let token = Self.token { _, _ in
            refreshes.enter()
            return "new"
        }
        let wire = ReceiveGates()
        let rig = Rig {
            $0.authentication = token
            wire.install(in: &$0)
        }
        rig.mock.on(.get, "/x", after: go) { _ in .status(302, headers: ["Location": "/y"]) }
        rig.mock.on(.get, "/y") { Self.takes("new", $0) }
        let promises = (0..<3).map { _ in rig.ness.get("x").dataRequest() }
        await wire.changed.wait { promises.allSatisfy { $0.status.text.hasPrefix("running") } }
        await rig.mock.waitUntil { $0.requests.count == 1 }
        go.open()
        for promise in promises { #expect(try await promise.value.message.statusCode == 200) }
        #expect(refreshes.total == 1)
        #expect(rig.mock.requests.prefix(2).map(\.url.path) == ["/x", "/y"])
    }
}
