import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Responses that are handed on as they come, over real sockets.
@Suite(.inTurn) struct StreamTests {
    private func strings(_ chunks: ResponseSequence<Data>) async throws -> String {
        var whole = Data()
        for try await chunk in chunks { whole += chunk }
        return String(decoding: whole, as: UTF8.self)
    }

    @Test("the head arrives first, then the bytes as they are received")
    func head() async throws {
        let gates = [TestGate(), TestGate()]
        try await withServer({ _ in
            .script([
                .send(chunkedHead), .wait(gates[0]), .chunk("one"), .wait(gates[1]), .chunk("two"), .send("0\r\n\r\n"),
            ])
        }) { _, ness in
            let result = try await ness.httpRequest(withUrl: "x").streamRequest().value
            #expect(result.message.statusCode == 200 && result.message.body.isEmpty)
            let iterator = result.chunks.makeAsyncIterator()
            gates[0].open()
            #expect(try await iterator.next() == Data("one".utf8))
            gates[1].open()
            #expect(try await iterator.next() == Data("two".utf8))
            #expect(try await iterator.next() == nil)
            #expect(try await iterator.next() == nil)
        }
    }

    @Test("a drop before the head and a cancel while reading end the stream and close the connection", arguments: [true, false])
    func end(beforeHead: Bool) async throws {
        let received = TestGate(), reads = TestGate()
        let steps: [ConnectionStep] = beforeHead ? [.signal(received), .stall] : [.send(chunkedHead), .signal(received), .stall]
        try await withServer({ _ in .script(steps) }) { server, ness in
            let promise = ness.httpRequest(withUrl: "x").streamRequest()
            await received.wait()
            if beforeHead {
                promise.drop()
                #expect(await promise.nessError()?.kind == .dropped)
            } else {
                let task = Task {
                    let result = try await promise.value
                    reads.open()
                    for try await _ in result.chunks {}
                }
                await reads.wait()
                task.cancel()
                let error = await #expect(throws: NessError.self) { try await task.value }
                #expect(error?.kind == .dropped)
            }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("bytes before a failure are read, and the stream is not retried") func failure() async throws {
        let control = AskedControl(Eager())
        try await withServer({ _ in .script([.send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\n\r\nhello"), .reset]) }) {
            server, ness in
            let result = try await ness.httpRequest(withUrl: "x").set(retry: control).streamRequest().value
            let iterator = result.chunks.makeAsyncIterator()
            #expect(try await iterator.next() == Data("hello".utf8))
            let error = await #expect(throws: NessError.self) { _ = try await iterator.next() }
            #expect(error?.kind == .connectionLost || error?.kind == .truncated)
            // What was handed on can't be taken back: there is no other attempt.
            #expect(server.requestCount == 1 && control.asked.entries.isEmpty)
        }
    }

    @Test("a stream is retried before its body, and other statuses are results") func statuses() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/flaky", replies: [.status(503), .failure(.connectionLost), .text("fine")])
        rig.mock.on(.get, "/missing", replies: [.text("not here", status: 404)])
        let flaky = try await rig.ness.httpRequest(withUrl: "flaky").set(retry: CounterRetryControl(maxRetryCount: 3)).streamRequest().value
        #expect(try await strings(flaky.chunks) == "fine")
        let missing = try await rig.ness.httpRequest(withUrl: "missing").streamRequest().value
        #expect(missing.message.statusCode == 404)
        #expect(try await strings(missing.chunks) == "not here")
        let refused = rig.ness.httpRequest(withUrl: "missing").validate(statusCode: 200).streamRequest()
        #expect(await refused.nessError()?.kind == .validation)
        let strict = rig.ness.httpRequest(withUrl: "flaky").validate(shouldHaveHeaders: ["X": "1"]).streamRequest()
        #expect(await strict.nessError()?.kind == .validation)
    }

    @Test("redirects and a refresh come before the body of a stream") func redirects() async throws {
        let rig = Rig { $0.authentication = refreshing() }
        rig.mock.on(.get, "/a", replies: [.status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b") { $0.headers["Authorization"] == "new" ? .text("in") : .status(401) }
        let result = try await rig.ness.httpRequest(withUrl: "a").streamRequest().value
        #expect(result.message.url.path == "/b")
        #expect(try await strings(result.chunks) == "in")
    }

    @Test("the body after a redirect, or of a hook's request, is passed on as it arrives", arguments: [302, 404])
    func behindAnotherResponse(status: Int) async throws {
        let gate = TestGate()
        try await withServer({ request in
            guard request.path == "/b" else { return .status(status, headers: ["Location": "/b"]) }
            return .script([.send(chunkedHead), .chunk("one"), .wait(gate), .chunk("two"), .send("0\r\n\r\n")])
        }) {
            $0.loaders = [
                .followUp { response in
                    guard response.statusCode == 404 else { return .accept }
                    var request = response.request
                    request.url = request.url.deletingLastPathComponent().appending(path: "b")
                    return .send(request)
                }
            ]
        } _: { _, ness in
            let iterator = try await ness.httpRequest(withUrl: "a").streamRequest().value.chunks.makeAsyncIterator()
            #expect(try await iterator.next() == Data("one".utf8))
            gate.open()
            #expect(try await iterator.next() == Data("two".utf8))
        }
    }

    @Test("a stage that sends a request again after a reader has got bytes fails the stream: no reader gets two bodies joined")
    func sentAgain() async throws {
        let rig = Rig { $0.loaders = [.followUp { _ in .retry }] }
        rig.mock.on(.get, "/x", replies: [.text("one"), .text("two")])
        let promise = rig.ness.httpRequest(withUrl: "x").streamRequest()
        let error = await #expect(throws: NessError.self) { _ = try await strings(promise.chunks) }
        #expect(error?.kind == .truncated && error?.isTransient == false)
        #expect(error?.context.reason.contains("sent again") == true)
    }

    @Test("two equal streams are not shared") func equal() async throws {
        let rig = Rig { $0.duplicatedHandler = DefaultDuplicatedHandler.keepAllCompletion }
        rig.mock.on(.get, "/x", replies: [.text("x")])
        let both = (0..<2).map { _ in rig.ness.httpRequest(withUrl: "x").streamRequest() }
        for promise in both { #expect(try await strings(promise.chunks) == "x") }
        #expect(rig.mock.requests.count == 2)
    }

    @Test("a full buffer holds its writer back, and a reader that makes room lets it continue, without losing or reordering a byte")
    func fullBuffer() async throws {
        let buffer = StreamBuffer(limit: 1_000), data = patternedData(50_000)
        let writer = Task {
            var sent = 0
            for size in [900, 100, 200, 5_000, 1, 43_799] {
                try await buffer.write(data[sent..<(sent + size)])
                sent += size
            }
            buffer.finish(.success(()))
        }
        await untilTrue { buffer.isWriterWaiting }
        var read = Data()
        while let piece = try await buffer.next() { read += piece }
        try await writer.value
        #expect(read == data)
    }

    @Test("a writer that waits for room continues immediately when the stream ends", arguments: ["cancel", "abandon", "finish"])
    func waitingWriter(end: String) async throws {
        let buffer = StreamBuffer(limit: 10)
        try await buffer.write(Data(count: 10))
        let writer = Task { try await buffer.write(Data(count: 1)) }
        await untilTrue { buffer.isWriterWaiting }
        switch end {
        case "cancel": writer.cancel()
        case "abandon": buffer.abandon(Rejected())
        default: buffer.finish(.failure(Rejected()))
        }
        if end == "cancel" {
            await #expect(throws: CancellationError.self) { try await writer.value }
            // The piece of the canceled writer is lost, and the next one is not.
            #expect(!buffer.isWriterWaiting)
            #expect(try await buffer.next()?.count == 10)
            try await buffer.write(Data(count: 2))
            #expect(try await buffer.next()?.count == 2)
        } else {
            await #expect(throws: Rejected.self) { try await writer.value }
            await #expect(throws: Rejected.self) { try await buffer.write(Data(count: 1)) }
        }
    }

    @Test("several readers take the bytes in turn") func severalReaders() async throws {
        let buffer = StreamBuffer(), order = Log<Int>()
        var readers: [Task<Data?, any Error>] = []
        for number in 0..<5 {
            readers.append(
                Task {
                    let piece = try await buffer.next()
                    if piece != nil { order.add(number) }
                    return piece
                })
            await untilTrue { buffer.readerCount > number }
        }
        readers[1].cancel()
        await #expect(throws: CancellationError.self) { _ = try await readers[1].value }
        for (byte, reader) in [(UInt8(0), 0), (2, 2)] {
            try await buffer.write(Data([byte]))
            #expect(try await readers[reader].value == Data([byte]))
        }
        // Two pieces and the end at once: each reader wakes the next.
        try await buffer.write(Data([3]))
        try await buffer.write(Data([4]))
        buffer.finish(.success(()))
        let rest = try await [readers[3].value, readers[4].value]
        #expect(Set(rest) == [Data([3]), Data([4])])
        #expect(try await buffer.next() == nil)
        #expect(order.entries.prefix(2) == [0, 2] && buffer.readerCount == 0)
    }

    @Test("bytes that a canceled reader leaves reach the next reader", arguments: 0..<12)
    func canceledReader(_ round: Int) async throws {
        let buffer = StreamBuffer()
        var readers = (0..<3).map { _ in Task { try await buffer.next() } }
        await untilTrue { buffer.readerCount == 3 }
        let chosen = readers.remove(at: round % 3)
        async let cancelled: Void = chosen.cancel()
        for byte in 0..<2 { try await buffer.write(Data([UInt8(byte)])) }
        await cancelled
        var pieces = [try? await chosen.value]
        // It was canceled too late: there is one piece for two readers.
        if pieces != [nil] { buffer.finish(.success(())) }
        for reader in readers { pieces.append(try await reader.value) }
        #expect(Set(pieces.compactMap(\.self)) == [Data([0]), Data([1])])
    }
}

/// Lines, however they end and wherever the pieces do.
@Suite(.inTurn) struct LineSplitterTests {
    private func lines(_ pieces: [[UInt8]]) throws -> [String] {
        var splitter = LineSplitter(), lines: [String] = []
        for piece in pieces {
            splitter.add(Data(piece))
            while let line = try splitter.next() { lines.append(line) }
        }
        splitter.finish()
        while let line = try splitter.next() { lines.append(line) }
        return lines
    }

    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb\rc\n\nd", ["a", "b", "c", "", "d"]), ("\r\r\n\n", ["", "", ""]),
        ("é\u{2028}漢\n😀", ["é\u{2028}漢", "😀"]),
    ]) func everyCut(text: String, expected: [String]) throws {
        let bytes = Array(text.utf8)
        #expect(try lines([bytes]) == expected)
        #expect(try lines(bytes.map { [$0] }) == expected)
        for cut in bytes.indices { #expect(try lines([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected) }
    }

    @Test("bytes that are not UTF-8 are replaced") func invalidBytes() throws {
        #expect(try lines([[0x61, 0xFF, 0x62, 0x0A]]) == ["a\u{FFFD}b"])
    }

    @Test("a line that is too long is an error, with its end and without", arguments: ["\n", ""]) func tooLong(end: String) {
        var splitter = LineSplitter()
        splitter.add(Data(count: LineSplitter.maximumLength + 1) + Data(end.utf8))
        #expect(throws: StreamPartTooLong.self) { try splitter.next() }
    }
}
