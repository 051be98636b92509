import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests routes that answer as a broken server does.
@Suite(.inTurn) struct MockTransportMisbehaviorTests {
    /// Sends a GET and returns its error.
    private func failure(_ ness: Ness, _ url: String = "x") async -> NessError? {
        await #expect(throws: NessError.self) { _ = try await ness.get(url).dataRequest().value }
    }

    @Test(
        "a route shows the named misbehavior, and the manager reports it",
        arguments: [
            ("reset-in-body", NessError.Kind.connectionLost), ("length-too-long", .truncated), ("chunked-nothing", .truncated),
            ("garbage-status-line", .malformedResponse), ("reset-after-request", .connectionLost),
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
        let silent = Misbehavior("silent", "Never answers.", expecting: .timesOut) { _ in [.receiveRequest, .signal(received), .stall] }
        mock.on(.get, "x", misbehaving: silent)
        let promise = mocked(mock) { $0.clock = clock }.get("x").dataRequest()
        await received.wait()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: NessError.self) { try await promise.value }
        #expect(error?.kind == .timedOut)
    }

    @Test("a server of a route sees path, query, header fields and body of the request")
    func ownSteps() async throws {
        let mock = MockTransport()
        let echo = Misbehavior("echo", "Answers with the request.", expecting: .anyFailure) { _ in
            [
                .serve { request in
                    .text("\(request.target) \(request.headers["A"] ?? "") \(request.headers["Host"] ?? "") \(request.bodyText)")
                }
            ]
        }
        mock.on(.put, "echo/*", misbehaving: echo)
        let ness = mocked(mock)
        func text(_ url: String) async throws -> String {
            try await ness.put(url).set(header: "A", to: "1").set(stringBody: "abc").response().text
        }
        for target in ["/echo/a%2Fb?q=%20", "/echo"] {
            let answer = try await text(String(target.dropFirst()))
            #expect(answer.hasPrefix("\(target) 1 127.0.0.1:") && answer.hasSuffix(" abc"), "\(answer)")
        }
    }

    @Test("a misbehavior over several requests happens over those of the route")
    func severalRequests() async throws {
        let misbehavior = try #require(Misbehavior.all.first { $0.requestCount == 2 && $0.name == "cut-on-reuse" })
        let mock = MockTransport()
        mock.on(.get, "x", misbehaving: misbehavior)
        let ness = mocked(mock)
        _ = try await ness.get("x").dataRequest().value
        let error = await failure(ness)
        #expect(error?.kind == .truncated, "\(error as Any)")
    }

    @Test("one request can misbehave, regardless of its manager's transport")
    func oneRequest() async throws {
        let mock = MockTransport()
        mock.on(.get, "x") { _ in .text("fine") }
        let ness = mocked(mock)
        let builder = ness.get("x").mock(misbehaving: "length-too-long")
        let error = await #expect(throws: NessError.self) { try await builder.dataRequest().value }
        #expect(error?.kind == .truncated && mock.requests.isEmpty)
        #expect(try await ness.get("x").text() == "fine")
        let own = Misbehavior("own", "Answers.", expecting: .anyFailure) { _ in [.receiveRequest, .respond(.text("own"))] }
        #expect(try await ness.get("x").mock(misbehaving: own).text() == "own")
        await #expect(throws: MockTransportError.self) { _ = try await ness.get("x").mock(misbehaving: "none").response() }
    }

    @Test("a host with pinned keys can misbehave")
    func pinned() async throws {
        let mock = MockTransport()
        mock.on(.get, "x", misbehaving: "length-too-long")
        let key = "sha256//" + Data(repeating: 1, count: 32).base64EncodedString()
        let ness = mocked(mock) { $0.serverTrust = .pinned(["mock.test": .publicKeys([key])]) }
        let error = await failure(ness)
        #expect(error?.kind == .truncated, "\(error as Any)")
        let own = await #expect(throws: NessError.self) { _ = try await ness.get("x").mock(misbehaving: "length-too-long").data() }
        #expect(own?.kind == .truncated, "\(own as Any)")
    }

    @Test("an unknown name fails every request, and similar names are suggested")
    func unknown() async throws {
        let mock = MockTransport()
        let route = mock.on(.get, "x", misbehaving: "reset-in-bodi")
        mock.on(.get, "y") { _ in .text("y") }
        let ness = mocked(mock)
        let error = await #expect(throws: MockTransportError.self) { _ = try await ness.get("y").dataRequest().value }
        let reason = "there is no misbehavior \"reset-in-bodi\"; did you mean \"reset-in-body\"?"
        #expect(error?.description.contains(reason) == true, "\(error as Any)")
        route.remove()
        #expect(try await ness.get("y").text() == "y")
    }

    @Test("the server of a route ends with the route", arguments: [true, false])
    func removal(removesAll: Bool) async throws {
        let gone = TestGate()
        let mock = MockTransport()
        let route = await usedRoute(in: mock, gone)
        if removesAll { mock.removeAll() } else { route.remove() }
        await gone.wait()
        await #expect(throws: UnmatchedRequest.self) { _ = try await mock.events() }
    }

    @Test("the server of a route ends with the mock")
    func release() async throws {
        let gone = TestGate()
        var mock: MockTransport? = MockTransport()
        if let mock { _ = await usedRoute(in: mock, gone) }
        mock = nil
        await gone.wait()
    }

    @Test("a manager that is shut down ends the server")
    func shutdown() async throws {
        let mock = MockTransport()
        _ = await usedRoute(in: mock, TestGate())
        await mocked(mock).shutdown(within: .zero)
        await #expect(throws: TransportError.self) { _ = try await mock.events() }
    }

    /// Adds a route whose server has read a request that was then dropped.
    /// - Parameter gone: A gate that opens when the server has ended.
    private func usedRoute(in mock: MockTransport, _ gone: TestGate) async -> MockTransport.Route {
        let received = TestGate()
        let witness = Witness(gone)
        let silent = Misbehavior("silent", "Never answers.", expecting: .timesOut) { _ in
            withExtendedLifetime(witness) { [.receiveRequest, .signal(received), .stall] }
        }
        let route = mock.on(.get, "x", misbehaving: silent)
        let promise = mocked(mock).get("x").dataRequest()
        await received.wait()
        promise.drop()
        return route
    }
}
