import Foundation
import NessHTTP
import NessLock

/// Small programs about refreshes, resets, shutdowns and loaders.
enum LifePrograms {
    private static let five = (0..<5).map { "https://a.test/\($0)" }

    /// A manager whose server takes only fresh credentials.
    private static func guarded(
        _ stage: Stage, _ configure: (inout Ness.Configuration) -> Void = { _ in },
        refresh: @escaping @Sendable () async throws -> String = { "fresh" }
    ) -> Ness {
        let running = Lock(0)
        return stage.manager(serve: { connection in
            let isFresh = connection.request.headers["Authorization"]?.hasPrefix("Bearer fresh") == true
            try await connection.wait(.milliseconds(5))
            try await connection.respond(isFresh || connection.request.url.path == "/probe" ? 200 : 401, [:], "ok")
        }) {
            $0.baseURL = URL(string: "https://a.test/")
            $0.authentication = RefreshableAuthentication(
                credential: "stale", apply: { ["Authorization": "Bearer \($0)"] },
                refresh: { _, _ in
                    let count = running.increment()
                    defer { running.withLock { $0 -= 1 } }
                    stage.expect(count == 1, "\(count) refreshes run at the same time")
                    try await Task.sleep(for: .milliseconds(5))
                    return try await refresh()
                })
            configure(&$0)
        }
    }

    /// A loader that ignores cancellation.
    private static let deaf = ClosureLoader.loader { request, next in try await Task { try await next(request) }.value }

