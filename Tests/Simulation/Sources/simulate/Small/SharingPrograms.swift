import Foundation
import NessHTTP
import NessLock

/// Small programs about callers who share an exchange.
enum SharingPrograms {
    private static let three = [Stage.url, Stage.url, Stage.url]

    static let all: [SmallProgram] = [
        SmallProgram("a-neighbor-never-hears-a-drop", "a caller who is not dropped gets its response") { stage in
            let ness = stage.manager { $0.maximumConnectionsPerHost = 1 }
            let kept = ness.httpRequest(withUrl: Stage.url).dataRequest()
            _ = try await stage.crowd(ness, three)
            let outcome = await stage.outcome(of: kept)
            stage.expect(outcome == "ok", "the neighbor's outcome is \(outcome)")
            await stage.expectIdle(ness, Stage.url)
        },
        SmallProgram("the-last-leaves", "the exchange ends with its last caller, and frees its slot") { stage in
            let ness = stage.manager(serve: { connection in
                if connection.request.url.path == "/x" { try await connection.waitForEver() }
                try await connection.respond(200)
            }) { $0.maximumConnectionsPerHost = 1 }
            let promises = three.map { ness.httpRequest(withUrl: $0).dataRequest() }
            try await stage.together(
                { _ = await stage.outcome(of: promises[0]) },
                {
                    for promise in promises {
                        try await stage.moment()
                        promise.drop()
                    }
                })
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("first-of-three", "with keepFirstCompletion only the first caller of an exchange gets the result") { stage in
            let ness = stage.manager { $0.duplicatedHandler = DefaultDuplicatedHandler.keepFirstCompletion }
            let outcomes = try await stage.crowd(ness, three, drops: false)
            stage.expect(outcomes, in: ["ok", "duplicate"])
            stage.expect(outcomes.count(where: { $0 == "ok" }) == stage.requests.count, "\(outcomes) of \(stage.requests.count) exchanges")
        },
        SmallProgram("latest-and-drops", "with keepLatestCompletion a request fails only with duplicate, or because it is dropped") {
            stage in
            let ness = stage.manager { $0.duplicatedHandler = DefaultDuplicatedHandler.keepLatestCompletion }
            stage.expect(try await stage.crowd(ness, three), in: ["ok", "duplicate", "dropped"])
            await stage.expectIdle(ness, Stage.url)
        },
        SmallProgram("replace-and-drops", "with dropPreviousRequest a drop and a replacement never change each other's error") { stage in
            let ness = stage.manager {
                $0.duplicatedHandler = DefaultDuplicatedHandler.dropPreviousRequest
                $0.maximumConnectionsPerHost = 1
            }
            stage.expect(try await stage.crowd(ness, three), in: ["ok", "duplicate", "dropped"])
            await stage.expectIdle(ness, Stage.url)
        },
        SmallProgram("the-closure-of-a-decision", "the closure of a decision gets one outcome, and its caller fails with duplicate") {
            stage in
            let calls = Lock<[String]>([])
            struct Handler: DuplicatedHandler {
                let note: @Sendable (String) -> Void
                func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
                    let note = note
                    let id = "\(duplicate.request.id)"
                    return Bool.random() ? .useCompletion { _ in note(id) } : .dropAndRequestAgainWithCompletion { _ in note(id) }
                }
            }
            let ness = stage.manager { $0.duplicatedHandler = Handler { id in calls.withLock { $0.append(id) } } }
            let outcomes = try await stage.crowd(ness, three, drops: false)
            await ness.shutdown(within: .seconds(10))
            stage.expect(outcomes, in: ["ok", "duplicate"])
            let all = calls.withLock { $0 }
            stage.expect(Set(all).count == all.count, "a closure was called twice: \(all)")
            stage.expect(outcomes.allSatisfy { $0 == "ok" } || !all.isEmpty, "no closure was called: \(outcomes)")
        },
        SmallProgram("one-times-out", "each caller has its own timeout") { stage in
            let ness = stage.manager()
            let short = ness.httpRequest(withUrl: Stage.url).set(timeout: .milliseconds(5)).dataRequest()
            let long = ness.httpRequest(withUrl: Stage.url).dataRequest()
            let outcomes = await (stage.outcome(of: short), stage.outcome(of: long))
            stage.expect(outcomes.0 == "timedOut" && outcomes.1 == "ok", "the outcomes are \(outcomes)")
        },
        SmallProgram("timeout-and-response", "at the moment of the timeout a caller gets the response or timedOut") { stage in
            let ness = stage.manager { $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 1, minimumRequests: 100) }
            let outcome = await stage.outcome(
                of: ness.httpRequest(withUrl: Stage.url).set(timeout: .milliseconds(10)).dataRequest())
            stage.expect([outcome], in: ["ok", "timedOut"])
            await stage.expectIdle(ness, Stage.url)
        },
        SmallProgram("timeout-of-the-last", "a caller who joins while the exchange times out starts a new one") { stage in
            let ness = stage.manager(serve: { connection in
                if connection.number == 1 { try await connection.waitForEver() }
                try await connection.respond(200)
            })
            let first = ness.httpRequest(withUrl: Stage.url).set(timeout: .milliseconds(20)).dataRequest()
            try await Task.sleep(for: .milliseconds(19))
            try await stage.moment()
            let second = await stage.outcome(of: ness.httpRequest(withUrl: Stage.url).set(timeout: .seconds(3)).dataRequest())
            stage.expect([await stage.outcome(of: first)], in: ["timedOut"])
            // It may have joined before the timeout, and then fails with its own.
            stage.expect([second], in: ["ok", "timedOut"])
        },
        SmallProgram("read-after-write", "a GET that starts after a write has completed sees it") { stage in
            let version = Lock(0)
            let ness = stage.manager(serve: { connection in
                if connection.request.method == .put { version.withLock { $0 += 1 } }
                let seen = version.withLock { $0 }
                try await connection.wait(.milliseconds(Int.random(in: 0...20)))
                try await connection.respond(200, ["Cache-Control": "max-age=60"], "\(seen)")
            }) {
                // A write that removes stored responses closes the reads as well.
                if Bool.random() { $0.cache = HTTPCache(memoryLimit: 1 << 20) }
            }
            try await stage.meet(
                { _ = try await stage.crowd(ness, [Stage.url, Stage.url]) },
                {
                    let written = try await ness.httpRequest(.put, withUrl: Stage.url).text()
                    let read = try await ness.httpRequest(withUrl: Stage.url).text()
                    stage.expect(Int(read) ?? 0 >= Int(written) ?? 0, "read \(read) after \(written) was written")
                })
        },
    ]
}
