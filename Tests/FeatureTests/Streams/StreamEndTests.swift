import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Streams that end before their bodies do, by a drop or because the reader leaves.
@Suite(.inTurn) struct StreamEndTests {
    @Test("a stream that fails after its head has the status of its error")
    func failureAfterHead() async throws {
        try await withServer({ _ in .script([.send(chunkedHead), .chunk("x\n"), .close]) }) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").streamRequest()
            let error = await #expect(throws: NessError.self) {
                for try await _ in promise.lines {}
            }
            #expect(error?.kind == .truncated)
            #expect(promise.status.text == "error" && promise.response == nil)
        }
    }

    @Test("a stream whose reader leaves early has succeeded, for observers and logs")
    func leavingIsAnEnd() async throws {
        let lines = Log<String>(), recorder = ObserverTests.Recorder()
        try await withServer({ _ in .script([.send(chunkedHead), .chunk("a\nb\n"), .stall]) }) {
            $0.observers = [recorder, RequestLogger { lines.add($0) }]
        } _: { server, ness in
            for try await _ in ness.httpRequest(withUrl: "x").streamRequest().lines { break }
            await lines.wait(for: 1)
            // The manager notifies the observers one after the other, and the log is the last.
            await recorder.log.wait { $0.last == "end" }
            #expect(recorder.events.suffix(3) == ["success 200", "metrics", "end"])
            #expect(lines.entries.first?.contains("200 (1 attempt") == true)
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    /// A stream that ends in good order for its bytes, and how it ends for its reader.
    enum Reading: String, CaseIterable {
        case whole, undecodableEvent, missingEnd, undecodableLine, noEvents, noContent

        var body: Reply {
            let type: HTTPHeaders = ["Content-Type": self == .undecodableLine ? "application/x-ndjson" : "text/event-stream"]
            switch self {
            case .whole: return .text("data: 1\n\ndata: [DONE]\n\n", headers: type)
            case .undecodableEvent: return .text("data: 1\n\ndata: x\n\n", headers: type)
            case .missingEnd: return .text("data: 1\n\n", headers: type)
            case .undecodableLine: return .text("1\nx", headers: type)
            case .noEvents: return .text("data: 1\n\n", headers: ["Content-Type": "text/plain"])
            case .noContent: return .status(204)
            }
        }

        func read(_ request: RequestBuilder) async throws {
            switch self {
            case .undecodableLine: for try await _ in request.lines(decoding: Int.self) {}
            case .noEvents: for try await _ in request.streamRequest().serverSentEvents {}
            default: for try await _ in request.events(decoding: Int.self, requiresEnd: true) {}
            }
        }
    }

    @Test("observers get the failure that the reader of a stream gets, even after the last byte", arguments: Reading.allCases)
    func failureAboveTheBytes(reading: Reading) async throws {
        let recorder = ObserverTests.Recorder(), rig = Rig { $0.observers = [recorder] }
        rig.mock.on(.post, "/x", replies: [reading.body])
        let failure: NessError?
        do {
            try await reading.read(rig.ness.httpRequest(.post, withUrl: "x"))
            failure = nil
        } catch { failure = error as? NessError }
        #expect((failure == nil) == (reading == .whole))
        await recorder.log.wait { $0.last == "end" }
        let end = failure.map { "failure \($0.kind.rawValue)" } ?? "success 200"
        #expect(recorder.events.suffix(3) == [end, "metrics", "end"])
        #expect(recorder.events.filter { $0 == "end" }.count == 1)
    }

    @Test("observers see a drop, regardless of the error the caller gave, even when the whole body had arrived", arguments: [true, false])
    func dropWithReason(isWhole: Bool) async throws {
        let recorder = ObserverTests.Recorder(), rig = Rig { $0.observers = [recorder] }
        rig.mock.on(.get, "/x") { _ in .text("hello") }
        let promise = rig.ness.httpRequest(withUrl: "x").streamRequest()
        let result = try await promise.value
        if isWhole { await untilTrue { promise.call.hasEnded } }
        promise.drop(becauseOf: Rejected(name: "enough"))
        await #expect(throws: Rejected(name: "enough")) { for try await _ in result.chunks {} }
        await recorder.log.wait { $0.last == "end" }
        #expect(recorder.events.suffix(3) == ["failure dropped", "metrics", "end"])
    }

    @Test("trailers are apart from the header fields, in a response and at the end of a stream")
    func trailers() async throws {
        // They crash URLSession on Linux.
        if Engine.isURLSessionOnLinux { return }
        let pieces = ["a", "b"].map { Data($0.utf8) }
        try await withServer({ _ in .chunked(pieces, headers: ["X": "1"], trailers: ["X-Sum": "9"]) }) { _, ness in
            let message = try await ness.httpRequest(withUrl: "x").dataRequest().value.message
            #expect(message.text == "ab" && message.headers["X-Sum"] == nil)
            #expect(message.trailers == (Engine.isCurl ? ["X-Sum": "9"] : [:]))
            let promise = ness.httpRequest(withUrl: "x").streamRequest()
            for try await _ in promise.chunks {}
            #expect(promise.response?.trailers == message.trailers)
        }
    }

    @Test("the metrics of a stream count all bytes that had arrived when its reader left")
    func metrics() async throws {
        let collector = MetricsTests.Collector(), text = "data: 1\n\ndata: [DONE]\n\n"
        try await withServer({ _ in
            .script([.send(eventHead), .send(text), .stall])
        }) {
            $0.observers = [collector]
        } _: { server, ness in
            for try await _ in ness.httpRequest(withUrl: "x").events(decoding: Int.self) {}
            await collector.log.wait(for: 1)
            #expect(collector.log.entries.first?.bytesReceived == Int64(text.utf8.count))
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("an error's body that never ends is an error for a stream and a download, which collect no more than 16 MiB of it")
    func endlessError() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file")
            let collected = Lock(0)
            let ness = Ness {
                $0.transport = FakeTransport { _, receive in
                    collected.withLock { $0 = 0 }
                    try await receive(.head(statusCode: 500, headers: [:]))
                    let piece = Data(count: 1 << 20)
                    while !Task.isCancelled {
                        try await receive(.body(piece))
                        collected.withLock { $0 += piece.count }
                    }
                }
            }
            let request = ness.httpRequest(.post, withUrl: "http://x")
            #expect(await request.streamRequest().nessError()?.kind == .responseTooLarge)
            #expect(collected.withLock { $0 } == 16 << 20)
            #expect(await request.downloadRequest(forSavedLocation: file).nessError()?.kind == .responseTooLarge)
            #expect(collected.withLock { $0 } == 16 << 20)
        }
    }

    @Test("an unrequested partial response is not a success: not as a string, not decoded, not in a stream, not for validate()")
    func unaskedPart() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in
            .data(Data("12".utf8), contentType: "application/json", status: 206, headers: ["Content-Range": "bytes 0-1/5"])
        }
        let request = rig.ness.httpRequest(withUrl: "x")
        for asks in [false, true] {
            let request = asks ? request.set(headers: ["Range": "bytes=0-1"]) : request
            let outcomes = [
                await request.validate().dataRequest().then { _ in }.settled,
                await request.dataRequest(decoding: Int.self).then { _ in }.settled,
                await request.validate().streamRequest().then { _ in }.settled,
            ]
            for outcome in outcomes {
                if asks {
                    #expect(throws: Never.self) { try outcome.get() }
                } else {
                    #expect(#expect(throws: NessError.self) { try outcome.get() }?.kind == .validation)
                }
            }
            // Without a validator the status tells it.
            #expect(try await request.dataRequest().value.message.statusCode == 206)
        }
    }

    @Test("a negative limit of the response's length is rejected before anything is sent") func negativeLimit() async {
        let rig = Rig { $0.maximumResponseBytes = -1 }
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a loader that replaces the error of a stream that has started does not make its body whole")
    func replacedError() async throws {
        let fallback = ClosureLoader { request, next in
            do { return try await next(request) } catch { return HTTPResponse(statusCode: 200, request: request) }
        }
        try await withServer {
            _ in
            .script([.send(chunkedHead), .chunk("hello"), .close])
        } configure: {
            $0.insert(fallback, at: .attempt)
        } _: { _, ness in
            var text = ""
            let error = await #expect(throws: NessError.self) {
                for try await chunk in ness.get("x").streamRequest().chunks { text += String(decoding: chunk, as: UTF8.self) }
            }
            #expect(text == "hello" && error?.kind == .truncated)
        }
    }
}
