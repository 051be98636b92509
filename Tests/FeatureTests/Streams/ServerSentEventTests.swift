import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The rules of WHATWG HTML, 9.2.
@Suite(.inTurn) struct ServerSentEventTests {
    private static func parse(_ text: String) -> [ServerSentEvent] {
        var parser = EventParser(), splitter = LineSplitter(), events: [ServerSentEvent] = []
        splitter.add(Data(text.utf8))
        splitter.finish()
        while let line = try? splitter.next() {
            if let event = try? parser.take(line) { events.append(event) }
        }
        return events
    }

    @Test(arguments: [
        ("data: a\n\n", [ServerSentEvent(data: "a")]), ("data:a\ndata: b\ndata\n\n", [ServerSentEvent(data: "a\nb\n")]),
        ("data:  a\n\n", [ServerSentEvent(data: " a")]),
        ("event: x\ndata: a\n\ndata: b\n\n", [ServerSentEvent(event: "x", data: "a"), ServerSentEvent(data: "b")]),
        // Without data there is no event, and its name is forgotten.
        ("event: x\n\ndata: a\n\n", [ServerSentEvent(data: "a")]), ("data\n\n", [ServerSentEvent(data: "")]),
        (": a comment\ndata: a\nunknown: 1\n\n", [ServerSentEvent(data: "a")]), ("\u{FEFF}data: a\n\n", [ServerSentEvent(data: "a")]),
        // The identifier stays until there is another; an empty one is one, one with a NUL is none.
        (
            "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: x\0\ndata: d\n\n",
            [
                ServerSentEvent(data: "a", id: "1"), ServerSentEvent(data: "b", id: "1"), ServerSentEvent(data: "c", id: ""),
                ServerSentEvent(data: "d", id: ""),
            ]
        ),
        // An identifier with a control character is ignored.
        ("id: a\u{7}b\ndata: x\n\n", [ServerSentEvent(data: "x")]),
        // What the end cuts short is none.
        ("data: a\n\ndata: b", [ServerSentEvent(data: "a")]),
        ("data: a\r\rdata: b\r\n\r\n", [ServerSentEvent(data: "a"), ServerSentEvent(data: "b")]),
        ("data: a:b\n\n", [ServerSentEvent(data: "a:b")]),
    ]) func rules(text: String, expected: [ServerSentEvent]) { #expect(Self.parse(text) == expected) }

    @Test(arguments: [("5", Duration.milliseconds(5)), ("", nil), ("5x", nil), ("-5", nil), ("99999999999999999999", nil)])
    func retry(value: String, expected: Duration?) throws {
        var parser = EventParser()
        _ = try parser.take("retry: \(value)")
        #expect(parser.retry == expected)
    }

    @Test("the cost of an event depends on its bytes, not on its lines, up to 16 MiB") func manyLines() throws {
        // With a cost for each line that grows with the event, this would take a quarter of an hour.
        var parser = EventParser()
        let line = "data: " + String(repeating: "x", count: 30)
        for _ in 0..<400_000 { _ = try parser.take(line) }
        #expect(try parser.take("")?.data.utf8.count == 400_000 * 31 - 1)
        // The next one is counted anew.
        let long = "data:" + String(repeating: "x", count: (1 << 20) - 1)
        for _ in 0..<16 { _ = try parser.take(long) }
        #expect(throws: StreamPartTooLong.self) { _ = try parser.take("data:x") }
    }

    @Test("an endless event closes the connection with a typed error, and the request is not sent again", arguments: [true, false])
    func endlessEvent(isReconnecting: Bool) async throws {
        let line = Data(("data: " + String(repeating: "x", count: 65_529) + "\n").utf8)
        try await withServer({ _ in .script([.send(eventHead), .sendUntilClosed(line)]) }) { server, ness in
            let request = ness.httpRequest(withUrl: "x")
            let error = await #expect(throws: NessError.self) {
                for try await _ in isReconnecting ? request.reconnectingEvents() : request.streamRequest().serverSentEvents {}
            }
            #expect(error?.kind == .responseTooLarge)
            #expect(error?.context.reason.contains("an event") == true)
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requests.count == 1)
        }
    }

    private static let type: HTTPHeaders = ["Content-Type": "text/event-stream; charset=utf-8"]

    @Test("server-sent events arrive over a socket") func overASocket() async throws {
        try await withServer({ _ in .text("data: a\n\nevent: x\ndata: b\nid: 7\n\n", headers: Self.type) }) { _, ness in
            var events: [ServerSentEvent] = []
            for try await event in ness.httpRequest(withUrl: "x").streamRequest().serverSentEvents { events.append(event) }
            #expect(events == [ServerSentEvent(data: "a"), ServerSentEvent(event: "x", data: "b", id: "7")])
        }
    }

    @Test("an event stream fails if the response is not an event stream", arguments: [(200, "text/plain"), (404, "text/event-stream")])
    func notAnEventStream(status: Int, type: String) async throws {
        let rig = Rig()
        let other = Reply.text("data: a\n\n", status: status, headers: ["Content-Type": type])
        rig.mock.on(.get, "/x", replies: [other, .text("data: a\n\n", headers: Self.type), other])
        let error = await #expect(throws: NessError.self) {
            for try await _ in rig.ness.httpRequest(withUrl: "x").streamRequest().serverSentEvents {}
        }
        var count = 0
        let later = await #expect(throws: NessError.self) {
            for try await _ in rig.ness.httpRequest(withUrl: "x").reconnectingEvents() { count += 1 }
        }
        #expect(count == 1 && error?.kind == .validation && later?.kind == .validation)
    }

    @Test("an event stream reconnects after the last event that it received") func itConnectsAgainWhereItWas() async throws {
        let rig = Rig()
        rig.mock.on(
            .get, "/x",
            replies: [
                .text("retry: 700\nid: 1\ndata: a\n\ndata: lost", headers: Self.type), .failure(.connectionLost),
                .text("data: b\n\n", headers: Self.type),
                .status(204),
            ])
        var data: [String] = []
        for try await event in rig.ness.httpRequest(withUrl: "x").reconnectingEvents() { data.append(event.data) }
        #expect(data == ["a", "b"])
        #expect(rig.mock.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "1", "1"])
        #expect(rig.mock.requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
        #expect(rig.clock.sleeps == [.milliseconds(700), .milliseconds(700), .milliseconds(700)])
    }

    @Test("an empty identifier takes back that of the caller's request")
    func itForgetsTheIdentifier() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("id:\ndata: a\n\n", headers: Self.type), .status(204)])
        for try await _ in rig.ness.get("x").set(header: "Last-Event-ID", to: "77").reconnectingEvents() {}
        #expect(rig.mock.requests.map { $0.headers["Last-Event-ID"] } == ["77", nil])
    }

    @Test("a caller may allow reconnecting, and a closure may name the last event")
    func reconnectsAndEnds() async throws {
        let rig = Rig()
        rig.mock.on(
            .post, "/x",
            replies: [.text("data: a\n\n", headers: Self.type), .text("data: b\n\ndata: [DONE]\n\ndata: c\n\n", headers: Self.type)])
        var data: [String] = []
        let reconnecting = rig.ness.httpRequest(.post, withUrl: "x").reconnectingEvents(reconnects: true, endsAt: { $0.data == "[DONE]" })
        for try await event in reconnecting { data.append(event.data) }
        #expect(data == ["a", "b"])
        data = []
        rig.mock.on(.get, "/x", replies: [.text("event: end\ndata: a\n\ndata: b\n\n", headers: Self.type)])
        let events = rig.ness.httpRequest(withUrl: "x").reconnectingEvents(endsAt: { $0.event == "end" })
        for try await event in events { data.append(event.data) }
        #expect(data.isEmpty)
    }

    @Test("a server that asks for no delay between connections gets half a second")
    func floorOfRetry() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("retry: 0\ndata: a\n\n", headers: Self.type), .status(204)])
        for try await _ in rig.ness.httpRequest(withUrl: "x").reconnectingEvents() {}
        #expect(rig.clock.sleeps == [.milliseconds(500)])
    }

    @Test("a deadline covers all connections together, a timeout each silence")
    func limits() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .text("data: a\n\n", headers: Self.type) }
        var count = 0
        let error = await #expect(throws: NessError.self) {
            for try await _ in rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(10)).reconnectingEvents() { count += 1 }
        }
        #expect(error?.kind == .timedOut)
        #expect(error?.context.reason == "the deadline of 10.0 seconds passes before the next connection")
        // One at 0, 3, 6 and 9 seconds.
        #expect(count == 4)
        #expect(rig.mock.requests.allSatisfy { ($0.deadline ?? .zero) <= .seconds(10) && ($0.deadline ?? .zero) > .zero })
        let idle = Rig()
        idle.mock.on(.get, "/x") { _ in .status(204) }
        for try await _ in idle.ness.httpRequest(withUrl: "x").set(timeout: .seconds(7)).reconnectingEvents() {}
        #expect(idle.mock.requests.first?.timeout == .seconds(7))
    }

    @Test("a reader who asks for an event after the deadline gets a timeout, and nothing is sent")
    func lateReader() async throws {
        let rig = Rig(advances: false)
        let events = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(1)).reconnectingEvents().makeAsyncIterator()
        rig.clock.advance(by: .seconds(1))
        let error = await #expect(throws: NessError.self) { try await events.next() }
        #expect(error?.kind == .timedOut && rig.mock.requests.isEmpty)
        #expect(error?.context.reason == "the deadline of 1.0 seconds has passed")
    }

    @Test("an error names the deadline that the caller set, even if a later connection meets it")
    func deadlineOfLaterConnection() async throws {
        let rig = Rig(advances: false), hasArrived = TestGate(), never = TestGate(), connections = Tally()
        rig.mock.on(.get, "/x") { _ in
            if connections.enter() == 0 { return .text("retry: 4000\ndata: a\n\n", headers: Self.type) }
            hasArrived.open()
            await never.wait()
            return .status(204)
        }
        let request = rig.ness.get("x").set(deadline: .seconds(20))
        let reader = Task { for try await _ in request.reconnectingEvents() {} }
        await rig.clock.waitUntil { $0.sleeps == [.seconds(4)] }
        rig.clock.advance(by: .seconds(4))
        await hasArrived.wait()
        rig.clock.advance(by: .seconds(16))
        let error = await #expect(throws: NessError.self) { try await reader.value }
        #expect(error?.context.reason == "the deadline of 20.0 seconds has passed")
        never.open()
    }

    @Test("after a canceled read, the next read ends instead of sending the request again")
    func itEndsAfterACancel() async throws {
        let rig = Rig(advances: false), arrived = TestGate(), never = TestGate()
        rig.mock.on(.post, "/x") { _ in
            arrived.open()
            await never.wait()
            return .status(204)
        }
        let events = rig.ness.post("x").reconnectingEvents().makeAsyncIterator()
        let reader = Task { try await events.next() }
        await arrived.wait()
        reader.cancel()
        await #expect(throws: NessError.self) { _ = try await reader.value }
        #expect(try await events.next() == nil)
        #expect(rig.mock.requests.count == 1)
        never.open()
    }

    @Test("a response that is not an event stream and whose body stalls is rejected, long before its timeout", arguments: [true, false])
    func stalledBody(reconnects: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"
        try await withServer({ _ in .script([.send(head), .stall]) }) { _, ness in
            let request = ness.get("x").set(timeout: .seconds(3_600))
            let events = reconnects ? request.reconnectingEvents() : request.streamRequest().serverSentEvents
            let error = await #expect(throws: NessError.self) { for try await _ in events {} }
            #expect(error?.kind == .validation && error?.response?.text == "<p>")
        }
    }

    @Test("a reader that is canceled gets the drop, even if the response is not an event stream")
    func canceledReader() async throws {
        let rig = Rig(), isCanceled = TestGate()
        rig.mock.on(.get, "/x") { _ in .text("no events") }
        let promise = rig.ness.get("x").streamRequest()
        _ = try await promise.value
        let reader = Task {
            await isCanceled.wait()
            for try await _ in promise.serverSentEvents {}
        }
        reader.cancel()
        isCanceled.open()
        let error = await #expect(throws: NessError.self) { try await reader.value }
        #expect(error?.kind == .dropped)
    }
}