    static let all: [SmallProgram] = [
        SmallProgram("refresh-and-drops", "two refreshes never run at the same time, and those who are not dropped succeed") { stage in
            let ness = guarded(stage)
            stage.expect(try await stage.crowd(ness, five), in: ["ok", "dropped"])
            await stage.expectIdle(ness, "https://a.test/x")
        },
        SmallProgram(
            "refresh-fails-once", "if a refresh fails, those who wait for it fail with its error, and the next 401 starts a new one"
        ) { stage in
            struct Failure: Error {}
            let refreshes = Lock(0)
            let ness = guarded(stage, refresh: { if refreshes.increment() == 1 { throw Failure() } else { return "fresh" } })
            stage.expect(try await stage.crowd(ness, five), in: ["ok", "dropped", "Failure"])
            await stage.expectIdle(ness, "https://a.test/x")
        },
        SmallProgram("drop-at-the-start", "the manager keeps nothing of a request that has ended") { stage in
            final class Held: Sendable {}
            struct Weak: Sendable { weak let held: Held? }
            let ness = stage.manager(), kept = Lock<[Weak]>([])
            for url in five {
                let held = Held()
                kept.withLock { $0.append(Weak(held: held)) }
                let task = Task { _ = try? await ness.get(url).onHead { [held] _ in withExtendedLifetime(held) {} }.response() }
                try await stage.moment()
                task.cancel()
                await task.value
            }
            try await Task.sleep(for: .seconds(1))
            let count = kept.withLock { $0.count { $0.held != nil } }
            stage.expect(count == 0, "\(count) of the requests are still held")
        },
        SmallProgram("reset-and-refresh", "a reset ends the refresh, and the next request starts another") { stage in
            let ness = guarded(stage)
            try await stage.crowd(ness, five) { await ness.reset() }
            await stage.expectIdle(ness, "https://a.test/x")
        },
        SmallProgram(
            "the-rest-returns-to-a-deaf-loader", "after a drop the rest of the way returns, even to a loader that ignores cancellation"
        ) { stage in
            let inside = Lock(0)
            let ness = stage.manager { configuration in
                let noted = ClosureLoader.loader { request, next in
                    inside.withLock { $0 += 1 }
                    defer { inside.withLock { $0 -= 1 } }
                    return try await Task { try await next(request) }.value
                }
                configuration.insert(noted, at: .call)
                configuration.maximumConnectionsPerHost = 1
            }
            stage.expect(try await stage.crowd(ness, [Stage.url, Stage.url, five[0], five[1]]), in: ["ok", "dropped"])
            try await Task.sleep(for: .seconds(100))
            stage.expect(inside.withLock { $0 } == 0, "\(inside.withLock { $0 }) requests have not returned to the loader")
        },
        SmallProgram(
            "reset-behind-a-deaf-loader", "a reset ends requests that wait for a credential, even behind a loader that ignores it"
        ) { stage in
            let ness = stage.manager { configuration in
                configuration.insert(deaf, at: .call)
                configuration.baseURL = URL(string: "https://a.test/")
                configuration.authentication = RefreshableAuthentication(
                    credential: "stale", isStale: { $0 == "stale" }, apply: { ["Authorization": $0] },
                    renew: { _, _ in
                        try await Task.sleep(for: .milliseconds(5))
                        return "fresh"
                    })
            }
            try await stage.crowd(ness, five) { await ness.reset() }
            await stage.expectIdle(ness, "https://a.test/x")
        },
        SmallProgram("sign-in-and-refresh", "after the credential was set, requests that the server rejected are sent with it") { stage in
            let ness = guarded(stage)
            let authentication = ness.environment.authentication as? RefreshableAuthentication<String>
            try await stage.crowd(ness, five) { authentication?.credential = "fresh too" }
            stage.expect(authentication?.credential == "fresh too", "the credential is \(authentication?.credential ?? "none")")
        },
        SmallProgram("a-loader-ignores-the-drop", "a request that was dropped renews nothing, even behind a loader that ignores it") {
            stage in
            let refreshedAt = Lock<ContinuousClock.Instant?>(nil)
            let ness = guarded(stage, { $0.insert(deaf, at: .call) }) {
                // The stage's refresh has taken 5 ms until here.
                refreshedAt.withLock { $0 = ContinuousClock.now.advanced(by: .milliseconds(-5)) }
                return "fresh"
            }
            let promise = ness.httpRequest(withUrl: Stage.url).dataRequest()
            try await stage.moment()
            promise.drop()
            let droppedAt = ContinuousClock.now
            try await Task.sleep(for: .seconds(1))
            let start = refreshedAt.withLock { $0 }
            stage.expect(start.map { $0 <= droppedAt } ?? true, "a refresh started after the drop")
        },
        SmallProgram("reset-and-start", "after a reset nothing from before it is sent or delivered") { stage in
            let ness = stage.manager { $0.maximumConnectionsPerHost = 1 }
            let promises = five.map { ness.httpRequest(withUrl: $0).dataRequest() }
            try await stage.meet(
                { for promise in promises { stage.expect([await stage.outcome(of: promise)], in: ["ok", "dropped"]) } },
                { await ness.reset() })
            let count = stage.requests.count
            await stage.expectIdle(ness, "https://a.test/probe")
            stage.expect(stage.requests.count == count + 1, "something was sent after the reset")
        },
        SmallProgram("shutdown-and-start", "after a shutdown nothing is sent, and every request has settled") { stage in
            let ness = stage.manager()
            try await stage.crowd(ness, five) {
                await ness.shutdown(within: .milliseconds(Int.random(in: 0...15)))
                let count = stage.requests.count
                try await Task.sleep(for: .seconds(1))
                stage.expect(stage.requests.count == count, "something was sent after the shutdown")
            }
        },
        SmallProgram("reset-and-shutdown", "resets and shutdowns at the same time all end") { stage in
            let ness = guarded(stage)
            try await stage.together(
                { stage.expect(try await stage.crowd(ness, five), in: ["ok", "dropped"]) },
                { await ness.reset() },
                {
                    try await stage.moment()
                    await ness.reset()
                },
                {
                    try await stage.moment()
                    await ness.shutdown(within: .zero)
                }, { await ness.shutdown(within: .milliseconds(7)) })
        },
        SmallProgram("reset-inside-a-loader", "a reset may be awaited inside a loader, and ends") { stage in
            let manager = Lock<Ness?>(nil)
            let ness = stage.manager(.canceled) {
                $0.insert(
                    .loader { request, next in
                        if request.url.path == "/0" { await manager.withLock { $0 }?.reset() }
                        return try await next(request)
                    }, at: .exchange)
            }
            manager.withLock { $0 = ness }
            stage.expect(try await stage.crowd(ness, five), in: ["ok", "dropped"])
            // The reset completes after the exchange in which it was called.
            await ness.reset()
            await stage.expectIdle(ness)
            manager.withLock { $0 = nil }
        },
        SmallProgram("a-transport-ignores-the-stop", "a drop and a timeout do not wait for code of the application") { stage in
            let ness = stage.manager(
                .ignored,
                serve: { connection in
                    try await connection.wait(.seconds(connection.request.url.path == "/x" ? 100 : 0))
                    try await connection.respond(200, [:], "ok")
                })
            let start = ContinuousClock.now
            let promises = [1, 2].map { ness.httpRequest(withUrl: Stage.url).set(timeout: .milliseconds($0 * 10)).dataRequest() }
            try await stage.moment()
            promises[0].drop()
            for promise in promises { stage.expect([await stage.outcome(of: promise)], in: ["dropped", "timedOut"]) }
            stage.expect(ContinuousClock.now - start < .seconds(1), "the callers waited")
            await stage.expectIdle(ness)
        },
        SmallProgram("drop-in-a-loader", "a loader at each place that drops all requests ends them once") { stage in
            let log = EventLog()
            let manager = Lock<Ness?>(nil)
            let place = LoaderPlace.allPlaces[Int.random(in: 0..<4)]
            let ness = stage.manager {
                $0.observers = [log]
                $0.insert(
                    .loader { request, next in
                        let response = try await next(request)
                        manager.withLock { $0 }?.dropAllRequests()
                        return response
                    }, at: place)
            }
            manager.withLock { $0 = ness }
            stage.expect(try await stage.crowd(ness, five), in: ["ok", "dropped"])
            try await stage.expectOneEnd(in: log, after: ness)
            manager.withLock { $0 = nil }
        },
    ]
}

extension LoaderPlace {
    static let allPlaces: [LoaderPlace] = [.call, .attempt, .authenticated, .exchange]
}
