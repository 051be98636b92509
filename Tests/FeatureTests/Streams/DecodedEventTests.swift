import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Streams of decoded events, as the APIs of language models send them, and JSON lines.
@Suite(.inTurn) struct DecodedEventTests {
    private struct Chunk: Decodable, Sendable, Equatable { let text: String }

    private static let type: HTTPHeaders = ["Content-Type": "text/event-stream"]

    private func texts(_ events: DecodedSequence<Chunk>) async throws -> [String] {
        var texts: [String] = []
        for try await chunk in events { texts.append(chunk.text) }
        return texts
    }

    private func error(_ events: DecodedSequence<Chunk>) async -> NessError? {
        await #expect(throws: NessError.self) { for try await _ in events {} }
    }

    @Test("the sequence ends at the given data, though the server holds the connection open, and closes it immediately")
    func end() async throws {
        let begin = "data: {\"text\":\"a\"}\n\n: ping\n\ndata:\n\nevent: x\ndata: {\"text\":\ndata: \"b\"}\n\n"
        let text = begin + "data: [DONE]\n\ndata: {\"text\":\"c\"}\n\n"
        try await withServer({ _ in .script([.send(eventHead + text), .stall]) }) { server, ness in
            let request = ness.httpRequest(.post, withUrl: "x").set(jsonBody: ["stream": true])
            let found = try await texts(request.events(decoding: Chunk.self))
            #expect(found == ["a", "b"])
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requests.map(\.bodyText) == [#"{"stream":true}"#])
            #expect(server.requests.first?.headers["accept"] == "text/event-stream")
        }
    }

    @Test("another end can be given, or none")
    func otherEnd() async throws {
        let rig = Rig()
        let text = "data: {\"text\":\"a\"}\n\ndata: end\n\ndata: {\"text\":\"b\"}\n\n"
        rig.mock.on(.post, "/x") { _ in .text(text, headers: Self.type) }
        let request = rig.ness.httpRequest(.post, withUrl: "x")
        #expect(try await texts(request.events(decoding: Chunk.self, until: "end")) == ["a"])
        #expect(await error(request.events(decoding: Chunk.self, until: nil))?.kind == .decoding)
    }

    @Test("a value ends the sequence and is its last; without one the end of the response is an error on demand")
    func endingValue() async throws {
        let begin = "data: {\"text\":\"a\"}\n\n", end = "event: x\ndata: {\"text\":\"stop\"}\n\ndata: {\"text\":\"c\"}\n\n"
        try await withServer({ request in
            request.path == "/cut" ? .text(begin, headers: Self.type) : .script([.send(eventHead + begin + end), .stall])
        }) { server, ness in
            func events(_ path: String) -> DecodedSequence<Chunk> {
                ness.httpRequest(.post, withUrl: path).events(
                    decoding: Chunk.self, endingWhen: { $0.text == "stop" }, requiresEnd: true)
            }
            let found = try await texts(events("whole"))
            #expect(found == ["a", "stop"])
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(try await texts(events("whole").results) == ["a", "stop"])
            #expect(await error(events("cut"))?.kind == .truncated)
        }
    }

    @Test("a stream that ends without its last event is an error on demand, and holds the head")
    func requiredEnd() async throws {
        let rig = Rig()
        rig.mock.on(.post, "/cut") { _ in .text("data: {\"text\":\"a\"}\n\n", headers: Self.type) }
        rig.mock.on(.post, "/whole") { _ in .text("data: {\"text\":\"a\"}\n\ndata: [DONE]\n\n", headers: Self.type) }
        let cut = rig.ness.httpRequest(.post, withUrl: "cut").events(decoding: Chunk.self, requiresEnd: true)
        var found: [String] = []
        let error = await #expect(throws: NessError.self) { for try await chunk in cut { found.append(chunk.text) } }
        #expect(found == ["a"] && error?.kind == .truncated && error?.response?.statusCode == 200)
        let whole = rig.ness.httpRequest(.post, withUrl: "whole").events(decoding: Chunk.self, requiresEnd: true)
        #expect(try await texts(whole) == ["a"])
        let endless = rig.ness.httpRequest(.post, withUrl: "cut").events(decoding: Chunk.self, until: nil, requiresEnd: true)
        #expect(try await texts(endless) == ["a"])
    }

    @Test("a POST is sent once: after the end of its stream, after a loss, and with a manager's retry control")
    func once() async throws {
        let rig = Rig { $0.retryControl = Eager() }
        rig.mock.on(.post, "/ends") { _ in .text("data: {\"text\":\"a\"}\n\n", headers: Self.type) }
        rig.mock.on(.post, "/breaks") { _ in .failure(.connectionLost) }
        #expect(try await texts(rig.ness.httpRequest(.post, withUrl: "ends").events(decoding: Chunk.self)) == ["a"])
        #expect(await error(rig.ness.httpRequest(.post, withUrl: "breaks").events(decoding: Chunk.self))?.kind == .connectionLost)
        var data: [String] = []
        for try await event in rig.ness.httpRequest(.post, withUrl: "ends").reconnectingEvents() { data.append(event.data) }
        #expect(data == ["{\"text\":\"a\"}"] && rig.mock.requests.count == 3 && rig.clock.sleeps.isEmpty)
    }

    @Test("a GET continues after the last event")
    func reconnects() async throws {
        let rig = Rig()
        rig.mock.on(
            .get, "/x",
            replies: [
                .text("id: 7\ndata: {\"text\":\"a\"}\n\n", headers: Self.type),
                .text("data: {\"text\":\"b\"}\n\ndata: [DONE]\n\n", headers: Self.type),
            ])
        #expect(try await texts(rig.ness.httpRequest(withUrl: "x").events(decoding: Chunk.self)) == ["a", "b"])
        #expect(rig.mock.requests.map { $0.headers["Last-Event-ID"] } == [nil, "7"])
        let none = Rig(onUnmatched: .reply(.status(204)))
        #expect(try await texts(none.ness.httpRequest(withUrl: "x").events(decoding: Chunk.self)).isEmpty)
    }

    @Test("a rejected response's error holds the API's error, of the type given or of the manager's, and the body")
    func refusals() async throws {
        struct Oops: Decodable, Error { let oops: String }
        let rig = Rig { $0.decodingErrors = APIProblem.self }
        rig.mock.on(.post, "/x") { _ in .json(["oops": "no", "title": "busy"], status: 429) }
        let request = rig.ness.httpRequest(.post, withUrl: "x")
        let given = await error(request.decodingErrors(as: Oops.self).events(decoding: Chunk.self))
        #expect(given?.kind == .validation && (given?.underlying as? Oops)?.oops == "no" && given?.response?.statusCode == 429)
        #expect((await error(request.events(decoding: Chunk.self))?.underlying as? APIProblem)?.title == "busy")
        let other = Rig(onUnmatched: .reply(.text("{\"text\":\"a\"}")))
        #expect(await error(other.ness.httpRequest(.post, withUrl: "x").events(decoding: Chunk.self))?.kind == .validation)
    }

    private static let bad = "data: {\"text\":\"a\"}\n\ndata: {\"error\":1}\n\ndata: {\"text\":\"b\"}\n\ndata: [DONE]\n\n"

    private func texts(_ results: ResponseSequence<Result<Chunk, any Error>>) async throws -> [String] {
        var texts: [String] = []
        for try await result in results {
            switch result {
            case .success(let chunk): texts.append(chunk.text)
            case .failure(let error): texts.append((error as? NessError)?.response?.text ?? "\(error)")
            }
        }
        return texts
    }

    @Test("data that cannot be decoded end the sequence and the connection with an error that holds them; as results they are an element")
    func undecodable() async throws {
        try await withServer({ _ in .script([.send(eventHead + Self.bad), .stall]) }) { server, ness in
            let events = ness.httpRequest(.post, withUrl: "x").events(decoding: Chunk.self), iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.text == "a")
            let error = try #require(await #expect(throws: NessError.self) { _ = try await iterator.next() })
            #expect(error.kind == .decoding && error.response?.text == "{\"error\":1}" && error.request?.url.path == "/x")
            #expect(error.underlying is DecodingError)
            #expect(try await iterator.next() == nil)
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(try await texts(events.results) == ["a", "{\"error\":1}", "b"])
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
    }

    @Test("leaving the loop and canceling its task close the connection immediately", arguments: [true, false])
    func stop(byCancel: Bool) async throws {
        try await withServer({ _ in .script([.send(eventHead + "data: {\"text\":\"a\"}\n\n"), .stall]) }) { server, ness in
            let first = TestGate()
            let task = Task {
                for try await _ in ness.httpRequest(.post, withUrl: "x").events(decoding: Chunk.self) {
                    first.open()
                    if !byCancel { break }
                }
            }
            await first.wait()
            if byCancel {
                task.cancel()
                await #expect(throws: (any Error).self) { try await task.value }
            } else {
                try await task.value
            }
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requests.count == 1)
        }
    }

