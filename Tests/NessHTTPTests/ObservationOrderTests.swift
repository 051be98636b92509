import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// The order of what one request's observers hear, however its events and its end come together.
@Suite struct ObservationOrderTests {
    @Test("an end that comes while a response is judged is told when every observer has judged, and none judges after it")
    func endWhileJudging() {
        let log = Log<String>()
        let ending = Lock<@Sendable () -> Void>({})
        let first = ObserverTests.Recorder(
            "1 ",
            at: {
                log.add("1 \($0)"); if $0 == "verdict" { ending.withLock { $0 }() }
            })
        let second = ObserverTests.Recorder("2 ", at: { log.add("2 \($0)") })
        let request = HTTPRequest(url: URL(filePath: "/x"))
        let observation = Observation([first, second], of: Call(request), clock: Timekeeper(ManualClock()))
        ending.withLock { $0 = { observation.end(request, .failure(CancellationError())) } }
        let response = HTTPResponse(statusCode: 200, request: request)
        #expect(observation.verdict(on: response, to: request) == .valid)
        let expected = ["verdict", "failure other", "metrics", "end"].flatMap { ["1 \($0)", "2 \($0)"] }
        #expect(log.entries == expected)
        #expect(observation.verdict(on: response, to: request) == .valid)
        #expect(log.entries == expected)
        ending.withLock { $0 = {} }
    }
}
