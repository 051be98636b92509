import Foundation
import NessHTTP
import NessLock

/// Small programs about slots, rates, breakers, retries and time limits.
enum LimitPrograms {
    private static let five = (0..<5).map { "https://a.test/\($0)" }

    /// A manager whose server notes the most requests that it handles at once.
    private static func counting(
        _ stage: Stage, _ most: @escaping @Sendable (Int) -> Void, _ configure: (inout Ness.Configuration) -> Void
    ) -> Ness {
        let open = Lock(0)
        return stage.manager(
            serve: { connection in
                most(open.increment())
                defer { open.withLock { $0 -= 1 } }
                try await connection.wait(.milliseconds(10))
                try await connection.respond(200, [:], "ok")
            }, configure)
    }

    static let all: [SmallProgram] = [
        SmallProgram("hand-over-and-drop", "a request that is dropped at the moment when it gets a slot passes it on") { stage in
            let ness = counting(stage, { stage.expect($0 <= 1, "\($0) requests at once") }) { $0.maximumConnectionsPerHost = 1 }
            let promises = five.map { ness.httpRequest(withUrl: $0).dataRequest() }
            try await stage.together(
                { for promise in promises { stage.expect([await stage.outcome(of: promise)], in: ["ok", "dropped"]) } },
                {
                    // The server needs as long for each exchange: the next in line is dropped when it gets its slot.
                    for promise in promises.dropFirst() {
                        try await Task.sleep(for: .milliseconds(10))
                        if Bool.random() { promise.drop() }
                    }
                })
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("total-and-drop", "a request that is dropped leaves the manager's queue, and no slot is lost") { stage in
            let ness = counting(stage, { stage.expect($0 <= 2, "\($0) requests at once") }) {
                $0.maximumConnectionsPerHost = 1
                $0.maximumConcurrentRequests = 2
            }
            stage.expect(
                try await stage.crowd(ness, five + five.map { $0.replacingOccurrences(of: "a.", with: "b.") }), in: ["ok", "dropped"])
            await stage.expectIdle(ness, "https://a.test/probe")
            await stage.expectIdle(ness)
        },
        SmallProgram("limit-changes", "raising the limit admits waiting requests, and lowering it ends nothing") { stage in
            let ness = counting(stage, { stage.expect($0 <= 3, "\($0) requests at once") }) { $0.maximumConnectionsPerHost = 3 }
            try await stage.crowd(ness, five) {
                for limit in [0, 2, 1, 0, 3] {
                    ness.maximumConnectionsPerHost = limit
                    try await stage.moment()
                }
            }
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("pause-in-every-queue", "a pause starts nothing that waits in any queue, and no token or slot is lost") { stage in
            let pause = Lock(Duration?.none)
            let start = ContinuousClock.now
            let ness = counting(
                stage,
                { _ in
                    // What has left all queues may reach the wire at the moment of the pause.
                    let isPaused = pause.withLock { $0 }.map { $0 < ContinuousClock.now - start } ?? false
                    stage.expect(!isPaused, "an exchange starts during a pause")
                }
            ) {
                $0.maximumConnectionsPerHost = 3
                $0.maximumConcurrentRequests = 2
                $0.throttle = ThrottleLimit(rate: 100)
            }
            try await stage.crowd(ness, five) {
                for _ in 0..<2 {
                    ness.maximumConnectionsPerHost = 0
                    pause.withLock { $0 = ContinuousClock.now - start }
                    try await Task.sleep(for: .milliseconds(40))
                    pause.withLock { $0 = nil }
                    ness.maximumConnectionsPerHost = 3
                    try await stage.moment()
                }
            }
            for (first, second) in zip(stage.times, stage.times.dropFirst()) {
                stage.expect(second - first >= .microseconds(9_999), "two exchanges within \(second - first)")
            }
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("throttle-and-drop", "a dropped request takes no token, and the others start at the rate") { stage in
            let ness = stage.manager { $0.throttle = ThrottleLimit(rate: 100, burst: 2) }
            stage.expect(try await stage.crowd(ness, five), in: ["ok", "dropped"])
            for (first, third) in zip(stage.times, stage.times.dropFirst(2)) {
                stage.expect(third - first >= .microseconds(9_999), "three exchanges within \(third - first)")
            }
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("group-and-drop", "a group keeps its slots and its rate over all hosts, even over a pause, and no slot is lost") {
            stage in
            let ness = counting(stage, { stage.expect($0 <= 1, "\($0) requests at once") }) {
                $0.maximumConnectionsPerHost = 2
                $0.limitGroup = { _ in LimitGroup("a", rate: 100, maximumConcurrentRequests: 1) }
            }
            try await stage.crowd(ness, five + five.map { $0.replacingOccurrences(of: "a.", with: "b.") }) {
                ness.maximumConnectionsPerHost = 0
                try await stage.moment()
                ness.maximumConnectionsPerHost = 2
            }
            for (first, second) in zip(stage.times, stage.times.dropFirst()) {
                stage.expect(second - first >= .microseconds(9_999), "two exchanges within \(second - first)")
            }
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("probe-and-drop", "after a probe that was dropped, the next request is the probe") { stage in
            let ness = stage.manager(serve: { connection in
                try await connection.wait(.milliseconds(10))
                try await connection.respond(connection.number == 1 ? 500 : 200, [:], "ok")
            }) { $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.1, minimumRequests: 1, openDuration: .seconds(1)) }
            _ = await stage.outcome(of: ness.httpRequest(withUrl: Stage.url).dataRequest())
            try await Task.sleep(for: .seconds(2))
            stage.expect(try await stage.crowd(ness, five), in: ["ok", "dropped", "circuitOpen"])
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("deadline-and-response", "at the deadline a request has one outcome, and observers hear of one end") { stage in
            let log = EventLog()
            let ness = stage.manager { $0.observers = [log] }
            let outcome = await stage.outcome(
                of: ness.httpRequest(withUrl: Stage.url).set(deadline: .milliseconds(10)).dataRequest())
            stage.expect([outcome], in: ["ok", "timedOut"])
            try await stage.expectOneEnd(in: log, after: ness)
        },
        SmallProgram("deadline-in-the-queue", "a deadline passes in a queue, and no slot is lost") { stage in
            let ness = stage.manager { $0.maximumConnectionsPerHost = 1 }
            let promises = five.map { ness.httpRequest(withUrl: $0).set(deadline: .milliseconds(25)).dataRequest() }
            for promise in promises { stage.expect([await stage.outcome(of: promise)], in: ["ok", "timedOut"]) }
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("retry-and-drop", "a request that is dropped before a retry is not sent again") { stage in
            let isDropped = Lock(false)
            let ness = stage.manager(serve: { connection in
                stage.expect(!isDropped.withLock { $0 }, "it was sent after the drop")
                try await connection.respond(503, [:], "busy")
            }) { $0.retryControl = CounterRetryControl(maxRetryCount: 5, timeIntervalBeforeTryToRetry: 0.002) }
            let promise = ness.httpRequest(withUrl: Stage.url).dataRequest()
            try await stage.meet(
                { stage.expect([await stage.outcome(of: promise)], in: ["503", "dropped"]) },
                {
                    promise.drop()
                    // What has passed all queues may reach the wire at the same moment.
                    await Task.yield()
                    try await Task.sleep(for: .milliseconds(1))
                    isDropped.withLock { $0 = true }
                })
        },
        SmallProgram("stale-408-and-drop", "a 408 to an idle connection repeats the request once") { stage in
            let ness = stage.manager(serve: { connection in
                try await connection.wait(.milliseconds(3))
                if connection.number == 1 { return try await connection.respond(408, ["Connection": "close"]) }
                try await connection.respond(200, [:], "ok")
            }) { $0.maximumConnectionsPerHost = 1 }
            stage.expect(try await stage.crowd(ness, [Stage.url]), in: ["ok", "dropped"])
            stage.expect(stage.requests.count <= 2, "it was sent \(stage.requests.count) times")
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("post-lost", "a POST that may have reached the server is not sent again") { stage in
            let ness = stage.manager(serve: { connection in
                try await connection.wait(.milliseconds(1))
                throw TransportError.connectionLost
            }) { $0.retryControl = CounterRetryControl(maxRetryCount: 3) }
            _ = await stage.outcome(of: ness.httpRequest(.post, withUrl: Stage.url).dataRequest())
            stage.expect(stage.requests.count == 1, "it was sent \(stage.requests.count) times")
        },
    ]
}
