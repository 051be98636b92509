import Foundation
import NessHTTP
import NessTesting
import Testing

/// Tests routes that answer as a broken server does.
@Suite(.inTurn) struct MockTransportMisbehaviourTests {
    /// Sends a GET and returns its error.
    private func failure(_ ness: Ness, _ url: String = "x") async -> NessError? {
        await #expect(throws: NessError.self) { _ = try await ness.get(url).dataRequest().value }
    }

    @Test(
        "a route shows the named misbehaviour, and the manager reports it",
        arguments: [
            ("reset-in-body", NessError.Kind.connectionLost), ("length-too-long", .truncated), ("chunked-nothing", .truncated),
            ("garbage-status-line", .malformedResponse), ("reset-at-once", .connectionLost),
        ])
    func named(name: String, kind: NessError.Kind) async throws {
        let mock = MockTransport()
        mock.on(.get, "films/1", misbehaving: name)
        mock.on(.get, "films/2") { _ in .text("fine") }
        let ness = mocked(mock) { $0.baseURL = URL(string: "https://me:pass@mock.test/v1/") }
        let error = await failure(ness, "films/1?q=1")
        #expect(error?.kind == kind, "\(error as Any)")
        #expect(error?.request?.url.host == "mock.test")
        #expect(try await ness.get("films/2").text() == "fine")
        #expect(mock.requests.map(\.url.path) == ["/v1/films/1", "/v1/films/2"])
    }

    @Test("a silent server takes no real time: the timeout is by the manager's clock")
    func hang() async throws {
        let mock = MockTransport()
        let clock = ManualClock()
        let received = TestGate()
        mock.on(.get, "x", misbehaving: Misbehaviour("silent", "Never answers.", expecting: .timesOut) { _ in
            [.receiveRequest, .signal(received), .stall]
        })
        let promise = mocked(mock) { $0.clock = clock }.get("x").dataRequest()
        await received.wait()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: NessError.self) { try await promise.value }
        #expect(error?.kind == .timedOut)
    }

    @Test("a server of a route sees path, query, header and body of the request, on connections of its own")
    func ownSteps() async throws {
        let mock = MockTransport()
        let echo = Misbehaviour("echo", "Answers with the request.", expecting: .anyFailure) { connection in
            [
                .serve { request in
                    .text("\(connection.number) \(request.requestNumberOnConnection) \(request.target) \(request.headers["A"] ?? "") \(request.bodyText)")
                }
            ]
        }
        mock.on(.put, "echo/*", misbehaving: echo)
        let ness = mocked(mock)
        func text(_ url: String) async throws -> String {
            try await ness.put(url).set(header: "A", to: "1").set(stringBody: "abc").response().text
        }
        #expect(try await text("echo/a%2Fb?q=%20").hasSuffix(" 1 /echo/a%2Fb?q=%20 1 abc"))
        #expect(try await text("echo").hasSuffix(" /echo 1 abc"))
    }

    @Test("a misbehaviour over several requests happens over those of the route")
    func severalRequests() async throws {
        let misbehaviour = try #require(Misbehaviour.all.first { $0.requestCount == 2 && $0.name == "cut-on-reuse" })
        let mock = MockTransport()
        mock.on(.get, "x", misbehaving: misbehaviour)
        let ness = mocked(mock)
        _ = try await ness.get("x").dataRequest().value
        let error = await failure(ness)
        #expect(error?.kind == .truncated, "\(error as Any)")
    }

    @Test("one request can misbehave, whatever its manager's transport is")
    func oneRequest() async throws {
        let mock = MockTransport()
        mock.on(.get, "x") { _ in .text("fine") }
        let ness = mocked(mock)
        let builder = ness.get("x").mock(misbehaving: "length-too-long")
        let error = await #expect(throws: NessError.self) { try await builder.dataRequest().value }
        #expect(error?.kind == .truncated && mock.requests.isEmpty)
        #expect(try await ness.get("x").text() == "fine")
        let own = Misbehaviour("own", "Answers.", expecting: .anyFailure) { _ in [.receiveRequest, .respond(.text("own"))] }
        #expect(try await ness.get("x").mock(misbehaving: own).text() == "own")
        await #expect(throws: MockTransportError.self) { _ = try await ness.get("x").mock(misbehaving: "none").response() }
    }

    @Test("an unknown name fails every request, and similar names are suggested")
    func unknown() async throws {
        let mock = MockTransport()
        let route = mock.on(.get, "x", misbehaving: "reset-in-bodi")
        mock.on(.get, "y") { _ in .text("y") }
        let ness = mocked(mock)
        let error = await #expect(throws: MockTransportError.self) { _ = try await ness.get("y").dataRequest().value }
        #expect(error?.description.contains("there is no misbehaviour \"reset-in-bodi\"; did you mean reset-in-body") == true, "\(error as Any)")
        route.remove()
        #expect(try await ness.get("y").text() == "y")
    }

    @Test("the server of a route ends with the route and with the manager")
    func lifetime() async throws {
        for end in ["remove", "removeAll", "shutdown"] {
            let mock = MockTransport()
            let closed = TestGate()
            let received = TestGate()
            let misbehaviour = Misbehaviour("own", "Waits.", expecting: .timesOut) { _ in [.receiveRequest, .signal(received), .stall] }
            let route = mock.on(.get, "x", misbehaving: misbehaviour)
            let ness = mocked(mock)
            let promise = ness.get("x").dataRequest()
            await received.wait()
            promise.drop()
            switch end {
            case "remove": route.remove()
            case "removeAll": mock.removeAll()
            default: await ness.shutdown(within: .zero)
            }
            closed.open()
            await #expect(throws: (any Error).self) { _ = try await mock.events(.get, "https://mock.test/x") }
        }
    }
}
