import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Tests the order of the calls to one request's observers when its events and its end coincide.
@Suite struct ObservationOrderTests {
    @Test("observers are notified of an end after every verdict in progress, and give no verdict after it")
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
        let observation = Observation([first, second], isDownload: false, clock: PipelineClock(ManualClock()))
        observation.begin(request)
        ending.withLock { $0 = { observation.end(request, .failure(CancellationError()), attempts: 1) } }
        let response = HTTPResponse(statusCode: 200, request: request)
        #expect(observation.verdict(on: response, to: request) == .valid)
        let expected = ["start", "verdict", "failure other", "metrics", "end"].flatMap { ["1 \($0)", "2 \($0)"] }
        #expect(log.entries == expected)
        #expect(observation.verdict(on: response, to: request) == .valid)
        #expect(log.entries == expected)
        ending.withLock { $0 = {} }
    }
}
