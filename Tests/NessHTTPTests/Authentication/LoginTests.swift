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
