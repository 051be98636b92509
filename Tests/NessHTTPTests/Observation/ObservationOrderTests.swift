import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Tests the order of the calls to one request's observers when its events and its end coincide.
@Suite struct ObservationOrderTests {
    @Test("observers are notified of an end after every event in progress, and of no event after it")
    func endDuringAnEvent() {
        let log = Log<String>()
        let ending = Lock<@Sendable () -> Void>({})
        let first = ObserverTests.Recorder(
            "1 ",
            at: {
                log.add("1 \($0)"); if $0 == "send " { ending.withLock { $0 }() }
            })
        let second = ObserverTests.Recorder("2 ", at: { log.add("2 \($0)") })
        let request = HTTPRequest(url: URL(filePath: "/x"))
        let observation = Observation([first, second], isDownload: false, clock: PipelineClock(ManualClock()))
        observation.begin(request)
        ending.withLock { $0 = { observation.end(request, .failure(CancellationError()), attempts: 1) } }
        observation.willSend(request)
        let expected = ["start", "send ", "failure other", "metrics", "end"].flatMap { ["1 \($0)", "2 \($0)"] }
        #expect(log.entries == expected)
        observation.willSend(request)
        #expect(log.entries == expected)
        ending.withLock { $0 = {} }
    }
}
