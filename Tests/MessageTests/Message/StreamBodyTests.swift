import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Request bodies from sequences, over real sockets.
///
/// URLSession on Linux reads a body on a thread that must not wait. There a sequence is read to its end before anything is sent, so some
/// tests about the interplay of sequence and connection are for other engines only.
@Suite(.inTurn) struct StreamBodyTests {
    @Test(
        "a sequence arrives in order, with its length if it is known",
        arguments: [[], [0], [1], [0, 5, 0], [100_000, 0, 3], [3_000_000, 1, 1 << 20]], [true, false])
    func order(sizes: [Int], isLengthKnown: Bool) async throws {
        try await withServer { server, ness in
            let pieces = sizes.map { patternedData($0) }, content = pieces.reduce(Data(), +)
            _ = try await ness.httpRequest(.post, withUrl: "a").set(
                streamBody: Pieces(pieces), length: isLengthKnown ? Int64(content.count) : nil, contentType: "text/csv"
            ).response()
            let request = try #require(server.requests.first)
            #expect(request.body == content && request.headers.values(for: "Content-Type") == ["text/csv"])
            #expect(request.headers["Expect"] == nil)
            if Engine.isURLSessionOnLinux { return }
            #expect(request.headers["Content-Length"] == (isLengthKnown ? "\(content.count)" : nil) && request.isChunked != isLengthKnown)
        }
    }

    // MARK: sequences that fail

    @Test(
        "a sequence of the wrong length is a typed error, and the server sees no whole request",
        arguments: [[100, 100], [250, 50, 1], [301], [200_000], []], [HTTPMethod.post, .put])
    func wrongLength(sizes: [Int], method: HTTPMethod) async throws {
        try await withServer { server, ness in
            let builder = ness.httpRequest(method, withUrl: "a").set(streamBody: { Pieces(sizes.map { Data(count: $0) }) }, length: 300)
            let error = await builder.dataRequest(with: Eager()).nessError()
            #expect(error?.kind == .invalidRequest && error?.isTransient == false)
            #expect(error?.context.reason.contains("300 bytes") == true)
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            #expect(server.requestCount == 0 && server.connectionCount <= 1)
        }
    }

    @Test(
        "an error of the sequence is the cause of the request's, and the server sees no whole request", arguments: [0, 1, 5], [true, false])
    func sequenceFails(at failing: Int, isLengthKnown: Bool) async throws {
        try await withServer { server, ness in
            let pieces = Pieces { number in
                if number == failing { throw Rejected(name: "disk") }
                return Data(count: 100_000)
            }
            let builder = ness.httpRequest(.post, withUrl: "a").set(streamBody: pieces, length: isLengthKnown ? 1_000_000 : nil)
            let error = await builder.dataRequest(with: Eager()).nessError()
            #expect(error?.kind == .invalidRequest && error?.underlying as? Rejected == Rejected(name: "disk"))
            if !Engine.isURLSessionOnLinux { #expect(error?.mayHaveReachedServer == true) }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            #expect(server.requestCount == 0 && server.connectionCount <= 1)
        }
    }

    // MARK: back pressure

    @Test("a server that reads nothing holds the sequence back", .enabled(if: !Engine.isURLSessionOnLinux), arguments: [true, false])
    func backPressure(isLengthKnown: Bool) async throws {
        let go = TestGate(), size = 64 << 10, limit = 64 << 20
        // Twice what all buffers between the sequence and the server hold.
        let pieces = Pieces { $0 < 2 * limit / size ? Data(count: size) : nil }
        let transport = DefaultTransport.make()
        try await serving(script: { _ in [.wait(go), .receiveRequest, .respond(.text("ok")), .close] }) { server in
            try await withServer { other, ness in
                // No byte moves while the other requests run. On a busy machine that may take longer than the idle timeout.
                let stalled = Ness {
                    $0.baseURL = server.url
                    $0.transport = transport
                    $0.clock = ManualClock()
                }
                let builder = stalled.httpRequest(.post, withUrl: "a").set(
                    streamBody: pieces, length: isLengthKnown ? Int64(2 * limit) : nil)
                let promise = builder.dataRequest()
                await pieces.asked.wait(for: 2)
                // The engine has had the time of many requests to go on.
                let neighbour = Ness {
                    $0.baseURL = other.url
                    $0.transport = transport
                }
                for _ in 0..<100 { _ = try await neighbour.httpRequest(withUrl: "b").dataRequest().value }
                #expect(pieces.asked.total * size < limit)
                go.open()
                _ = try await promise.value
                #expect(server.statistics.bytesReceived > 2 * limit && server.requestCount == 1)
            }
        }
    }

    @Test("pieces leave as they are made, before the sequence has ended", .enabled(if: !Engine.isURLSessionOnLinux))
    func live() async throws {
        let gates = (0..<3).map { _ in TestGate() }, end = TestGate()
        let pieces = Pieces { number in
            if number < 3 { return Data("<\(number)>".utf8) }
            await end.wait()
            return nil
        }
        // A chunk of three bytes: `3`, the bytes, and two line ends.
        let steps = gates.flatMap { [ConnectionStep.receive(bytes: 8), .signal($0)] }
        try await serving(script: { _ in [.receiveHead] + steps + [.receive(bytes: 5), .respond(.text("ok")), .close] }) { server in
            let promise = Ness().httpRequest(.post, withUrl: server.at("/")).set(streamBody: pieces).dataRequest()
            for gate in gates { await gate.wait() }
            end.open()
            let result = try await promise.value
            #expect(result.message.text == "ok")
        }
    }

    // MARK: ends in the middle

    @Test("a drop ends the request immediately, cancels the sequence and closes the connection, even if the sequence does not react")
    func dropWhileWaiting() async throws {
        let stuck = StuckPieces(after: 3)
        try await withServer { server, ness in
            let promise = ness.httpRequest(.post, withUrl: "a").set(streamBody: stuck.pieces).dataRequest()
            await stuck.waits.wait()
            promise.drop()
            #expect(await promise.nessError()?.kind == .dropped)
            await stuck.pieces.cancelled.wait()
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requestCount == 0)
            stuck.never.open()
            _ = try await ness.httpRequest(.post, withUrl: "b").set(streamBody: Pieces([Data("x".utf8)])).dataRequest().value
        }
    }

