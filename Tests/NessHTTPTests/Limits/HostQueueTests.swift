import Dispatch
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The host queue as a server and a caller see it.
@Suite(.inTurn) struct HostQueueTests {
    /// Answers the requests in the order in which they come, each when its gate opens.
    private struct Desk: Sendable {
        let gates: [TestGate]
        let tally = Tally()

        init(_ count: Int) { gates = (0..<count).map { _ in TestGate() } }

        @Sendable func answer(_ request: ReceivedRequest) async throws -> Reply {
            let number = tally.enter()
            defer { tally.leave() }
            if gates.indices.contains(number) { await gates[number].wait() }
            return .text(request.target)
        }
    }

    @Test(
        "a server never has more concurrent requests than the limit; the default is six",
        arguments: [1, 2, 5, nil] as [Int?],
        [true, false])
    func limit(_ limit: Int?, _ hasBody: Bool) async throws {
        let count = 15, most = limit ?? 6
        let desk = Desk(count)
        try await serving(desk.answer) { server in
            let ness = Ness { if let limit { $0.maximumConnectionsPerHost = limit } }
            let promises = (0..<count).map { number in
                hasBody
                    ? ness.httpRequest(.post, withUrl: server.at("/\(number)")).set(stringBody: "x").dataRequest()
                    : ness.httpRequest(withUrl: server.at("/\(number)")).dataRequest()
            }
            for number in 0..<count {
                // As many as may run are there before the next is let go.
                await desk.tally.wait(for: min(count, most + number))
                desk.gates[number].open()
            }
            for (number, promise) in promises.enumerated() {
                let text = try await promise.value.message.text
                #expect(text == "/\(number)")
            }
            #expect(desk.tally.most == most)
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

    @Test("each manager has its own limit")
    func managers() async throws {
        let desk = Desk(2)
        try await serving(desk.answer) { server in
            let promises = (0..<2).map { number in
                Ness { $0.maximumConnectionsPerHost = 1 }.httpRequest(withUrl: server.at("/\(number)")).dataRequest()
            }
            await server.waitUntil { $0.requestCount == 2 }
            for gate in desk.gates { gate.open() }
            for promise in promises { _ = try await promise.value }
        }
    }

    @Test("a drop, an error, a redirect and a response each free the slot")
    func freed() async throws {
        let reached = TestGate()
        try await serving({ request in
            switch request.path {
            case "/hold":
                reached.open()
                await TestGate().wait()
                return .text("never")
            case "/reset": return .script([.reset])
            case "/redirect": return .status(302, headers: ["Location": "/to"])
            case "/truncated": return .script([.send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 9\r\n\r\nx"), .close])
            default: return .text("fine")
            }
        }) { server in
            let ness = Ness { $0.maximumConnectionsPerHost = 1 }
            let hold = ness.httpRequest(withUrl: server.at("/hold")).dataRequest()
            await reached.wait()
            hold.drop()
            let promises = ["/reset", "/redirect", "/truncated", "/fine"].map { ness.httpRequest(withUrl: server.at($0)).dataRequest() }
            let outcomes = await Promise.allSettled(promises)
            #expect(outcomes.map { (try? $0.get().message.text) ?? "failed" } == ["failed", "fine", "failed", "fine"])
        }
    }

    @Test("a redirect within the host keeps its slot")
    func redirectInFullQueue() async throws {
        try await serving({ request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number == 0 ? .text("arrived") : .status(302, headers: ["Location": "/\(number - 1)"])
        }) { server in
            let ness = Ness {
                $0.maximumConnectionsPerHost = 1
                $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
            }
            let promises = (0..<10).map { _ in ness.httpRequest(withUrl: server.at("/3")).dataRequest() }
            let outcomes = await Promise.allSettled(promises)
            #expect(outcomes.map { (try? $0.get().message.text) ?? "failed" } == Array(repeating: "arrived", count: 10))
            #expect(server.requestCount == 40)
        }
    }

    // MARK: time

    @Test("the time in the queue does not count toward the idle timeout")
    func idleTimeout() async throws {
        let desk = Desk(2), clock = ManualClock(), passed = TestGate()
        try await serving(desk.answer) { server in
            let ness = Ness {
                $0.maximumConnectionsPerHost = 1
                $0.clock = clock
                $0.loaders = [Passing(path: "/waiting", gate: passed)]
            }
            let held = ness.httpRequest(withUrl: server.at("/held")).set(timeout: .seconds(1_000_000)).dataRequest()
            await server.waitUntil { $0.requestCount == 1 }
            await clock.waitForSleepers(1)
            let waiting = ness.httpRequest(withUrl: server.at("/waiting")).set(timeout: .seconds(10)).dataRequest()
            await passed.wait()
            clock.advance(by: .seconds(11_000))
            #expect(!waiting.isCompleted && !held.isCompleted)
            #expect(clock.sleeperCount == 1)
            desk.gates[0].open()
            _ = try await held.value
            await server.waitUntil { $0.requestCount == 2 }
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(9))
            #expect(!waiting.isCompleted)
            clock.advance(by: .seconds(2))
            #expect(await waiting.nessError()?.kind == .timedOut)
        }
    }

    @Test("the time in the queue counts toward the deadline, and a request that runs out of it is never sent")
    func deadline() async throws {
        let desk = Desk(1), clock = ManualClock()
        try await serving(desk.answer) { server in
            let ness = Ness {
                $0.maximumConnectionsPerHost = 1
                $0.clock = clock
            }
            let held = ness.httpRequest(withUrl: server.at("/held")).set(timeout: .seconds(1_000_000)).dataRequest()
            await server.waitUntil { $0.requestCount == 1 }
            await clock.waitForSleepers(1)
            let waiting = ness.httpRequest(withUrl: server.at("/waiting")).set(deadline: .seconds(10)).dataRequest()
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(11))
            let error = await waiting.nessError()
            #expect(error?.kind == .timedOut)
            #expect(error?.context.attempts == 0)
            desk.gates[0].open()
            _ = try await held.value
            _ = try await ness.httpRequest(withUrl: server.at("/after")).dataRequest().value
            #expect(server.requests.map(\.target) == ["/held", "/after"])
        }
    }

    private struct Passing: HTTPLoader {
        let path: String
        let gate: TestGate
        func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
            if request.url.path == path { gate.open() }
            return try await next(request)
        }
    }

}