    @Test("the longest silence is the request's timeout, or else the manager's")
    func timeout() async throws {
        let rig = Rig(onUnmatched: .reply(.text("data: [DONE]\n\n", headers: Self.type))) { $0.timeout = .seconds(7) }
        #expect(try await texts(rig.ness.httpRequest(.post, withUrl: "x").events(decoding: Chunk.self)).isEmpty)
        #expect(try await texts(rig.ness.httpRequest(.post, withUrl: "x").set(timeout: .seconds(9)).events(decoding: Chunk.self)).isEmpty)
        #expect(rig.mock.requests.map(\.timeout) == [.seconds(7), .seconds(9)])
    }

    // MARK: JSON lines

    @Test("each JSON line is a value; a wrong one ends the sequence with an error that holds it, and as a result it is an element")
    func lines() async throws {
        let rig = Rig()
        let text = "{\"text\":\"a\"}\n\n{]\r\n{\"text\":\"b\"}"
        rig.mock.on(.post, "/x") { _ in .data(Data(text.utf8), contentType: "application/x-ndjson") }
        let lines = rig.ness.httpRequest(.post, withUrl: "x").lines(decoding: Chunk.self)
        #expect(try await texts(lines.results) == ["a", "{]", "b"])
        var values: [String] = []
        let error = await #expect(throws: NessError.self) { for try await chunk in lines { values.append(chunk.text) } }
        #expect(values == ["a"] && error?.kind == .decoding && error?.response?.text == "{]")
    }
}
