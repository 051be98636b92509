import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct RequestMockTests {
    /// Makes a manager whose own transport must not be used.
    private func unreachable(_ configure: (inout Ness.Configuration) -> Void = { _ in }) -> (Ness, MockTransport) {
        let mock = MockTransport()
        return (mocked(mock, configure: configure), mock)
    }

    @Test("one request can be mocked, regardless of its manager's transport")
    func replies() async throws {
        let (ness, mock) = unreachable()
        let builder = ness.post("x").set(stringBody: "abc").mock(.status(503), .text("second"))
        let text = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value.message.text
        #expect(text == "second")
        // The last reply repeats, however often the builder is sent.
        #expect(try await builder.response().text == "second")
        #expect(mock.requests.isEmpty)
        await #expect(throws: UnmatchedRequest.self) { _ = try await ness.get("x").dataRequest().value }
    }

    @Test("the closure sees the request as it would be sent; the last mock counts")
    func handler() async throws {
        let (ness, _) = unreachable { $0.defaultHeaders = ["A": "1"] }
        let builder = ness.put("x?q=1").set(stringBody: "abc").mock(.status(500)).mock { request in
            .text("\(request.method) \(request.target) \(request.headers["A"] ?? "") \(request.bodyText)")
        }
        #expect(try await builder.response().text == "PUT /x?q=1 1 abc")
    }

    @Test("a mocked request follows redirects to its own mock, and shares no exchange")
    func redirects() async throws {
        let (ness, mock) = unreachable()
        let target = try #require(URL(string: "https://mock.test/other"))
        for policy in [RedirectPolicy.follow(), .decide { _ in .send(HTTPRequest(url: target)) }] {
            let builder = ness.get("x").set(redirects: policy)
                .mock(.status(302, headers: ["Location": "/y"]), .text("arrived"))
            #expect(try await builder.response().text == "arrived")
        }
        let builder = ness.get("x")
        let promises = ["a", "b", "c"].map { builder.mock(.text($0)).dataRequest() }
        #expect(try await Promise.all(promises).value.map(\.message.text) == ["a", "b", "c"])
        #expect(mock.requests.isEmpty)
    }

    @Test("delays are by the manager's clock; a mock without replies fails with an error that says so")
    func delays() async throws {
        let clock = ManualClock(advancesAutomatically: true)
        let (ness, _) = unreachable { $0.clock = clock }
        _ = try await ness.get("x").mock(.status(200).delayed(by: .seconds(9))).dataRequest().value
        #expect(clock.sleeps == [.seconds(9)])
        let control = CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: 1)
        await #expect(throws: MockTransportError.self) { try await ness.get("x").mock().dataRequest(with: control).value }
        #expect(clock.sleeps == [.seconds(9)])
    }

    @Test("a route may be for any method")
    func anyMethod() async throws {
        let mock = MockTransport()
        mock.on(nil, "/x") { .text($0.method.rawValue) }
        mock.on(.put, "/x") { _ in .text("its own") }
        #expect(try await mock.answer("https://mock.test/x") == "GET")
        #expect(try await mock.answer("https://mock.test/x", .delete) == "DELETE")
        #expect(try await mock.answer("https://mock.test/x", .put) == "its own")
    }

    @Test("a list of replies may end; then an earlier route replies, or the error names the used-up one")
    func ending() async throws {
        let mock = MockTransport()
        mock.on(.get, "/x", replies: [.text("1"), .text("2")], repeatsLast: false)
        #expect(try await mock.answer("https://mock.test/x") == "1")
        #expect(try await mock.answer("https://mock.test/x") == "2")
        let error = await #expect(throws: UnmatchedRequest.self) { try await mock.events() }
        #expect(error?.routes == ["GET /x (used up)"])
        mock.on(.get, "/*") { _ in .text("any") }
        mock.on(.get, "/x", replies: [.text("3")], repeatsLast: false)
        #expect(try await mock.answer("https://mock.test/x") == "3")
        #expect(try await mock.answer("https://mock.test/x") == "any")
    }

    @Test("a mistake in a mock fails immediately, and no retry control applies")
    func final() async throws {
        let mock = MockTransport()
        mock.on(.get, "/a/*/b") { _ in .status(200) }
        await #expect(throws: MockTransportError.self) {
            _ = try await mocked(mock).get("x").dataRequest(with: CounterRetryControl(maxRetryCount: 3)).value
        }
        #expect(mock.requests.count == 1)
    }

    @Test("recorded requests can be forgotten; numbers and lists of replies continue")
    func forgetting() async throws {
        let mock = MockTransport()
        mock.on(.get, "/x", replies: [.text("1"), .text("2")])
        _ = try await mock.events()
        mock.forgetRequests()
        #expect(mock.requests.isEmpty && mock.received.isEmpty)
        #expect(try await mock.answer("https://mock.test/x") == "2")
        #expect(mock.received.map(\.requestNumberOnConnection) == [2])
    }

    @Test("the closure sees the body of a sequence, which can then not be sent again")
    func sequence() async throws {
        let (ness, _) = unreachable()
        let (pieces, writer) = AsyncStream<Data>.makeStream()
        for piece in ["a", "b"] { writer.yield(Data(piece.utf8)) }
        writer.finish()
        let builder = ness.post("x").set(streamBody: pieces).mock { .text($0.bodyText) }
        #expect(try await builder.response().text == "ab")
        await #expect(throws: NessError.self) { _ = try await builder.dataRequest().value }
    }
}
