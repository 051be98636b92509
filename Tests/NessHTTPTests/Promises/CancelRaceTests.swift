import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Drops from many threads, against timers, in numbers.
@Suite(.inTurn) struct CancelRaceTests {
    private struct Reason: Error, Equatable, CustomStringConvertible {
        let number: Int
        var description: String { "reason" }
    }

    @Test("exactly one drop counts when eight threads drop one request", arguments: [true, false])
    func manyThreads(_ waitsForServer: Bool) async throws {
        try await serving(script: { _ in [.receiveRequest, .stall] }) { server in
            let ness = Ness()
            for round in 0..<50 {
                let requestCount = server.requestCount
                let promise = ness.httpRequest(.post, withUrl: server.url).set(stringBody: "x").dataRequest()
                let witness = Witness(promise)
                if waitsForServer { await server.waitUntil { $0.requestCount > requestCount } }
                await onThreads(8) { number in
                    if number.isMultiple(of: 2) { promise.drop() } else { promise.drop(becauseOf: Reason(number: number)) }
                    // Whoever lost finds it dropped, too.
                    if !promise.isCompleted { Issue.record("not dropped in round \(round)") }
                }
                let ends = await witness.outcome()
                #expect(ends == ["dropped"] || ends == ["reason"])
            }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("exactly one is the outcome when a drop meets the timeout", arguments: [true, false])
    func withTimeout(_ isDeadline: Bool) async throws {
        try await serving(script: { _ in [.receiveRequest, .stall] }) { server in
            for _ in 0..<50 {
                let clock = ManualClock()
                let requestCount = server.requestCount
                let builder = Ness { $0.clock = clock }.httpRequest(withUrl: server.url)
                let promise = (isDeadline ? builder.set(deadline: .seconds(10)) : builder.set(timeout: .seconds(10))).dataRequest()
                let witness = Witness(promise)
                await server.waitUntil { $0.requestCount > requestCount }
                await clock.waitForSleepers(isDeadline ? 2 : 1)
                await onThreads(2) { number in
                    if number == 0 { promise.drop() } else { clock.advance(by: .seconds(11)) }
                }
                let ends = await witness.outcome()
                #expect(ends == ["dropped"] || ends == ["timedOut"])
            }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("a timeout closes the connection like a drop, and a later drop does not change it")
    func dropAfterTimeout() async throws {
        try await serving(script: { _ in [.receiveRequest, .stall] }) { server in
            let clock = ManualClock()
            let promise = Ness { $0.clock = clock }.httpRequest(withUrl: server.url).set(timeout: .seconds(10)).dataRequest()
            let witness = Witness(promise)
            await server.waitUntil { $0.requestCount == 1 }
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(11))
            #expect(await witness.outcome() == ["timedOut"])
            promise.drop()
            #expect(await promise.nessError()?.kind == .timedOut)
            #expect(witness.ends == ["timedOut"])
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("exactly one is the outcome when a drop meets the response")
    func withResponse() async throws {
        for round in 0..<50 {
            let answer = TestGate()
            try await serving({ _ in
                await answer.wait()
                return .text("fine")
            }) { server in
                let promise = Ness().httpRequest(withUrl: server.url).dataRequest()
                let witness = Witness(promise)
                await server.waitUntil { $0.requestCount == 1 }
                await onThreads(2) { number in
                    if number == 0 { answer.open() } else { promise.drop() }
                }
                let ends = await witness.outcome()
                #expect(ends == ["dropped"] || ends == ["value"], "round \(round)")
            }
        }
    }

    @Test("300 requests of every kind that are dropped at any moment end once each, and every connection closes", arguments: 1...3)
    func random(_ seed: Int) async throws {
        try await serving({ request in
            switch request.path {
            case "/fast": return .text("fine")
            case "/hold":
                await TestGate().wait()
                return .text("never")
            case "/half": return .script([.send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\n\r\nhello"), .stall])
            case "/head": return .script([.send("HTTP/1.1 200 OK\r\nX-Un"), .stall])
            case "/redirect": return .status(307, headers: ["Location": "/half"])
            default: return .data(Data(repeating: 1, count: 300_000))
            }
        }) { server in
            var random = SeededGenerator(seed: UInt64(seed))
            var ness: Ness? = Ness { $0.maximumConnectionsPerHost = 8 }
            var running: [(promise: DataPromise, witness: Witness)] = []
            var witnesses: [Witness] = []
            for _ in 0..<300 {
                let path = ["/fast", "/hold", "/half", "/head", "/redirect", "/large"].randomElement(using: &random) ?? "/fast"
                let method = [HTTPMethod.get, .post, .put, .delete].randomElement(using: &random) ?? .get
                guard var builder = ness?.httpRequest(method, withUrl: server.at(path)) else { return }
                if method == .post || method == .put {
                    builder = builder.set(body: Data(count: Int.random(in: 0..<200_000, using: &random)))
                }
                let promise = builder.dataRequest()
                let witness = Witness(promise)
                running.append((promise, witness))
                witnesses.append(witness)
                for _ in 0..<Int.random(in: 0..<30, using: &random) { await Task.yield() }
                while running.count > 12 { running.remove(at: Int.random(in: 0..<running.count, using: &random)).promise.drop() }
            }
            for (promise, _) in running.shuffled(using: &random) { promise.drop() }
            for witness in witnesses {
                let ends = await witness.outcome()
                #expect(ends == ["value"] || ends == ["dropped"])
            }
            let text = try await ness?.httpRequest(withUrl: server.at("/fast")).dataRequest().value.message.text
            #expect(text == "fine")
            // Without its manager no connection is kept.
            ness = nil
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            for witness in witnesses { #expect(witness.ends.count == 1) }
        }
    }

    @Test("a request continues without its manager, and can still be dropped")
    func withoutManager() async throws {
        let answer = TestGate()
        try await serving({ request in
            await answer.wait()
            return .text("fine")
        }) { server in
            let kept = Ness().httpRequest(withUrl: server.url).dataRequest()
            let dropped = Ness().httpRequest(withUrl: server.url).dataRequest()
            await server.waitUntil { $0.requestCount == 2 }
            dropped.drop()
            #expect(await server.waitUntil { $0.openConnections == 1 })
            answer.open()
            let text = try await kept.value.message.text
            #expect(text == "fine")
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }
}
