import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct MetricsTests {
    final class Collector: RequestObserver {
        let log = Log<RequestMetrics>()
        func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) { log.add(metrics) }
    }

    @Test("metrics count attempts, exchanges and bytes, and measure the time in queues, to the first byte and in all")
    func everything() async throws {
        let collector = Collector()
        let rig = Rig {
            $0.observers = [collector]
            $0.throttle = ThrottleLimit(rate: 1)
        }
        rig.mock.on(
            .put, "/x",
            replies: [
                .status(200), .text("later", status: 503).delayed(by: .seconds(2)),
                .status(302, headers: ["Location": "/y"]).delayed(by: .seconds(3)),
            ])
        rig.mock.on(.get, "/y", replies: [.text("hello").delayed(by: .seconds(4))])
        let builder = rig.ness.httpRequest(.put, withUrl: "x").set(body: Data("abc".utf8)).set(
            redirects: .decide { redirect in
                .send(HTTPRequest(url: redirect.response.url.deletingLastPathComponent().appending(path: "y")))
            })
        _ = try await builder.dataRequest().value
        _ = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: 5)).value
        let metrics = try #require(collector.log.entries.last)
        #expect(collector.log.entries.count == 2)
        #expect(try metrics.outcome.get().text == "hello")
        #expect(metrics.attempts == 2 && metrics.exchanges == 3)
        // The first request had the token.
        #expect(metrics.queueTime == .seconds(1))
        #expect(metrics.timeToFirstByte == .seconds(4))
        #expect(metrics.total == .seconds(1 + 2 + 5 + 3 + 4))
        #expect(metrics.bytesSent == 6 && metrics.bytesReceived == 10)
    }

    @Test("the metrics of a failure hold the measured parts, and no time to a first byte that never arrived")
    func failure() async throws {
        let collector = Collector()
        let rig = Rig { $0.observers = [collector] }
        rig.mock.on(.get, "/x", replies: [.text("first", status: 503), .failure(.connectionLost)])
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).nessError()
        #expect(error?.kind == .connectionLost)
        let metrics = try #require(collector.log.entries.last)
        #expect(throws: NessError.self) { try metrics.outcome.get() }
        #expect(metrics.attempts == 2 && metrics.exchanges == 2)
        #expect(metrics.timeToFirstByte == nil)
        #expect(metrics.bytesReceived == 5)
        _ = await rig.ness.httpRequest(withUrl: "x").set(headers: ["A": "\n"]).dataRequest().nessError()
        #expect(collector.log.entries.last?.attempts == 0)
    }

    /// Reports counts that no request has, and fails once.
    private struct Boasting: Transport {
        let attempts = Log<Void>()

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            attempts.add(())
            var connection = ConnectionMetrics(isReused: false)
            connection.resendCount = .max
            try await receive(.connection(connection))
            for count in [Int64.min, .max, -1, .max] { try await receive(.sent(count)) }
            if attempts.entries.count == 1 { throw TransportError(.connectionLost, "lost") }
            try await receive(.head(statusCode: 200, headers: [:]))
        }
    }

    @Test("counts of a transport that are too large or negative are limited")
    func limits() async throws {
        let collector = Collector()
        let ness = Ness {
            $0.transport = Boasting()
            $0.observers = [collector]
        }
        let once = CounterRetryControl(maxRetryCount: 1)
        _ = try await ness.put("http://mock.test/").set(body: Data("abc".utf8)).dataRequest(with: once).value
        let metrics = try #require(collector.log.entries.last)
        #expect(metrics.bytesSent == .max && metrics.resendCount == .max && metrics.attempts == 2)
    }

    @Test("the time in a queue counts even if the request never leaves it")
    func queueTime() async throws {
        let collector = Collector(), clock = ManualClock()
        let rig = Rig {
            $0.observers = [collector]
            $0.clock = clock
        }
        rig.ness.maximumConnectionsPerHost = 0
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(3)).dataRequest()
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        clock.advance(by: .seconds(3))
        #expect(await promise.nessError()?.kind == .timedOut)
        // Nor does the delay before a retry count.
        let failing = ClosureLoader { request, _ in throw NessError(.offline, NessError.Context(request: request, reason: "none")) }
        let retried = rig.ness.get("x").add(loaders: [failing], at: .authenticated).set(
            retry: .decide { $0.number < 2 ? .retry(after: .seconds(10)) : .noRetry }
        ).dataRequest()
        await clock.waitUntil { $0.sleeps.contains(.seconds(10)) }
        clock.advance(by: .seconds(10))
        #expect(await retried.nessError()?.kind == .offline)
        #expect(collector.log.entries.map(\.queueTime) == [.seconds(3), .zero])
    }

    @Test("the bytes of a download's request count as sent, but not for the progress of its file")
    func downloadWithABody() async throws {
        let collector = Collector()
        try await withDownloads { _, _ in
            .data(Data("report".utf8))
        } configure: {
            $0.observers = [collector]
        } _: { rig in
            let promise = rig.ness.post("a").set(body: Data("query".utf8)).downloadRequest(forSavedLocation: rig.file)
            _ = try await promise.value
            #expect(promise.progress == TransferProgress(completedBytes: 6, totalBytes: 6))
            #expect(collector.log.entries.last?.bytesSent == 5 && collector.log.entries.last?.bytesReceived == 6)
        }
    }

    @Test("metrics are reported before the result")
    func before() async throws {
        let collector = Collector()
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.observers = [collector] }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest().then(on: .immediate) { _ in collector.log.entries.count }
        #expect(try await promise.value == 1)
    }

    // MARK: activity

    @Test("a request counts from start to end, once with all its attempts, however it ends, unless it is excluded")
    func counting() async throws {
        let counts = Log<Int>()
        let counter = ActivityCounter { counts.add($0) }
        let reached = Tally()
        let rigs = (0..<2).map { _ in Rig { $0.observers = [counter] } }
        for rig in rigs {
            rig.mock.on(.get, "/ok", replies: [.status(503), .status(200)])
            rig.mock.on(.get, "/lost", replies: [.failure(.connectionLost)])
            rig.mock.on(.get, "/slow") { _ in
                reached.enter()
                await TestGate().wait()
                return .status(200)
            }
        }
        _ = try await rigs[0].ness.httpRequest(withUrl: "ok").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        _ = await rigs[0].ness.httpRequest(withUrl: "lost").dataRequest().nessError()
        _ = await rigs[0].ness.httpRequest(withUrl: "http://[").dataRequest().nessError()
        _ = await rigs[0].ness.httpRequest(withUrl: "lost").set(option: ActivityCounter.IsCounted.self, to: false).dataRequest().nessError()
        #expect(counts.entries == [1, 0, 1, 0])
        let slow = rigs.map { $0.ness.httpRequest(withUrl: "slow").dataRequest() }
        await reached.wait(for: 2)
        #expect(counter.count == 2)
        for promise in slow { promise.drop() }
        await counts.wait(for: 8)
        #expect(counts.entries.suffix(4) == [1, 2, 1, 0])
        #expect(counter.count == 0)
    }

    @Test("counts arrive on the main actor if asked for, in order")
    func onMain() async throws {
        let counts = Log<Int>()
        let counter = ActivityCounter(onMain: { count in
            MainActor.assertIsolated()
            counts.add(count)
        })
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.observers = [counter] }
        for _ in 0..<3 { _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value }
        await counts.wait(for: 6)
        #expect(counts.entries == [1, 0, 1, 0, 1, 0])
    }
}
