import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Requests that wait for a network. On Linux a transport of the test waits.
@Suite(.inTurn(.withoutSockets)) struct NetworkWaitTests {
    /// Waits for a network before it sends a request to `/waits`, and never gets a response to that.
    private struct WaitingTransport: ControlledTransport {
        let network = TestGate(), sent = TestGate(), response = TestGate()

        var isStoppable: Bool { false }

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {}

        func send(
            _ request: HTTPRequest, under control: (any ExchangeControl)?,
            receive: @escaping @Sendable (TransportEvent) async throws -> Void
        ) async throws {
            if request.url.path == "/waits" {
                control?.waitsForNetwork()
                await network.wait()
                control?.bytesDidMove()
                sent.open()
                await response.wait()
            }
            try await receive(.head(statusCode: 204, headers: [:]))
        }
    }

    private struct Recorder: RequestObserver {
        let log = Log<String>()

        func requestIsWaitingForNetwork(_ request: HTTPRequest) { log.add(request.url.path) }
    }

    @Test("during a wait for a network the idle timeout stands still, others use the host, and observers know; then the timeout runs")
    func wait() async throws {
        let transport = WaitingTransport(), clock = ManualClock(), recorder = Recorder()
        let ness = Ness {
            $0.transport = transport
            $0.clock = clock
            $0.observers = [recorder]
            $0.maximumConnectionsPerHost = 1
        }
        let waiting = ness.httpRequest(withUrl: "https://a.test/waits").set(timeout: .seconds(10)).dataRequest()
        await recorder.log.wait(for: 1)
        #expect(try await ness.httpRequest(withUrl: "https://a.test/other").dataRequest().value.message.statusCode == 204)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        await clock.waitForSleepers(1)
        #expect(!waiting.isCompleted)
        transport.network.open()
        await transport.sent.wait()
        clock.advance(by: .seconds(11))
        #expect(await waiting.nessError()?.kind == .timedOut)
        #expect(recorder.log.entries == ["/waits"])
        transport.response.open()
    }
}
