import Foundation
import NessHTTP
import NessLock

/// The small programs for the faults that a trial of this simulation found.
enum FaultPrograms {
    static let all: [SmallProgram] = [
        SmallProgram("post-303-401", "a POST that the server acted on is not sent again after a 401") { stage in
            for status in [301, 302, 303] { try await redirected(status, stage) }
        },
        SmallProgram("redirect-a-b-a-401", "a credential that the last hop did not carry is not renewed") { stage in
            let renewals = Lock(0)
            let ness = stage.manager(
                serve: { connection in
                    switch (connection.request.url.host, connection.request.url.path) {
                    case ("a.test", "/x"): try await connection.respond(302, ["Location": "https://b.test/y"])
                    case ("b.test", _): try await connection.respond(302, ["Location": "https://a.test/z"])
                    default: try await connection.respond(401)
                    }
                }
            ) {
                $0.baseURL = URL(string: "https://a.test/")
                $0.authentication = authentication { renewals.withLock { $0 += 1 } }
            }
            let outcome = await stage.outcome(of: ness.httpRequest(withUrl: "x").dataRequest())
            stage.expect(outcome == "401", "the outcome is \(outcome)")
            stage.expect(renewals.withLock { $0 } == 0, "the credential was renewed")
        },
        SmallProgram("latest-of-three", "of three equal requests with keepLatestCompletion, exactly one gets the response") { stage in
            let ness = stage.manager { $0.duplicatedHandler = DefaultDuplicatedHandler.keepLatestCompletion }
            let all = try await outcomesOfThree(stage, ness)
            stage.expect(all.count(where: { $0 == "ok" }) == stage.requests.count, "\(all) of \(stage.requests.count) exchanges")
        },
        SmallProgram("replaced-by-the-next", "a request that another one replaces fails with duplicate, and counts for no breaker") {
            stage in
            let ness = stage.manager {
                $0.duplicatedHandler = DefaultDuplicatedHandler.dropPreviousRequest
                $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.1, minimumRequests: 1)
            }
            _ = try await outcomesOfThree(stage, ness)
            await stage.expectIdle(ness, Stage.url)
        },
        SmallProgram("drop-is-no-failure", "a drop does not count as a failure of the host") { stage in
            let ness = stage.manager(serve: { connection in
                if connection.request.url.path == "/x" { try await connection.wait(.seconds(1)) }
                try await connection.respond(200, [:], "ok")
            }) { $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.1, minimumRequests: 1) }
            let promise = ness.httpRequest(withUrl: Stage.url).dataRequest()
            try await stage.together(
                { _ = await stage.outcome(of: promise) },
                {
                    if Bool.random() { try await Task.sleep(for: .milliseconds(1)) }
                    promise.drop()
                })
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("drop-and-start", "observers hear one start and one end of a request, or nothing") { stage in
            let log = EventLog()
            let ness = stage.manager { $0.observers = [log] }
            let promise = ness.httpRequest(withUrl: Stage.url).dataRequest()
            try await stage.together({ promise.drop() }, { _ = await stage.outcome(of: promise) })
            try await stage.expectOneEnd(in: log, after: ness)
        },
        SmallProgram("throttle-after-the-queue", "exchanges start at the rate of the throttle, even after a host's queue") { stage in
            let ness = stage.manager(serve: { connection in
                try await connection.wait(.seconds(connection.number == 1 ? 10 : 0))
                try await connection.respond(200, [:], "ok")
            }) {
                $0.throttle = ThrottleLimit(rate: 1)
                $0.maximumConnectionsPerHost = 1
            }
            let promises = (0..<6).map { ness.httpRequest(withUrl: "https://a.test/\($0)").dataRequest() }
            for promise in promises { _ = await stage.outcome(of: promise) }
            for (earlier, later) in zip(stage.times, stage.times.dropFirst()) {
                stage.expect(later - earlier >= .milliseconds(999), "two exchanges started within \(later - earlier)")
            }
        },
    ]

    /// Sends three equal requests at the same time. Each may also start after the others have ended.
    private static func outcomesOfThree(_ stage: Stage, _ ness: Ness) async throws -> [String] {
        let outcomes = Lock<[String]>([])
        let one: @Sendable () async -> Void = {
            let outcome = await stage.outcome(of: ness.httpRequest(withUrl: Stage.url).dataRequest())
            outcomes.withLock { $0.append(outcome) }
        }
        try await stage.together(one, one, one)
        let all = outcomes.withLock { $0.sorted() }
        stage.expect(all.contains("ok") && all.allSatisfy { $0 == "ok" || $0 == "duplicate" }, "the outcomes are \(all)")
        return all
    }

    private static func redirected(_ status: Int, _ stage: Stage) async throws {
        let before = stage.count("POST /x")
        let ness = stage.manager(serve: { connection in
            if connection.request.url.path == "/x" { return try await connection.respond(status, ["Location": "/done"]) }
            let isFresh = connection.request.headers["Authorization"] == "Bearer fresh"
            try await connection.respond(isFresh ? 200 : 401, [:], "done")
        }) {
            $0.baseURL = URL(string: "https://a.test/")
            $0.authentication = authentication {}
        }
        _ = await stage.outcome(of: ness.httpRequest(.post, withUrl: "x").dataRequest())
        stage.expect(stage.count("POST /x") - before == 1, "the POST was sent \(stage.count("POST /x") - before) times after a \(status)")
    }

    static func authentication(_ onRenew: @escaping @Sendable () -> Void) -> RefreshableAuthentication<String> {
        RefreshableAuthentication(
            credential: "stale", apply: { ["Authorization": "Bearer \($0)"] },
            refresh: { _, _ in
                onRenew()
                try await Task.sleep(for: .milliseconds(5))
                return "fresh"
            })
    }
}
