import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Tests the events that a mock reports for each kind of reply.
@Suite(.inTurn) struct MockTransportReplyTests {
    private struct Broken: Error {}

    /// Makes a mock that gives one reply to GET, HEAD and POST.
    private func mock(_ reply: Reply, clock: any Clock<Duration> = ContinuousClock()) -> MockTransport {
        let mock = MockTransport(clock: clock)
        for method: HTTPMethod in [.get, .head, .post] { mock.on(method, "*") { _ in reply } }
        return mock
    }

    @Test("a reply is one head and one body, with a Content-Length that matches")
    func full() async throws {
        let events = try await mock(.text("hello", status: 201)).events()
        #expect(events.heads == [201] && events.pieces == ["hello"] && events.sent == [])
        #expect(events.headers == ["Content-Type": "text/plain; charset=utf-8", "Content-Length": "5"])
        let page = try await mock(.text("x", headers: ["Content-Type": "text/html"])).events()
        #expect(page.headers.values(for: "Content-Type") == ["text/html"])
        let empty = try await mock(.status(200)).events()
        #expect(empty.headers == ["Content-Length": "0"] && empty.pieces == [])
    }

    @Test("a chunked body arrives piece by piece")
    func chunked() async throws {
        let reply = Reply.chunked(["ab", "", "c"].map { Data($0.utf8) }, headers: ["X": "1"], trailers: ["Y": "2"])
        let events = try await mock(reply).events()
        #expect(events.pieces == ["ab", "c"] && events.headers == ["X": "1", "Transfer-Encoding": "chunked"])
        let message = try await mocked(mock(reply)).get("x").response()
        #expect(message.text == "abc" && message.trailers == ["Y": "2"])
    }

    @Test("HEAD, 204 and 304 have no body")
    func bodiless() async throws {
        let head = try await mock(.text("hello")).events(.head)
        #expect(head.headers["content-length"] == "5" && head.pieces == [])
        for status in [204, 304] {
            for reply in [Reply.text("hello", status: status), .chunked([Data("hello".utf8)], status: status)] {
                let events = try await mock(reply).events()
                #expect(events.heads == [status] && events.pieces == [])
                #expect(!events.headers.contains("content-length") && !events.headers.contains("transfer-encoding"))
            }
        }
    }

    @Test("a Content-Length that the test sets is kept, and a wrong one is detected", arguments: ["3", "9"])
    func lyingLength(length: String) async throws {
        let mock = mock(.text("hello", headers: ["Content-Length": length]))
        #expect(try await mock.events().headers["content-length"] == length)
        let error = await #expect(throws: NessError.self) { _ = try await mocked(mock).get("x").dataRequest().value }
        #expect(error?.kind == .truncated)
        #expect(error?.response?.text == "hello")
    }

    @Test("a handler sees the request's body, and the body's header fields unless the request sets them")
    func requestBody() async throws {
        let mock = MockTransport()
        mock.on(.post, "/x") { request in .text("\(request.bodyText) \(request.headers["X"] ?? "-") \(request.target)") }
        let body = HTTPBody(Data("hello".utf8), headers: ["Content-Type": "text/a", "X": "body"])
        let events = try await mock.events(.post, "https://a/x?q=%20", body: body)
        #expect(events.sent == [5] && events.pieces == ["hello body /x?q=%20"])
        var request = HTTPRequest(.post, url: try #require(URL(string: "https://a/x")), headers: ["x": "own"], body: body)
        try await mock.send(request) { _ in }
        request.body = HTTPBody(Data())
        try await mock.send(request) { if case .sent = $0 { Issue.record("nothing was sent") } }
        #expect(mock.received.map(\.headers) == [body.headers, ["x": "own", "Content-Type": "text/a"], ["x": "own"]])
        #expect(mock.received.map(\.target) == ["/x?q=%20", "/x", "/x"])
        #expect(mock.received.map(\.requestNumberOnConnection) == [1, 2, 3] && mock.received.map(\.number) == [1, 2, 3])
        #expect(mock.received[0].url == mock.requests[0].url)
        #expect(mock.requests[1].headers == ["x": "own"] && mock.requests[1].body == body)
    }

    @Test("a file that became shorter than announced fails like over a network, and is not recorded as a shorter body")
    func cutFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("hello".utf8).write(to: file)
        let body = try await HTTPBody(file: file).resolved(), mock = mock(.status(200))
        #expect(try await mock.events(.post, body: body).sent == [5])
        try Data("hell".utf8).write(to: file)
        let error = await #expect(throws: TransportError.self) { try await mock.events(.post, body: body) }
        #expect(error?.kind == .invalidRequest && mock.received.map(\.bodyText) == ["hello"])
    }

    @Test("a failure ends the exchange with that error", arguments: [TransportError.connectionLost, .timedOut, .offline, .tls, .truncated])
    func failure(error: TransportError) async throws {
        let thrown = await #expect(throws: TransportError.self) { _ = try await mock(.failure(error)).events() }
        #expect(thrown?.kind == error.kind)
    }

    @Test("an error that a handler throws reaches the caller unchanged")
    func handlerThrows() async throws {
        let mock = MockTransport()
        mock.on(.get, "/broken") { _ in throw Broken() }
        mock.on(.get, "/lost") { _ in throw TransportError.connectionLost }
        await #expect(throws: Broken.self) { _ = try await mocked(mock).get("broken").dataRequest().value }
        await #expect(throws: NessError.self) { _ = try await mocked(mock).get("lost").dataRequest().value }
    }

    @Test("an error that receive throws ends the exchange")
    func receiveThrows() async throws {
        let mock = mock(.chunked([Data("a".utf8), Data("b".utf8)]))
        let count = Lock(0)
        await #expect(throws: Broken.self) {
            try await mock.send(HTTPRequest(url: try #require(URL(string: "https://a/")))) { event in
                count.withLock { $0 += 1 }
                if case .body = event { throw Broken() }
            }
        }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("a reply that no transport could report fails with an error that says why")
    func impossible() async throws {
        for (reply, reason) in [(Reply.script([.reset]), "TestServer"), (.status(103), "103"), (.status(0), "0"), (.status(1000), "1000")] {
            let error = await #expect(throws: MockTransportError.self) { try await mocked(mock(reply)).get("x").response() }
            #expect(error?.description.contains(reason) == true)
        }
    }

    @Test("a changed reply keeps its delay, and adding a field to a reply without a header changes nothing")
    func adding() async throws {
        let clock = ManualClock(advancesAutomatically: true)
        let reply = Reply.text("x").delayed(by: .seconds(1)).adding("1", for: "X").delayed(by: .seconds(2)).delayed(by: .seconds(-9))
        #expect(try await mock(reply, clock: clock).events().headers["X"] == "1")
        #expect(clock.sleeps == [.seconds(3)])
        await #expect(throws: TransportError.self) { _ = try await mock(.failure(.timedOut).adding("1", for: "X")).events() }
        let chunked = Reply.chunked([Data("a".utf8)]).adding("1", for: "X")
        #expect(try await mock(chunked).events().headers["X"] == "1")
    }
}
