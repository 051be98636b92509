import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.inTurn) struct ObserverTests {
    final class Recorder: RequestObserver {
        private let lock = Lock<[String]>([])
        var events: [String] { lock.withLock { $0 } }
        private func add(_ event: String) { lock.withLock { $0.append(event) } }

        func requestDidStart(_ request: HTTPRequest) { add("start") }
        func requestWillSend(_ request: HTTPRequest) { add("send \(request.headers["X-Default"] ?? "")") }
        func requestWillRetry(_ request: HTTPRequest, after delay: Duration) { add("retry \(delay / .seconds(1))") }
        func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse) { add("success \(response.statusCode)") }
        func requestDidFail(_ request: HTTPRequest, with error: any Error) { add("failure \((error as? NessError)?.kind ?? "other")") }
        func requestDidEnd(_ request: HTTPRequest) { add("end") }
    }

    private func manager(_ recorder: Recorder, _ replies: [Reply]) -> Ness {
        let mock = MockTransport()
        mock.on(.get, "/x", replies: replies)
        return Ness {
            $0.transport = mock
            $0.clock = ManualClock(advancesAutomatically: true)
            $0.baseURL = URL(string: "https://mock.test")
            $0.defaultHeaders = ["X-Default": "d"]
            $0.observers = [recorder]
        }
    }

    @Test("a request with retries is one start and one end, with every attempt between")
    func retries() async throws {
        let recorder = Recorder()
        let ness = manager(recorder, [.failure(.timedOut), .status(503), .status(200)])
        _ = try await ness.httpRequest(withUrl: "x").dataRequest(
            with: CounterRetryControl(maxRetryCount: 2, timeIntervalBeforeTryToRetry: 3)
        ).value
        #expect(recorder.events == ["start", "send d", "retry 3.0", "send d", "retry 3.0", "send d", "success 200", "end"])
    }

    @Test("a failure and a refused response end with the error that the caller sees")
    func failures() async {
        let recorder = Recorder()
        let ness = manager(recorder, [.failure(.connectionLost), .status(404)])
        _ = await ness.httpRequest(withUrl: "x").dataRequest().nessError()
        _ = await ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest().nessError()
        #expect(
            recorder.events == ["start", "send d", "failure connectionLost", "end", "start", "send d", "failure validation", "end"])
    }
}
