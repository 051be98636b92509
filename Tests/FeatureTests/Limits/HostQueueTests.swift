import Dispatch
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The host queue as a server and a caller see it.
@Suite(.inTurn) struct HostQueueTests {
    @Test(
        "a server never has more concurrent requests than the limit; the default is six",
        arguments: [1, 2, 5, nil] as [Int?],
        [true, false])
    func limit(_ limit: Int?, _ hasBody: Bool) async throws {
        let count = 15, most = limit ?? 6
        let tally = Tally(), gates = (0..<count).map { _ in TestGate() }
        try await serving { request in
            let number = tally.enter()
            defer { tally.leave() }
            await gates[number].wait()
            return .text(request.target)
        } _: { server in
            let ness = Ness { if let limit { $0.maximumConnectionsPerHost = limit } }
            let promises = (0..<count).map { number in
                let url = server.at("/\(number)")
                return (hasBody ? ness.post(url).set(stringBody: "x") : ness.get(url)).dataRequest()
            }
            for number in 0..<count {
                // As many as may run are there before the next is let go.
                await tally.wait(for: min(count, most + number))
                gates[number].open()
            }
            let texts = try await Promise.all(promises).value.map(\.message.text)
            #expect(texts == (0..<count).map { "/\($0)" })
            #expect(tally.most == most)
            #expect(server.requestCount == count)
        }
    }

    @Test("a dropped request keeps its slot until its connection is closed", .enabled(if: Engine.isURLSessionOnLinux))
    func placeUntilClosed() async throws {
        let log = Log<String>()
        let hasArrived = TestGate()
        try await serving({ request in
            if request.path == "/first" { return .script([.signal(hasArrived), .stall]) }
            log.add(request.path)
            return .text("")
        }) { server in
            let ness = Ness { $0.maximumConnectionsPerHost = 1 }
            let first = ness.httpRequest(withUrl: server.at("/first")).dataRequest()
            await hasArrived.wait()
            // Nobody cancels tasks for now.
            let goesOn = DispatchSemaphore(value: 0)
            URLSessionExchange.cancelQueue.async { goesOn.wait() }
            first.drop()
            let error = await first.nessError()
            #expect(error?.kind == .dropped)
            let second = ness.httpRequest(withUrl: server.at("/second")).dataRequest()
            // Whatever could start has time to: others, of another origin, do.
            let other = ness.httpRequest(withUrl: server.at("/other", host: "localhost"))
            for _ in 0..<5 { _ = try await other.dataRequest().value }
            log.add("closed")
            goesOn.signal()
            _ = try await second.value
            #expect(log.entries.filter { $0 != "/other" } == ["closed", "/second"])
        }
    }

    @Test("a redirect within the host keeps its slot")
    func redirectInFullQueue() async throws {
        let rig = Rig {
            $0.maximumConnectionsPerHost = 1
            $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        }
        for number in 1...3 { rig.mock.on(.get, "/\(number)") { _ in .status(302, headers: ["Location": "/\(number - 1)"]) } }
        rig.mock.on(.get, "/0") { _ in .text("arrived") }
        let promises = (0..<10).map { _ in rig.ness.get("3").dataRequest() }
        #expect(try await Promise.all(promises).value.map(\.message.text) == Array(repeating: "arrived", count: 10))
        #expect(rig.mock.requests.count == 40)
    }

    @Test("a drop, an error, a redirect and a response each free the slot")
    func freed() async throws {
        let rig = Rig { $0.maximumConnectionsPerHost = 1 }
        rig.mock.on(.get, "/hold", after: TestGate()) { _ in .status(500) }
        rig.mock.on(.get, "/lost", replies: [.failure(.connectionLost)])
        rig.mock.on(.get, "/redirect", replies: [.status(302, headers: ["Location": "/fine"])])
        rig.mock.on(.get, "/truncated", replies: [.text("x", headers: ["Content-Length": "9"])])
        rig.mock.on(.get, "/fine", replies: [.text("fine")])
        let hold = rig.ness.get("hold").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let promises = ["lost", "redirect", "truncated", "fine"].map { rig.ness.get($0).dataRequest() }
        hold.drop()
        let outcomes = await Promise.allSettled(promises)
        #expect(outcomes.map { (try? $0.get().message.text) ?? "failed" } == ["failed", "fine", "failed", "fine"])
    }

    // MARK: time

    /// A manager that admits nothing until its limit is raised, and whose server does not respond.
    private func closed() -> Rig {
        let rig = Rig(advances: false)
        rig.ness.maximumConnectionsPerHost = 0
        rig.mock.on(.get, "/waiting", after: TestGate()) { _ in .status(500) }
        return rig
    }

    @Test("the time in the queue does not count toward the idle timeout")
    func idleTimeout() async throws {
        let rig = closed(), waiting = rig.ness.get("waiting").set(timeout: .seconds(10)).dataRequest()
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        rig.clock.advance(by: .seconds(11_000))
        #expect(!waiting.isCompleted && rig.clock.sleeperCount == 0)
        rig.ness.maximumConnectionsPerHost = 1
        await rig.mock.waitUntil { $0.requests.count == 1 }
        await rig.clock.waitForSleepers(1)
        rig.clock.advance(by: .seconds(9))
        #expect(!waiting.isCompleted)
        rig.clock.advance(by: .seconds(2))
        #expect(await waiting.nessError()?.kind == .timedOut)
    }

    @Test("the time in the queue counts toward the deadline, and a request that runs out of it is never sent")
    func deadline() async throws {
        let rig = closed(), waiting = rig.ness.get("waiting").set(deadline: .seconds(10)).dataRequest()
        try await rig.ness.waitForRequests(1, at: .hostQueue)
        rig.clock.advance(by: .seconds(11))
        let error = await waiting.nessError()
        #expect(error?.kind == .timedOut && error?.context.attempts == 0)
        rig.ness.maximumConnectionsPerHost = 1
        rig.mock.on(.get, "/after", replies: [.status(200)])
        _ = try await rig.ness.get("after").response()
        #expect(rig.mock.requests.map(\.url.path) == ["/after"])
    }
}
