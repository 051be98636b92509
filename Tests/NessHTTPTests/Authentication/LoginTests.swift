import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Credentials that a user is asked for, that a refresh renews, or that a login gets.
@Suite(.inTurn(.withoutSockets)) struct LoginTests {
    /// Asks a user once, while the requests wait, and keeps the answer.
    private final class Asking: Authentication {
        private let asked = Lock<Promise<BasicAuthentication?>?>(nil)
        private let ask: @Sendable () async throws -> BasicAuthentication?

        init(_ ask: @escaping @Sendable () async throws -> BasicAuthentication?) { self.ask = ask }

        func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
            let promise = asked.withLock { asked in
                let promise = asked ?? Promise(operation: ask)
                asked = promise
                return promise
            }
            guard let basic = try await promise.value else { throw Rejected(name: "nobody logged in") }
            return try await basic.authenticate(request)
        }
    }

    @Test("Basic credentials come from the request, or else from the manager")
    func basic() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = BasicAuthentication(user: "m", password: "p") }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "x").authenticate(with: BasicAuthentication(user: "r", password: "p")).dataRequest()
            .value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Basic bTpw", "Basic cjpw"])
    }

    @Test(
        "the user is asked once while the requests wait; if the user cancels, all of them fail",
        arguments: [true, false])
    func askingAUser(answers: Bool) async throws {
        let asked = Tally(), waiting = Tally(), go = TestGate()
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.insert(
                .modifyRequest { _ in waiting.enter() },
                at: .attempt)
            $0.authentication = Asking {
                asked.enter()
                await go.wait()
                return answers ? BasicAuthentication(user: "u", password: "p") : nil
            }
        }
        let promises = (0..<5).map { rig.ness.httpRequest(withUrl: "\($0)").dataRequest() }
        await waiting.wait(for: 5)
        await asked.wait(for: 1)
        #expect(rig.mock.requests.isEmpty && promises.allSatisfy { !$0.isCompleted })
        go.open()
        for promise in promises {
            if answers {
                #expect(try await promise.value.message.statusCode == 200)
            } else {
                await #expect(throws: Rejected(name: "nobody logged in")) { _ = try await promise.value }
            }
        }
        #expect(asked.total == 1)
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == Array(repeating: "Basic dTpw", count: answers ? 5 : 0))
    }

    private struct Tokens: Sendable, Equatable {
        var access: String?
        var refresh: String?
    }

    @Test(
        "valid tokens are used and expired ones refreshed; otherwise a login follows, or its error",
        arguments: [
            (Tokens(access: "good", refresh: "r"), "", ["good"]), (Tokens(access: "old", refresh: "r"), "refresh", ["old", "good"]),
            (Tokens(access: "old", refresh: "stale"), "refresh, login", ["old", "good"]), (Tokens(), "login", [nil, "good"]),
            (Tokens(access: "old", refresh: "closed"), "refresh, login, failed", ["old"]),
        ] as [(Tokens, String, [String?])])
    private func machine(stored: Tokens, steps: String, sent: [String?]) async throws {
        let log = Log<String>(), store = Lock(stored)
        let machine = RefreshableAuthentication(credential: stored) { tokens in
            tokens.access.map { ["Authorization": $0] } ?? [:]
        } refresh: { tokens, _ in
            if let refresh = tokens.refresh {
                log.add("refresh")
                if refresh == "r" { return Tokens(access: "good", refresh: "r2") }
            }
            log.add("login")
            if tokens.refresh == "closed" {
                log.add("failed")
                throw Rejected(name: "log-in")
            }
            let fresh = Tokens(access: "good", refresh: "r2")
            store.withLock { $0 = fresh }
            return fresh
        }
        let rig = Rig { $0.authentication = machine }
        rig.mock.on(.get, "/x") { .status($0.headers["Authorization"] == "good" ? 200 : 401) }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        if steps.hasSuffix("failed") {
            await #expect(throws: Rejected(name: "log-in")) { _ = try await promise.value }
        } else {
            #expect(try await promise.value.message.statusCode == 200)
            #expect(machine.credential.access == "good")
        }
        #expect(log.entries.joined(separator: ", ") == steps)
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == sent)
        #expect(store.withLock { $0 } == (steps.hasSuffix("login") ? Tokens(access: "good", refresh: "r2") : stored))
    }

    @Test("a reset fails the requests that wait for a new token, and the refresh's result is not used")
    func reset() async throws {
        let refreshing = TestGate(), go = TestGate(), waiting = Tally()
        let token = RefreshableAuthentication(credential: "old") {
            ["Authorization": $0]
        } refresh: { _, _ in
            refreshing.open()
            // Takes no notice of the reset.
            await Task.detached { await go.wait() }.value
            return "late"
        }
        let rig = Rig { $0.authentication = token }
        rig.mock.on(.get, "/:name") { _ in
            waiting.enter()
            return .status(401)
        }
        let promises = (0..<3).map { rig.ness.httpRequest(withUrl: "\($0)").dataRequest() }
        await waiting.wait(for: 3)
        await refreshing.wait()
        await rig.ness.reset()
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        // The token is the caller's to forget.
        token.credential = "none"
        go.open()
        rig.mock.on(.get, "/next", replies: [.status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "next").dataRequest().value
        #expect(token.credential == "none")
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["old", "old", "old", "none"])
    }
}
