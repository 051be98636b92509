import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Interim (1xx) responses, on their way from a transport to the observers.
@Suite(.inTurn) struct InterimTests {
    /// Records the events of the wire, and runs a closure at each interim response.
    final class Recorder: RequestObserver {
        let log = Log<String>()
        private let reaction: @Sendable (HTTPResponse) -> Void

        init(_ reaction: @escaping @Sendable (HTTPResponse) -> Void = { _ in }) { self.reaction = reaction }

        func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) { log.add("begin") }
        func requestDidReceiveInterim(_ response: HTTPResponse, to request: HTTPRequest) {
            let link = response.headers["Link"].map { " \($0)" } ?? ""
            log.add("\(response.statusCode)\(link) \(request.url.path) \(response.body.count)")
            reaction(response)
        }
        func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest) { log.add("head") }
        func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse) { log.add("success \(response.statusCode)") }
    }

    private static let hint = TransportEvent.interim(statusCode: 103, headers: ["Link": "</a>; rel=preload"])

    @Test("observers get each interim response before the head, and the response is the final one")
    func order() async throws {
        let recorder = Recorder()
        let ness = Ness {
            $0.observers = [recorder]
            $0.transport = FakeTransport { _, receive in
                try await receive(.interim(statusCode: 102, headers: [:]))
                try await receive(Self.hint)
                try await receive(.head(statusCode: 204, headers: [:]))
            }
        }
        let response = try await ness.httpRequest(withUrl: "https://a.test/x").dataRequest().value.message
        #expect(response.statusCode == 204 && response.headers["Link"] == nil)
        #expect(recorder.log.entries == ["begin", "102 /x 0", "103 </a>; rel=preload /x 0", "head", "success 204"])
    }

    @Test("each caller of a shared exchange, a download and a request under a circuit breaker receive interim responses")
    func everywhere() async throws {
        let recorder = Recorder(), handler = LimitedJoining(1), began = TestGate(), isShared = TestGate()
        let ness = Ness {
            $0.observers = [recorder]
            $0.duplicatedHandler = handler
            $0.circuitBreaker = CircuitBreakerLimit()
            // Before the exchange's first event: a caller who joins later gets no interim response.
            $0.insert(
                .loader { request, next in
                    began.open()
                    if request.url.path == "/shared" { await isShared.wait() }
                    return try await next(request)
                }, at: .exchange)
            $0.transport = FakeTransport { _, receive in
                try await receive(Self.hint)
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "1"]))
                try await receive(.body(Data("x".utf8)))
            }
        }
        let shared = ness.httpRequest(withUrl: "https://a.test/shared")
        let first = shared.dataRequest()
        await began.wait()
        let second = shared.dataRequest()
        await handler.waitUntilJoined(by: shared)
        isShared.open()
        for promise in [first, second] { _ = try await promise.value }
        #expect(recorder.log.entries.filter { $0.hasPrefix("103") }.count == 2)
        try await withFolder { folder in
            let file = folder.appending(path: "file")
            _ = try await ness.httpRequest(withUrl: "https://a.test/file").downloadRequest(forSavedLocation: file).value
        }
        #expect(recorder.log.entries.filter { $0.hasPrefix("103") }.count == 3)
    }

    @Test("an interim response restarts the idle timeout, and a silence after it passes the timeout")
    func idle() async throws {
        let clock = ManualClock(), begins = TestGate(), hints = TestGate(), hinted = TestGate()
        let ness = Ness {
            $0.clock = clock
            $0.transport = FakeTransport { _, receive in
                begins.open()
                await hints.wait()
                try await receive(.interim(statusCode: 102, headers: [:]))
                hinted.open()
                await TestGate().wait()
            }
        }
        let promise = ness.httpRequest(withUrl: "https://a.test/").set(timeout: .seconds(20)).dataRequest()
        await begins.wait()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(15))
        hints.open()
        await hinted.wait()
        clock.advance(by: .seconds(15))
        // The timer that was set for the 20th second has fired, and another follows.
        await clock.waitForSleepers(1)
        #expect(!promise.isCompleted)
        clock.advance(by: .seconds(10))
        #expect(await promise.nessError()?.kind == .timedOut)
    }
}
