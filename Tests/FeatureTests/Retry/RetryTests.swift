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

    @Test(
        "the counter waits for its delay or a longer Retry-After, but at most for its longest Retry-After",
        arguments: [
            ("120", 120, [120]), ("121", 120, nil), ("99999999999999999999", 3_600, nil), ("0", 0, [1]), ("30", 120, [30]),
        ] as [(String, Int, [Int]?)])
    func theCounterDoesNotWaitForEver(value: String, longest: Int, sleeps: [Int]?) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.status(503, headers: ["Retry-After": value]), .status(200)])
        let control = CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: 1, maxRetryAfter: .seconds(longest))
        _ = try await rig.ness.get("x").dataRequest(with: control).value
        #expect(rig.mock.requests.count == (sleeps == nil ? 1 : 2))
        #expect(rig.clock.sleeps == (sleeps ?? []).map { .seconds($0) })
    }

    @Test("two equal concurrent calls have two retries each")
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
    }

    @Test("each attempt starts from the original request")
    func eachAttemptBeginsAnew() async throws {
        final class Delegate: NetworkSessionManagerDelegate {
            func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
                var request = request
                request.headers.add("delegate", for: "X-Mark")
                return request
            }
        }
        let rig = Rig { $0.loaders = [.modifyRequest { $0.headers.add("loader", for: "X-Mark") }] }
        rig.mock.on(.get, "/x", replies: [.status(503), .status(503), .status(200)])
        let delegate = Delegate()
        rig.ness.delegate = delegate
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 2)).value
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
