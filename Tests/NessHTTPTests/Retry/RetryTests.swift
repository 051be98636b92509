import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite("Retry", .inTurn)
struct RetryTests {
    @Test(
        "the counter makes exactly its number of retries, after the same delay",
        arguments: [(-1, 1), (0, 1), (1, 2), (4, 5)])
    func theCounterCounts(retries: Int, requests: Int) async throws {
        let rig = Rig()
        rig.mock.on(.post, "/x", replies: [.status(503)])
        let control = CounterRetryControl(maxRetryCount: retries, timeIntervalBeforeTryToRetry: 2)
        let result = try await rig.ness.httpRequest(.post, withUrl: "x").dataRequest(with: control).value
        #expect(result.message.statusCode == 503)
        #expect(rig.mock.requests.count == requests)
        #expect(rig.clock.sleeps == Array(repeating: .seconds(2), count: requests - 1))
    }

    @Test("the counter waits as long as the server asks") func theCounterWaitsAsLongAsTheServerAsks() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.status(503, headers: ["Retry-After": "30"]), .status(200)])
        let control = CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: 1)
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
        #expect(rig.clock.sleeps == [.seconds(30)])
    }

    @Test(
        "the counter waits at most for its longest Retry-After",
        arguments: [
            ("120", Duration.seconds(120), 2), ("121", .seconds(120), 1), ("99999999999999999999", .seconds(3_600), 1), ("0", .zero, 2),
        ])
    func theCounterDoesNotWaitForEver(value: String, longest: Duration, requests: Int) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.status(503, headers: ["Retry-After": value]), .status(200)])
        let control = CounterRetryControl(maxRetryCount: 3, maxRetryAfter: longest)
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
        #expect(rig.mock.requests.count == requests)
        #expect(rig.clock.now.offset <= longest)
    }

    @Test("two equal concurrent calls have two retries each, and so has a later one")
    func theStateIsOfOneRequest() async throws {
        let rig = Rig(), tally = Tally(), both = TestGate()
        rig.mock.on(.post, "/x") { _ in
            if tally.enter() == 1 { both.open() }
            await both.wait()
            return .status(503)
        }
        let control = AskedControl(CounterRetryControl(maxRetryCount: 2))
        let request = rig.ness.httpRequest(.post, withUrl: "x")
        let calls = (0..<2).map { _ in request.dataRequest(with: control) }
        for call in calls { _ = try await call.value }
        #expect(control.asked.entries.map(\.number).sorted() == [1, 1, 2, 2, 3, 3])
        #expect(rig.mock.requests.count == 6)
        _ = try await request.dataRequest(with: control).value
        #expect(control.asked.entries.suffix(3).map(\.number) == [1, 2, 3])
        #expect(rig.mock.requests.count == 9)
    }

    @Test("each attempt starts from the original request")
    func eachAttemptBeginsAnew() async throws {
        final class Delegate: NetworkSessionManagerDelegate {
            let seen = Log<HTTPRequest>()
            func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
                seen.add(request)
                var request = request
                request.headers.add("delegate", for: "X-Mark")
                return request
            }
        }
        let seenByLoader = Log<[String]>()
        let rig = Rig { configuration in
            configuration.loaders = [
                ClosureLoader { request, next in
                    seenByLoader.add(request.headers.members(of: "X-Mark"))
                    var request = request
                    request.headers.add("loader", for: "X-Mark")
                    return try await next(request)
                }
            ]
        }
        rig.mock.on(.get, "/x", replies: [.status(503), .status(503), .status(200)])
        let delegate = Delegate()
        rig.ness.delegate = delegate
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 2)).value
        #expect(delegate.seen.entries.map { $0.headers.contains("X-Mark") } == [false, false, false])
        #expect(seenByLoader.entries == Array(repeating: ["delegate"], count: 3))
        #expect(rig.mock.requests.map { $0.headers.members(of: "X-Mark") } == Array(repeating: ["delegate", "loader"], count: 3))
    }

    @Test("the control sees the elapsed time and the server's Retry-After")
    func theControlIsToldTheTimeAndWhatTheServerAsks() async throws {
        let rig = Rig(), control = AskedControl(CounterRetryControl(maxRetryCount: 2, timeIntervalBeforeTryToRetry: 5))
        rig.mock.on(.get, "/x", replies: [.status(503, headers: ["Retry-After": "9"]), .failure(.cannotConnect), .status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
        #expect(control.asked.entries.map(\.elapsed) == [.zero, .seconds(9)])
        #expect(control.asked.entries.map(\.retryAfter) == [.seconds(9), nil])
        #expect(control.asked.entries.map(\.mayHaveReachedServer) == [true, false])
        let original = try url("https://mock.test/x")
        #expect(control.asked.entries.map(\.request.url) == [original, original])
    }
}
