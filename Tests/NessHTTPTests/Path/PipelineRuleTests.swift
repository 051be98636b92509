import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Tests rules of single steps from DESIGN.md: the breaker below the queue, and credentials that a redirect removes.
@Suite(.inTurn) struct PipelineRuleTests {
    @Test("when the breaker opens, no request that waited in the queue reaches the host")
    func queueBehindBreaker() async throws {
        let gate = TestGate()
        let rig = Rig(advances: false) {
            $0.maximumConnectionsPerHost = 2
            $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 1)
            $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        }
        rig.mock.on(.get, "/x") { _ in
            await gate.wait()
            return .status(500)
        }
        let promises = (0..<202).map { _ in rig.ness.httpRequest(withUrl: "x").dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 2 }
        gate.open()
        var ends: [String: Int] = [:]
        for promise in promises {
            do {
                ends["\(try await promise.value.message.statusCode)", default: 0] += 1
            } catch {
                ends[(error as? NessError)?.kind.rawValue ?? "\(error)", default: 0] += 1
            }
        }
        #expect(ends == ["500": 2, "circuitOpen": 200])
        #expect(rig.mock.requests.count == 2)
    }

    @Test("the head of a successful stream closes the breaker, while the body still arrives")
    func streamClosesCircuit() async throws {
        let clock = ManualClock(), fails = Lock(true), end = TestGate()
        let server = try await TestServer.start(script: { _ in
            fails.withLock { $0 }
                ? [.receiveRequest, .send("HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), .close]
                : [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 100\r\n\r\nhead"), .wait(end), .close]
        })
        let ness = Ness {
            $0.baseURL = server.url
            $0.clock = clock
            $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 2, openDuration: .seconds(30))
            $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        }
        for _ in 0..<2 { #expect(try await ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 500) }
        #expect(await ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .circuitOpen)
        fails.withLock { $0 = false }
        clock.advance(by: .seconds(30))
        // This request is the probe. Its body does not end.
        let stream = ness.httpRequest(withUrl: "x").streamRequest()
        let result = try await stream.value
        let other = ness.httpRequest(withUrl: "x").streamRequest()
        #expect(try await other.value.message.statusCode == 200)
        withExtendedLifetime(result) {}
        stream.drop()
        other.drop()
        ness.dropAllRequests()
        end.open()
        await server.stop()
    }

    @Test("a 401 after a redirect out of the base path causes no refresh, because the credential was removed")
    func redirectOutOfBase() async throws {
        let refreshes = Tally()
        let rig = Rig {
            $0.baseURL = URL(string: "https://mock.test/api/")
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { _, _ in
                refreshes.enter()
                return "new"
            }
        }
        rig.mock.on(.get, "/api/x") { _ in .status(302, headers: ["Location": "/elsewhere"]) }
        rig.mock.on(.get, "/elsewhere") { $0.headers["Authorization"] == nil ? .status(401) : .status(200) }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 401)
        #expect(refreshes.most == 0)
        #expect(rig.mock.requests.count == 2)
    }
}
