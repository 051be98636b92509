import Foundation
import NessHTTP
import NessTesting
import Testing

/// Every misbehaviour of the catalogue against the manager: what it reports has to be the truth, and it has to go on working.
@Suite(.serialized) struct HostileTests {
    static let survivable = Misbehaviour.all.filter { !$0.onlyOutOfProcess }

    @Test("a data request tells the truth", arguments: survivable)
    func dataRequest(_ misbehaviour: Misbehaviour) async throws {
        let server = try await TestServer.start(misbehaviour)
        let clock = ManualClock()
        let ness = Ness {
            $0.clock = clock
            $0.maximumResponseBytes = 8 << 20
        }
        let outcome = await Self.lastOutcome(of: misbehaviour, ness, server, clock)
        if let complaint = Self.complaint(misbehaviour.expectation, outcome) { Issue.record("\(misbehaviour): \(complaint)") }
        await server.stop()
        // The manager is none the worse for it.
        let good = try await TestServer.start { _ in .text("fine") }
        let after = try await ness.httpRequest(.get, withUrl: good.url).dataRequest().value
        #expect(after.message.text == "fine")
        await good.stop()
    }

    /// Sends as many requests as it takes, and lets time pass where the server would keep us waiting.
    static func lastOutcome(
        of misbehaviour: Misbehaviour, _ ness: Ness, _ server: TestServer, _ clock: ManualClock
    ) async -> Result<HTTPResponse, any Error> {
        var outcome: Result<HTTPResponse, any Error> = .failure(CancellationError())
        for _ in 0..<misbehaviour.requestCount {
            let promise = ness.httpRequest(.get, withUrl: server.url).dataRequest()
            if misbehaviour.expectation == .timesOut {
                let timer = Task {
                    while !promise.isCompleted {
                        await clock.waitForSleepers(1)
                        clock.advance(by: .seconds(61))
                        await Task.yield()
                    }
                }
                outcome = await result(of: promise)
                timer.cancel()
            } else {
                outcome = await result(of: promise)
            }
        }
        return outcome
    }

    static func result(of promise: DataPromise) async -> Result<HTTPResponse, any Error> {
        do {
            return .success(try await promise.value.message)
        } catch {
            return .failure(error)
        }
    }

    /// What is wrong with an outcome; nil if nothing is.
    static func complaint(_ expectation: Misbehaviour.Expectation, _ outcome: Result<HTTPResponse, any Error>) -> String? {
        func matches(_ status: Int, _ body: String) -> Bool {
            guard case .success(let response) = outcome else { return false }
            return response.statusCode == status && response.body == Data(body.utf8)
        }
        let error: NessError? = if case .failure(let error) = outcome { error as? NessError } else { nil }
        let isFine: Bool =
            switch (expectation, error) {
            case (.success(let status, let body), _): matches(status, body)
            case (.successOrFailure(let status, let body), _): error != nil || matches(status, body)
            case (.connectionLost, .connectionLost), (.truncated, .truncated), (.malformedResponse, .malformedResponse),
                (.tooLarge, .responseTooLarge), (.timesOut, .timedOut), (.anyFailure, .some):
                true
            default: false
            }
        if isFine { return nil }
        switch outcome {
        case .success(let response):
            return
                "expected \(expectation), got \(response.statusCode) with \(response.body.count) bytes \(response.text.prefix(60).debugDescription)"
        case .failure(let error): return "expected \(expectation), got \(error)"
        }
    }
}
