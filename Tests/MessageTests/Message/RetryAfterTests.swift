import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The wait that a server asks for, and that of an open circuit breaker.
@Suite(.inTurn) struct RetryAfterTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func response(_ headers: HTTPHeaders) throws -> HTTPResponse {
        HTTPResponse(statusCode: 503, headers: headers, request: HTTPRequest(url: try url("https://mock.test/x")))
    }

    @Test(
        "Retry-After is a number of seconds, or a date that counts from the response's own date (RFC 9110, 10.2.3)",
        arguments: [
            ("120", 120), (" 7 ", 7), ("0", 0),
            ("Sun, 06 Nov 1994 08:51:37 GMT", 120), (Self.date, 0), ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("99999999999999999999", 3_153_600_000), ("soon", nil), ("-1", nil), ("1.5", nil), ("", nil),
        ] as [(String, Int?)])
    func field(value: String, seconds: Int?) throws {
        #expect(try response(["Retry-After": value, "Date": Self.date]).retryAfter == seconds.map { .seconds($0) })
    }

    @Test("without a date of the response, a date in Retry-After counts from now")
    func clock() throws {
        let end = "Fri, 31 Dec 9999 23:59:59 GMT"
        #expect(try response(["Retry-After": end, "Date": "yesterday"]).retryAfter == .seconds(3_153_600_000))
        #expect(try response(["Retry-After": Self.date, "Date": "yesterday"]).retryAfter == .zero)
        #expect(try response([:]).retryAfter == nil)
    }

    @Test("a response and a failed request report the delay that the server requests, and other errors none")
    func wire() async throws {
        let rig = Rig(onUnmatched: .reply(.text("later", status: 429, headers: ["Retry-After": "30"])))
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.response().retryAfter == .seconds(30))
        #expect(await request.validate().dataRequest().nessError()?.retryAfter == .seconds(30))
        let error = await #expect(throws: NessError.self) { for try await _ in request.lines(decoding: User.self) {} }
        #expect(error?.retryAfter == .seconds(30))
        rig.mock.on(.get, "/lost") { _ in .failure(.cannotConnect) }
        let lost = try #require(await rig.ness.get("lost").dataRequest().nessError())
        #expect(lost.retryAfter == nil && lost.context.circuitOpenTime == nil)
    }

    @Test("the error of an open circuit breaker reports the remaining time, and zero while the breaker probes the host")
    func breaker() async throws {
        let rig = Rig(advances: false) {
            $0.circuitBreaker = CircuitBreakerLimit(minimumRequests: 1, openDuration: .seconds(30))
            $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        }
        let gate = TestGate(), arrived = Tally()
        rig.mock.on(.get, "/x") { _ in
            arrived.enter()
            if arrived.total > 1 { await gate.wait() }
            return .status(503, headers: ["Retry-After": "7"])
        }
        func wait() async -> Duration? { await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.retryAfter }
        #expect(try await rig.ness.httpRequest(withUrl: "x").response().retryAfter == .seconds(7))
        rig.clock.advance(by: .seconds(10))
        #expect(await wait() == .seconds(20))
        rig.clock.advance(by: .seconds(20))
        let probe = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await arrived.wait(for: 2)
        #expect(await wait() == .zero)
        gate.open()
        _ = try await probe.value
        #expect(await wait() == .seconds(30))
    }
}