    @Test("the deadline and the idle timeout end a request whose sequence produces nothing", arguments: [true, false])
    func timeout(byDeadline: Bool) async throws {
        let stuck = StuckPieces(after: 0), clock = ManualClock()
        try await withServer(configure: { $0.clock = clock }) { server, ness in
            let builder = ness.httpRequest(.post, withUrl: "a").set(streamBody: stuck.pieces)
            let promise = builder.set(deadline: byDeadline ? .seconds(10) : nil).dataRequest()
            await stuck.waits.wait()
            await promise.call.request.body?.untilAwaited()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(byDeadline ? 10 : 60))
            let error = await promise.nessError()
            #expect(error?.kind == .timedOut)
            // A deadline says nothing of whose fault it was.
            #expect((error?.underlying is StalledBody) == !byDeadline && error?.isTransient == byDeadline)
            await stuck.pieces.cancelled.wait()
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requestCount == 0)
            stuck.never.open()
        }
    }

    @Test("a body that stalls is not the server's failure: no retry, and the breaker stays closed", arguments: [true, false])
    func stalledBody(isPart: Bool) async throws {
        let clock = ManualClock(), log = Log<Int>()
        try await withServer(configure: {
            $0.clock = clock
            $0.retryControl = CounterRetryControl(maxRetryCount: 3)
            $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.1, minimumRequests: 1)
        }) { server, ness in
            for number in 1...3 {
                let waits = TestGate(), never = DeafGate()
                var form = MultipartForm()
                form.append(deferred: { _ in
                    waits.open()
                    await never.wait()
                })
                let stream = HTTPBody.stream {
                    log.add(number)
                    return Pieces { count in
                        if count == 0 { return Data("start".utf8) }
                        waits.open()
                        await never.wait()
                        return nil
                    }
                }
                let body = isPart ? try form.makeBody() : stream
                let promise = ness.httpRequest(.put, withUrl: "a").set(body: body).dataRequest()
                await waits.wait()
                await body.untilAwaited()
                // The engine may note the bytes of the first piece late, and then starts the timeout again.
                let time = Task { while await clock.waitUntil({ $0.sleeperCount > 0 }) { clock.advance(by: .seconds(60)) } }
                let error = await promise.nessError()
                time.cancel()
                #expect(error?.context.reason == "the request's body produced no byte for 60.0 seconds")
                #expect(error?.underlying is StalledBody && error?.isTransient == false && error?.context.attempts == (isPart ? 0 : 1))
                never.open()
            }
            #expect(log.entries == (isPart ? [] : [1, 2, 3]))
            #expect(try await ness.httpRequest(withUrl: "b").dataRequest().value.message.statusCode == 200)
        }
    }

    @Test("a closure writes a body, again for each attempt; a slow server holds it back, and its error ends the request")
    func written() async throws {
        let content = patternedData(3_000_000), runs = Tally(), written = Tally()
        try await withServer({ request in request.path == "/a" && request.number == 1 ? .status(503) : .text("ok") }) { server, ness in
            let builder = ness.httpRequest(.put, withUrl: "a").set(
                streamBody: { writer in
                    runs.enter()
                    for piece in content.pieces(of: 100_000) {
                        try await writer.write(piece)
                        try await writer.write(Data())
                        written.enter()
                    }
                }, length: 3_000_000)
            _ = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
            #expect(server.requests.map(\.body) == [content, content] && runs.total == 2 && written.total == 60)
            let failing = ness.httpRequest(.post, withUrl: "b").set(streamBody: { writer in
                try await writer.write(Data("start".utf8))
                throw Rejected(name: "enough")
            })
            let error = await failing.dataRequest().nessError()
            #expect(error?.kind == .invalidRequest && error?.underlying is Rejected)
        }
    }

    @Test("two pieces that are written at the same time end the request, and nothing hangs")
    func writtenAtOnce() async throws {
        struct Shared: @unchecked Sendable { let writer: HTTPBodyWriter }
        try await withServer { _, ness in
            let builder = ness.httpRequest(.post, withUrl: "a").set(streamBody: { writer in
                let shared = Shared(writer: writer)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<10 { group.addTask { try await shared.writer.write(Data(count: 1_000_000)) } }
                    try await group.waitForAll()
                }
            })
            let error = await builder.dataRequest().nessError()
            #expect(error == nil || error?.kind == .invalidRequest)
        }
    }

    @Test(
        "a server that rejects a body before it has arrived determines the response, and the sequence is canceled",
        .enabled(if: !Engine.isURLSessionOnLinux), arguments: [0, 1, 100], [true, false])
    func earlyRefusal(pieceCount: Int, isLengthKnown: Bool) async throws {
        let stuck = StuckPieces(after: pieceCount, of: 1 << 20)
        let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"
        let steps = [ConnectionStep.receiveHead, pieceCount == 100 ? .receive(bytes: 20 << 20) : .wait(stuck.waits), .send(answer), .stall]
        try await serving(script: { _ in steps }) { server in
            let builder = Ness().httpRequest(.post, withUrl: server.at("/")).set(
                streamBody: stuck.pieces, length: isLengthKnown ? 1 << 30 : nil)
            let response = try await builder.dataRequest().value
            #expect(response.message.statusCode == 413 && response.message.text == "big")
            // A sequence of many pieces waits for the connection, not at its gate.
            if pieceCount < 100 { await stuck.pieces.cancelled.wait() } else { #expect(stuck.pieces.asked.total <= 100) }
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.connectionCount == 1)
            stuck.never.open()
        }
    }

    @Test(
        "regardless of what a server does before it has read the body, the request ends, and is sent once",
        arguments: [
            [ConnectionStep.close], [.reset], [.receiveHead, .close], [.receiveHead, .reset], [.receive(bytes: 100_000), .reset],
            [.receiveHead, .send("HTTP/1.1 413 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"), .close],
            [.receiveHead, .send("HTTP/1.1 413 No\r\n\r\nbig"), .close],
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .close],
            [.receiveHead, .send("HTTP/1.1 200 OK\r\n"), .reset],
        ], [HTTPMethod.post, .put])
    func early(steps: [ConnectionStep], method: HTTPMethod) async throws {
        try await serving(script: { _ in steps }) { server in
            let pieces = Pieces { $0 < 100 ? Data(count: 100_000) : nil }
            let promise = Ness().httpRequest(method, withUrl: server.at("/")).set(streamBody: pieces).dataRequest()
            let outcome = await promise.settled
            switch outcome {
            case .success(let result): #expect([200, 413].contains(result.message.statusCode))
            case .failure(let error):
                #expect(
                    [.connectionLost, .malformedResponse, .truncated, .cannotConnect].contains((error as? NessError)?.kind), "\(error)")
            }
            // The engine may open another connection if the first is dead before it has sent anything, which a server that reads nothing
            // allows.
            #expect(server.connectionCount <= (steps.count == 1 ? 2 : 1) && pieces.asked.total <= 101)
        }
    }

    @Test("a server that closes while the sequence produces nothing ends the request", .enabled(if: !Engine.isURLSessionOnLinux))
    func closedWhileWaiting() async throws {
        let stuck = StuckPieces(after: 1)
        try await serving(script: { _ in [.receiveHead, .wait(stuck.waits), .close] }) { server in
            let error = await Ness().httpRequest(.post, withUrl: server.at("/")).set(streamBody: stuck.pieces).dataRequest().nessError()
            #expect(error?.kind == .connectionLost)
            await stuck.pieces.cancelled.wait()
            #expect(server.connectionCount == 1)
            stuck.never.open()
        }
    }
}
