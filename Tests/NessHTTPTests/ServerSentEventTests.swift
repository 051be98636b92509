import Foundation
import NessHTTP
import NessTesting
import Testing

/// The rules of WHATWG HTML, 9.2.
@Suite(.inTurn) struct ServerSentEventTests {
    private static func parse(_ text: String) -> [ServerSentEvent] {
        var parser = EventParser(), splitter = LineSplitter(), events: [ServerSentEvent] = []
        splitter.add(Data(text.utf8))
        splitter.finish()
        while let line = try? splitter.next() {
            if let event = parser.take(line) { events.append(event) }
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
        // What the end cuts short is none.
        ("data: a\n\ndata: b", [ServerSentEvent(data: "a")]),
        ("data: a\r\rdata: b\r\n\r\n", [ServerSentEvent(data: "a"), ServerSentEvent(data: "b")]),
        ("data: a:b\n\n", [ServerSentEvent(data: "a:b")]),
    ]) func rules(text: String, expected: [ServerSentEvent]) { #expect(Self.parse(text) == expected) }

    @Test(arguments: [("5", Duration.milliseconds(5)), ("", nil), ("5x", nil), ("-5", nil), ("99999999999999999999", nil)])
    func retry(value: String, expected: Duration?) {
        var parser = EventParser()
        _ = parser.take("retry: \(value)")
        #expect(parser.retry == expected)
    }

    private static let type: HTTPHeaders = ["Content-Type": "text/event-stream; charset=utf-8"]

    @Test func overASocket() async throws {
        try await withServer({ _ in .text("data: a\n\nevent: x\ndata: b\nid: 7\n\n", headers: Self.type) }) { _, ness in
            var events: [ServerSentEvent] = []
            for try await event in ness.httpRequest(withUrl: "x").streamRequest().serverSentEvents { events.append(event) }
            #expect(events == [ServerSentEvent(data: "a"), ServerSentEvent(event: "x", data: "b", id: "7")])
        }
    }

    @Test(arguments: [(200, "text/plain"), (404, "text/event-stream")]) func whatIsNoStreamOfEvents(status: Int, type: String) async throws
    {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("data: a\n\n", status: status, headers: ["Content-Type": type])])
        let error = await #expect(throws: NessError.self) {
            for try await _ in rig.ness.httpRequest(withUrl: "x").streamRequest().serverSentEvents {}
        }
        #expect(error?.kind == .validation)
    }

    @Test func itConnectsAgainWhereItWas() async throws {
        let rig = Rig()
        rig.mock.on(
            .get, "/x",
            replies: [
                .text("retry: 50\nid: 1\ndata: a\n\ndata: lost", headers: Self.type), .failure(.connectionLost),
                .text("data: b\n\n", headers: Self.type),
                .status(204),
            ])
        var data: [String] = []
        for try await event in rig.ness.httpRequest(withUrl: "x").serverSentEvents() { data.append(event.data) }
        #expect(data == ["a", "b"])
        #expect(rig.mock.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "1", "1"])
        #expect(rig.mock.requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
        #expect(rig.clock.sleeps == [.milliseconds(50), .milliseconds(50), .milliseconds(50)])
    }

    @Test func itFailsWhereTheAnswerIsSomethingElse() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("data: a\n\n", headers: Self.type), .status(500)])
        var count = 0
        let error = await #expect(throws: NessError.self) {
            for try await _ in rig.ness.httpRequest(withUrl: "x").serverSentEvents() { count += 1 }
        }
        #expect(count == 1 && error?.kind == .validation)
    }
}
