import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite("Retry: back-off", .inTurn)
struct RetryBackoffTests {
    /// A control that always waits for the longest allowed delay.
    private static func longest(_ count: Int = 10, maxDelay: Duration = .seconds(20)) -> BackoffRetryControl {
        BackoffRetryControl(maxRetryCount: count, initialDelay: .milliseconds(250), maxDelay: maxDelay) { $0.upperBound }
    }

    private func attempt(_ method: HTTPMethod, _ status: Int, number: Int = 1, isSeen: Bool = true) throws -> FailedAttempt {
        let request = HTTPRequest(method, url: try url("https://mock.test/x"))
        let response = HTTPResponse(statusCode: status, request: request)
        return FailedAttempt(request: request, response: response, number: number, mayHaveReachedServer: isSeen)
    }

    @Test("the delay is random between zero and the ceiling") func theDelayIsRandomBetweenNothingAndTheCeiling() async throws {
        let ranges = Log<ClosedRange<Double>>()
        let control = BackoffRetryControl(maxRetryCount: 4, initialDelay: .seconds(1), maxDelay: .seconds(5)) { range in
            ranges.add(range)
            return range.upperBound / 4
        }
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.status(502)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
        #expect(ranges.entries == [0...1, 0...2, 0...4, 0...5])
        #expect(rig.clock.sleeps == [0.25, 0.5, 1, 1.25].map { .seconds($0) })
    }

    @Test("the built-in random delay stays within its bounds") func theBuiltInRandomnessStaysInBounds() async throws {
        let control = BackoffRetryControl(maxRetryCount: 5_000, initialDelay: .seconds(1), maxDelay: .seconds(8))
        for (number, ceiling) in [(1, 1.0), (3, 4.0), (5_000, 8.0)] {
            var delays: Set<Double> = []
            for _ in 0..<200 {
                guard case .retryAfter(let delay) = await control.shouldRetry(try attempt(.get, 503, number: number)) else {
                    Issue.record("not retried")
                    return
                }
                delays.insert(delay)
            }
            #expect(delays.allSatisfy { (0...ceiling).contains($0) })
            #expect(delays.count > 100)
            #expect((delays.max() ?? 0) > ceiling / 2)
        }
    }

    @Test("408, 429, 502, 503 and 504 are retried, or the statuses that were chosen, and others are not")
    func statuses() async throws {
        let chosen = BackoffRetryControl(maxRetryCount: 1, statusCodes: [500])
        for status in [200, 400, 401, 404, 408, 409, 429, 500, 501, 502, 503, 504] {
            let attempt = try attempt(.get, status)
            #expect((await Self.longest().shouldRetry(attempt) != .noRetry) == [408, 429, 502, 503, 504].contains(status))
            #expect((await chosen.shouldRetry(attempt) != .noRetry) == (status == 500))
        }
    }

    @Test("a truncated response is retried, regardless of its status", arguments: [200, 401, 404])
    func aPartOfAResponse(status: Int) async throws {
        let rig = Rig { $0.authentication = BearerAuthentication(token: "t") }
        rig.mock.on(.get, "/x", replies: [.text("part", status: status, headers: ["Content-Length": "9"]), .text("whole")])
        let control = BackoffRetryControl(maxRetryCount: 1)
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value.message.text == "whole")
    }

    @Test("a POST after a 429 is sent again by a request's own control on demand, and never by the manager's")
    func nonIdempotent() async throws {
        for (all, isOwn, count) in [(true, true, 2), (false, true, 1), (true, false, 1)] {
            let control = BackoffRetryControl(maxRetryCount: 1, retriesNonIdempotentRequests: all)
            let rig = Rig { if !isOwn { $0.retryControl = control } }
            rig.mock.on(.post, "/x", replies: [.status(429, headers: ["Retry-After": "3"]), .status(201)])
            let request = rig.ness.post("x").set(stringBody: "order")
            let result = try await request.set(retry: isOwn ? control : nil).dataRequest().value
            #expect(result.message.statusCode == (count == 2 ? 201 : 429))
            #expect(rig.mock.requests.count == count)
            #expect(rig.clock.sleeps.contains(.seconds(3)) == (count == 2))
        }
    }

    @Test(
        "only idempotent methods are retried, unless the request certainly never reached the server",
        arguments: [HTTPMethod.get, .head, .put, .delete, .options, .trace, .post, .patch, .custom("PURGE")])
    func methods(method: HTTPMethod) async throws {
        let isIdempotent = ![.post, .patch, .custom("PURGE")].contains(method)
        #expect(await Self.longest().shouldRetry(try attempt(method, 503)) == (isIdempotent ? .retryAfter(0.25) : .noRetry))
        #expect(await Self.longest().shouldRetry(try attempt(method, 503, isSeen: false)) == .retryAfter(0.25))
    }

    @Test("after a refused connection a POST is retried, because the server has not seen it")
    func aConnectionThatIsRefusedWasNotSeen() async throws {
        let clock = ManualClock(advancesAutomatically: true), control = AskedControl(Self.longest(2))
        let ness = Ness { $0.clock = clock }
        let promise = ness.httpRequest(.post, withUrl: try await refusingURL()).dataRequest(with: control)
        #expect(await promise.nessError()?.kind == .cannotConnect)
        #expect(control.asked.entries.map(\.mayHaveReachedServer) == [false, false, false])
        #expect(clock.sleeps == [.milliseconds(250), .milliseconds(500)])
    }

    @Test(
        "Retry-After in seconds is the delay; one longer than the longest delay ends the attempts",
        arguments: [
            ("7", [7.0]), ("0", []), ("20", [20.0]), ("soon", [0.25]), ("-1", [0.25]), ("21", nil), ("99999999999999999999", nil),
            ("Fri, 01 Jan 2100 00:00:00 GMT", nil),
        ] as [(String, [Double]?)])
    func retryAfter(value: String, sleeps: [Double]?) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.status(429, headers: ["Retry-After": value]), .status(200)])
        #expect(try await rig.ness.get("x").dataRequest(with: Self.longest()).value.message.statusCode == (sleeps == nil ? 429 : 200))
        #expect(rig.clock.sleeps == (sleeps ?? []).map { .seconds($0) })
    }

    @Test("extreme values of a policy, an attempt or a budget never trap")
    func extremes() async throws {
        let zero = BackoffRetryControl(maxRetryCount: 5_000, initialDelay: .zero) { $0.upperBound }
        #expect(await zero.shouldRetry(try attempt(.get, 503, number: 1_026)) == .retryAfter(0))
        #expect(await zero.shouldRetry(try attempt(.get, 503, number: .min)) == .retryAfter(0))
        #expect(RetryControlDecision.retry(after: .seconds(1e20)) == .retryAfter(1e20))
        _ = Ness { $0.retryBudget.window = .seconds(1e20) }
        var waiting = try attempt(.get, 503)
        waiting.retryAfter = .seconds(60)
        let noNumber = CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: .nan)
        #expect(await noNumber.shouldRetry(waiting) == .retryAfter(60))
    }
}
