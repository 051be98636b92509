import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite struct ManualClockTests {
    @Test("no duration is too long: neither the clock, nor a reply's delay, nor a request afterwards ends the process")
    func hugeDurations() async throws {
        let clock = ManualClock(advancesAutomatically: true)
        let mock = MockTransport(clock: clock)
        mock.on(.get, "/x") { _ in .text("x") }
        let ness = mocked(mock) { $0.clock = clock }
        var slow = Reply.text("x")
        for _ in 0..<20 {
            clock.advance(by: .seconds(1e20))
            try await clock.sleep(for: .seconds(Int64.max))
            slow = slow.delayed(by: .seconds(1e20))
            #expect(try await ness.get("x").set(deadline: .seconds(3)).response().text == "x")
        }
    }
}
