import Foundation
import NessLock
import TestSupport
import Testing

@testable import NessHTTP
@testable import NessTesting

/// Receivers that are slower than the server, over real sockets.
@Suite(.inTurn) struct BackPressureTests {
    private static let piece = patternedData(1 << 20)
    private static let pieceCount = 64
    private static let whole: Data = {
        var whole = Data(capacity: pieceCount * piece.count)
        for _ in 0..<pieceCount { whole += piece }
        return whole
    }()

    /// Sends a body that no buffer of the system holds, then opens a gate.
    private static func longBody(_ sent: TestGate) -> [ConnectionStep] {
        [
            .receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: \(pieceCount << 20)\r\n\r\n"),
            .repeated(pieceCount, [.sendData(piece)]), .signal(sent), .stall,
        ]
    }

    /// Counts the bytes of bodies before the pipeline gets them.
    private final class Counting: Transport {
        private let wrapped: any Transport
        let count = Lock(0)

        init(wrapped: any Transport) { self.wrapped = wrapped }

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            try await wrapped.send(request) { [self] event in
                if case .body(let data) = event { count.withLock { $0 += data.count } }
                try await receive(event)
            }
        }
    }

    /// Waits until a stream holds as many bytes as it may, and its exchange waits for the reader.
    private func untilFull(_ stream: StreamResult) async {
        await untilTrue { stream.reading.buffer.isWriterWaiting }
    }

    #if os(Linux)
    @Test("over libcurl a slow reader holds the server back, and what it has not read stays with the server")
    func heldBack() async throws {
        let transport = Counting(wrapped: try CurlTransport()), sent = TestGate()
        try await serving(script: { _ in Self.longBody(sent) }) { server in
            let stream = try await Ness { $0.transport = transport }.httpRequest(withUrl: server.url).streamRequest().value
            await untilFull(stream)
            #expect(!sent.isOpen)
            // A mebibyte, and the piece that waits for room.
            let limit = 1 << 20 + EventBatch.pieceLimit
            #expect(transport.count.withLock { $0 } <= limit)
            var body = Data()
            for try await chunk in stream.chunks {
                body += chunk
                #expect(transport.count.withLock { $0 } - body.count <= limit)
            }
            #expect(body == Self.whole)
        }
    }

    /// Lets a server send a compressed body, and takes the events of the exchange only when its mailbox is full or has ended.
    /// - Returns: The numbers of bytes of the batches, and the end.
    private func takeSlowly(_ reply: Data) async throws -> (counts: [Int], end: Result<Void, any Error>) {
        try await serving(script: { _ in [.receiveRequest, .sendData(reply), .stall] }) { server in
            let engine = try #require(CurlEngine(try CurlSettings(CurlTransport.Options())))
            let exchange = try CurlExchange(HTTPRequest(url: server.url)), mailbox = exchange.mailbox
            try engine.start(exchange)
            var counts: [Int] = []
            while true {
                await untilTrue { mailbox.isPaused || mailbox.hasEnded }
                let batch = await mailbox.next()
                counts.append(batch.events.reduce(0) { sum, event in if case .body(let data) = event { sum + data.count } else { sum } })
                if batch.resumesExchange { engine.post(.resume(exchange)) }
                guard let end = batch.end else { continue }
                engine.stop()
                await engine.waitUntilClosed()
                return (counts, end)
            }
        }
    }

    @Test(
        "while nobody reads the response, the request's body is sent and the response stays with the server",
        arguments: [false, true])
    func duplex(isCompressed: Bool) async throws {
        let coding = isCompressed ? "Content-Encoding: gzip\r\n" : ""
        let piece = isCompressed ? try GzipEncoder.encode(Self.piece) : Self.piece
        let script: [ConnectionStep] = [
            .receiveHead, .send("HTTP/1.1 200 OK\r\n\(coding)Content-Length: 1073741824\r\n\r\n"), .sendUntilClosed(piece),
        ]
        try await serving(script: { _ in script }) { server in
            let engine = try #require(CurlEngine(try CurlSettings(CurlTransport.Options())))
            let isFull = TestGate(), isSent = TestGate(), left = Lock(2_000)
            let pieces = AsyncStream<Data> {
                if left.withLock({ $0 }) < 2_000 { await isFull.wait() }
                guard
                    left.withLock({
                        $0 -= 1; return $0
                    }) > 0
                else {
                    isSent.open()
                    return nil
                }
                return Data("x".utf8)
            }
            let exchange = try CurlExchange(HTTPRequest(.post, url: server.url, body: .stream(pieces))), mailbox = exchange.mailbox
            try engine.start(exchange)
            await untilTrue { mailbox.isPaused }
            isFull.open()
            await isSent.wait()
            let count = await mailbox.next().events.reduce(0) { sum, event in
                if case .body(let data) = event { sum + data.count } else { sum }
            }
            #expect(count <= mailbox.capacity + EventBatch.pieceLimit)
            engine.stop()
            await engine.waitUntilClosed()
        }
    }

    @Test("a compressed body that expands a thousandfold is inflated no further than the mailbox has room for")
    func bomb() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(CompressedBodies.gzipBomb.count)\r\n\r\n"
        let (counts, end) = try await takeSlowly(Data(head.utf8) + CompressedBodies.gzipBomb)
        #expect(throws: Never.self) { try end.get() }
        #expect(counts.reduce(0, +) == 64 << 20 && counts.allSatisfy { $0 <= EventMailbox().capacity })
    }

    @Test("a compressed body that is damaged beyond what a slow reader has read is malformed when the reader reaches the damage")
    func damagedBomb() async throws {
        // libcurl delivers each chunk on its own, and the second one while it continues after the pause.
        var reply = Data("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for chunk in [try GzipEncoder.encode(Data(count: 4 << 20)), Data("no more of it".utf8)] {
            reply += Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8)
        }
        let end = try await takeSlowly(reply).end
        let error = #expect(throws: TransportError.self) { try end.get() }
        #expect(error?.kind == .malformedResponse)
    }
    #endif

    /// The ways in which a stream that waits for its reader can end.
    enum End: String, CaseIterable, Sendable { case drop, dropAll, reset, shutdown, deadline, leave, release, cancel }

    @Test(
        "a stream that waits for its reader ends immediately, regardless of the cause, and its connection closes", arguments: End.allCases)
    func ends(_ end: End) async throws {
        let clock = ManualClock()
        try await serving(script: { _ in [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)\r\n"), .sendUntilClosed(Self.piece)] }) {
            server in
            let ness = Ness { $0.clock = clock }
            var stream: StreamPromise? = ness.httpRequest(withUrl: server.url).set(deadline: .seconds(30)).streamRequest()
            var result = try await stream?.value
            await untilFull(try #require(result))
            switch end {
            case .drop: stream?.drop()
            case .dropAll: ness.dropAllRequests()
            case .reset: await ness.reset()
            case .shutdown: await ness.shutdown(within: .zero)
            case .deadline:
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(30))
            case .leave: for try await _ in try #require(result).chunks { break }
            case .release: (stream, result) = (nil, nil)
            case .cancel:
                let task = Task { [chunks = try #require(result).chunks] in
                    withUnsafeCurrentTask { $0?.cancel() }
                    for try await _ in chunks {}
                }
                let error = await #expect(throws: NessError.self) { try await task.value }
                #expect(error?.kind == .dropped)
            }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            guard let result, end != .leave, end != .cancel else { return }
            let error = await #expect(throws: NessError.self) { for try await _ in result.chunks {} }
            #expect(error?.kind == (end == .deadline ? .timedOut : .dropped))
        }
    }

    // MARK: the idle timeout

    /// Takes the body when a gate opens.
    private final class GatedSink: BodySink {
        let entered = TestGate(), gate = TestGate()
        private let count = Lock<Int64>(0)
        var isRestartable: Bool { true }
        var progress: (completed: Int64, total: Int64?)? { (count.withLock { $0 }, nil) }
        func begin(_ response: HTTPResponse, judgedBy validators: [any ResponseValidator]) -> Bool { true }
        func write(_ data: Data) async {
            entered.open()
            await gate.wait()
            count.withLock { $0 += Int64(data.count) }
        }
    }

    @Test("the idle timeout measures the server's silence: it does not run while the receiver holds the server back")
    func idle() async throws {
        let clock = ManualClock(), sink = GatedSink(), written = TestGate()
        let steps: [ConnectionStep] = [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\n\r\nhello"), .stall]
        try await serving(script: { _ in steps }) { server in
            let ness = Ness {
                $0.clock = clock
                ReceiveGates(gates: [5: written]).install(in: &$0)
            }
            let promise = ness.httpRequest(withUrl: server.url).set(timeout: .seconds(10)).dataRequest(into: sink)
            await sink.entered.wait()
            for _ in 0..<3 {
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(10))
            }
            await clock.waitForSleepers(1)
            #expect(!promise.isCompleted)
            sink.gate.open()
            await written.wait()
            // From now on the server is silent.
            clock.advance(by: .seconds(9))
            await clock.waitForSleepers(1)
            #expect(!promise.isCompleted)
            clock.advance(by: .seconds(1))
            #expect(await promise.nessError()?.kind == .timedOut)
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    // MARK: a transport without back pressure

    @Test(
        "a download over a transport that gave up continues with a range; without ranges it fails, and says why", arguments: [true, false])
    func fellBehind(knowsRanges: Bool) async throws {
        let content = patternedData(1_000), ranges = Log<String?>()
        let transport = FakeTransport { request, receive in
            ranges.add(request.headers["Range"])
            let start = request.headers["Range"] == nil ? 0 : 400
            var headers: HTTPHeaders = ["Content-Length": "\(1_000 - start)"]
            if knowsRanges { headers["ETag"] = "\"v1\"" }
            if start > 0 { headers["Content-Range"] = "bytes \(start)-999/1000" }
            try await receive(.head(statusCode: start > 0 ? 206 : 200, headers: headers))
            try await receive(.body(start > 0 ? content.dropFirst(start) : content.prefix(400)))
            if start == 0 { throw ReceiverFellBehind(limit: 1 << 30) }
        }
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a")
            let promise = Ness { $0.transport = transport }.httpRequest(withUrl: "https://mock.test/a").downloadRequest(
                forSavedLocation: file)
            if knowsRanges {
                _ = try await promise.value
                #expect(try Data(contentsOf: file) == content)
                #expect(ranges.entries == [nil, "bytes=400-999"])
            } else {
                let error = await promise.nessError()
                #expect(error?.kind == .fileSystem && error?.context.reason.contains("1024 MiB") == true)
                #expect(ranges.entries == [nil])
            }
        }
    }
}

extension RequestBuilder {
    /// Sends the request, and passes the body to a sink.
    fileprivate func dataRequest(into sink: any BodySink) -> DataPromise {
        DataPromise(makeCall(.data) { $0.sink = sink }, by: sender) { DataResult(message: $0) }
    }
}
