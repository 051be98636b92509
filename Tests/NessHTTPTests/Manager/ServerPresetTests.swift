import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The settings for servers, and the limit for all hosts together.
@Suite(.inTurn) struct ServerPresetTests {
    @Test("the preset for servers differs from the default in connections, sharing and retries, and can be changed")
    func settings() throws {
        let server = Ness(.server) { $0.maximumConnectionsPerHost = 10 }
        #expect(server.maximumConnectionsPerHost == 10)
        #expect(Ness(.server).maximumConnectionsPerHost == 256)
        #expect(server.configuration.retryControl is BackoffRetryControl)
        #expect(server.configuration.retryBudget == RetryBudget(ratio: 0.1, minimum: 10))
        #expect(server.configuration.cache == nil && server.configuration.cookies == nil)
        #expect(server.configuration.duplicatedHandler as? DefaultDuplicatedHandler == .requestAllSeparately)
    }

    private enum Trace {
        @TaskLocal static var current: String?
    }

    @Test("loaders see the task-local values of the code that starts the request, promised or awaited, in every attempt")
    func traces() async throws {
        let mock = MockTransport()
        mock.on(.get, "/x", replies: [.status(503), .status(200), .status(503), .status(200)])
        let ness = Ness(.server) {
            $0.transport = mock
            $0.baseURL = URL(string: "https://mock.test")
            $0.clock = ManualClock(advancesAutomatically: true)
            $0.loaders = [.modifyRequest { $0.headers["traceparent"] = Trace.current }]
        }
        try await Trace.$current.withValue("one") { _ = try await ness.get("x").response() }
        let promise = Trace.$current.withValue("two") { ness.get("x").dataRequest() }
        _ = try await promise.value
        #expect(mock.requests.map { $0.headers["traceparent"] } == ["one", "one", "two", "two"])
    }

    @Test("no more than maximumConcurrentRequests run concurrently, regardless of their hosts; the others wait in order")
    func limit() async throws {
        let tally = Tally(), go = TestGate()
        let rig = Rig(advances: false) { $0.maximumConcurrentRequests = 3 }
        rig.mock.on(.get, "/:x") { _ in
            tally.enter()
            defer { tally.leave() }
            await go.wait()
            return .status(200)
        }
        let promises = (0..<12).map { rig.ness.httpRequest(withUrl: "https://host\($0 % 4).test/\($0)").dataRequest() }
        await tally.wait(for: 3)
        go.open()
        for promise in promises { #expect(try await promise.value.message.statusCode == 200) }
        #expect(tally.most == 3 && tally.total == 12)
    }
}
