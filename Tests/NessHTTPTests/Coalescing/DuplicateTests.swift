import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// A handler that forwards to another one, and counts its calls.
struct CountingHandler: DuplicatedHandler {
    let tally = Tally()
    let asked = Log<DuplicatedRequest>()
    let decision: RequestDuplicatedDecision

    init(_ decision: RequestDuplicatedDecision = .useBothCompletion) { self.decision = decision }

    func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        tally.enter()
        asked.add(duplicate)
        return decision
    }
}

/// Lets a number of duplicates join, and refuses the others.
final class LimitedJoining: DuplicatedHandler {
    private let limit: Int
    private let tally = Tally()
    private let callerCounts = Log<Int>()

    init(_ limit: Int) { self.limit = limit }

    func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        let isTaken = tally.enter() < limit
        callerCounts.add(duplicate.callerCount)
        return isTaken ? .useBothCompletion : .ignoreCurrentCompletion
    }

    /// Waits until all of them have joined: a handler decides before the caller joins, and the next one is told how many have.
    func waitUntilJoined(by request: RequestBuilder) async {
        await callerCounts.wait(for: limit)
        while callerCounts.entries.last != limit + 1 { #expect(await request.dataRequest().nessError()?.kind == .duplicate) }
    }
}

@Suite("Duplicates", .inTurn)
struct DuplicateTests {
    @Test(
        "a thousand equal requests are one on the wire; the last remaining caller gets the result")
    func aThousandAreOne() async throws {
        let gate = TestGate(), handler = CountingHandler(), wire = ReceiveGates()
        try await withServer { _ in
            await gate.wait()
            return .text("one")
        } configure: {
            $0.duplicatedHandler = handler
            wire.install(in: &$0)
        } _: { server, ness in
            let promises = (0..<1_000).map { _ in ness.httpRequest(withUrl: "x").dataRequest() }
            await handler.tally.wait(for: 999)
            // A request that the handler was asked about need not have joined yet.
            await wire.changed.wait { promises.last?.status.text.hasPrefix("running") == true }
            for promise in promises.dropLast() { promise.drop() }
            gate.open()
            let text = try await promises.last?.value.message.text
            #expect(text == "one")
            for promise in promises.dropLast() { #expect(await promise.nessError()?.kind == .dropped) }
            #expect(server.requestCount == 1)
        }
    }

    @Test("when all callers are dropped, the connection closes") func whenAllAreDroppedTheWireIsClosed() async throws {
        let gate = TestGate(), handler = LimitedJoining(9)
        try await withServer { _ in
            await gate.wait()
            return .text("one")
        } configure: {
            $0.duplicatedHandler = handler
        } _: { server, ness in
            let promises = (0..<10).map { _ in ness.httpRequest(withUrl: "x").dataRequest() }
            await handler.waitUntilJoined(by: ness.httpRequest(withUrl: "x"))
            await server.waitUntil { $0.requestCount == 1 }
            #expect(server.openConnections == 1)
            for promise in promises { promise.drop() }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            gate.open()
            // A new caller starts a new exchange.
            let text = try await ness.httpRequest(withUrl: "x").dataRequest().value.message.text
            #expect(text == "one")
            #expect(server.requestCount == 2)
        }
    }

    @Test(
        "without a handler only GET, HEAD and OPTIONS share an exchange",
        arguments: [HTTPMethod.get, .head, .options, .post, .put, .delete, .patch])
    func theDefault(method: HTTPMethod) async throws {
        let gate = TestGate(), wire = ReceiveGates(), isSafe = [.get, .head, .options].contains(method)
        let rig = Rig { wire.install(in: &$0) }
        rig.mock.on(method, "/x") { _ in
            await gate.wait()
            return .status(200)
        }
        let promises = (0..<3).map { _ in rig.ness.httpRequest(method, withUrl: "x").dataRequest() }
        await wire.changed.wait { promises.allSatisfy { $0.status.text.hasPrefix("running") } }
        gate.open()
        for promise in promises { _ = try await promise.value }
        #expect(rig.mock.requests.count == (isSafe ? 1 : 3))
    }

    @Test("progress reaches every caller of a shared exchange, even a late one") func progressReachesEveryCaller() async throws {
        let gate = TestGate(), handler = CountingHandler(), body = Data(count: 4_000), wire = ReceiveGates()
        try await withServer { _ in
            .script([
                .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 4000\r\n\r\n"), .sendData(body.prefix(1_000)), .wait(gate),
                .sendData(body.dropFirst(1_000)), .close,
            ])
        } configure: {
            $0.duplicatedHandler = handler
            wire.install(in: &$0)
        } _: { _, ness in
            let early = (0..<5).map { _ in ness.httpRequest(withUrl: "x").dataRequest() }
            await wire.changed.wait { early.allSatisfy { $0.progress.completedBytes == 1_000 } }
            // A late caller is notified of the progress so far.
            let late = ness.httpRequest(withUrl: "x").dataRequest()
            await wire.changed.wait { late.progress.completedBytes == 1_000 }
            #expect((early + [late]).allSatisfy { $0.progress.totalBytes == 4_000 && $0.status.text == "running 0.25" })
            gate.open()
            for promise in early + [late] {
                let count = try await promise.value.responseData.count
                #expect(count == 4_000)
                #expect(promise.progress.fractionCompleted == 1)
            }
        }
    }

    @Test("each caller of a shared exchange has its own validators") func eachCallerHasItsOwnValidators() async throws {
        let rig = Rig { $0.duplicatedHandler = DefaultDuplicatedHandler.keepAllCompletion }, gate = TestGate(), handler = CountingHandler()
        rig.ness.duplicatedHandler = handler
        rig.mock.on(.get, "/x") { _ in
            await gate.wait()
            return .json(User(id: 1, name: "a"), status: 404)
        }
        // A decoding request has `Accept: application/json`. The others need it, too, to be equal.
        let request = rig.ness.httpRequest(withUrl: "x").set(headers: ["Accept": "application/json"])
        let any = request.dataRequest()
        let strict = request.validate(statusCode: 200).dataRequest()
        let typed = request.validate(statusCode: 404).dataRequest(decoding: User.self)
        await handler.tally.wait(for: 2)
        gate.open()
        #expect(try await any.value.message.statusCode == 404)
        #expect(await strict.nessError()?.kind == .validation)
        #expect(await typed.nessError()?.kind == .validation)
        #expect(rig.mock.requests.count == 1)
    }

    // MARK: identity

    /// Returns true if a request counts as a duplicate of another.
    private func isMerged(
        ignoring names: [String] = [], _ first: (Ness) -> RequestBuilder, _ second: (Ness) -> RequestBuilder
    ) async throws -> Bool {
        let gate = TestGate(), handler = CountingHandler(), wire = ReceiveGates()
        let mock = MockTransport(onUnmatched: .reply(.status(200)))
        let transport = FakeTransport { request, receive in
            await gate.wait()
            try await mock.send(request) { _ in }
            try await receive(.head(statusCode: 200, headers: [:]))
        }
        let ness = Ness {
            $0.transport = transport
            $0.duplicatedHandler = handler
            $0.headersIgnoredInDuplicates = names
            wire.install(in: &$0)
        }
        let one = first(ness).dataRequest()
        await wire.changed.wait { one.status.text.hasPrefix("running") }
        let other = second(ness).dataRequest()
        await wire.changed.wait { other.status.text.hasPrefix("running") }
        gate.open()
        _ = try await (one.value, other.value)
        #expect(mock.requests.count == 2 - handler.tally.total)
        return handler.tally.total == 1
    }

    @Test(
        "equal URLs are duplicates, however they are spelled",
        arguments: [
            ("https://a.test/x", "https://a.test/x", true), ("https://A.Test/x", "HTTPS://a.test:443/x", true),
            ("http://a.test", "http://a.test:80/", true), ("https://a.test/x#1", "https://a.test/x", true),
            ("https://a.test/x", "https://a.test/X", false), ("https://a.test/x", "https://a.test/x/", false),
            ("https://a.test/x?a=1", "https://a.test/x?a=2", false), ("https://a.test/x?a=1&b=2", "https://a.test/x?b=2&a=1", false),
            ("https://a.test/x", "https://b.test/x", false), ("https://a.test/x", "http://a.test/x", false),
            ("https://a.test/x", "https://a.test:444/x", false),
        ]) func theURL(first: String, second: String, isEqual: Bool) async throws
    {
        #expect(
            try await isMerged {
                $0.httpRequest(withUrl: first)
            } _: {
                $0.httpRequest(withUrl: second)
            } == isEqual)
    }

    @Test("requests differ by method, header fields and body, but not by time limits and priority")
    func theMethodTheHeadersAndTheBody() async throws {
        let address = "https://a.test/x"
        func get(_ headers: HTTPHeaders) -> (Ness) -> RequestBuilder { { $0.httpRequest(withUrl: address).set(headers: headers) } }
        func post(_ body: String) -> (Ness) -> RequestBuilder { { $0.httpRequest(.post, withUrl: address).set(stringBody: body) } }
        func urgent(_ builder: RequestBuilder) -> RequestBuilder { builder.set(priority: .high) }
        func patient(_ builder: RequestBuilder) -> RequestBuilder { builder.set(timeout: .seconds(99), deadline: .seconds(99)) }
        let merged = [
            try await isMerged(get(["Accept": "a", "X": "1"]), get(["x": "1", "accept": "a"])), try await isMerged(post("a"), post("a")),
            try await isMerged(get([:])) { patient($0.httpRequest(withUrl: address)) },
            try await isMerged(get([:])) { urgent($0.httpRequest(withUrl: address)) },
            try await isMerged(ignoring: ["x-TRACE"], get(["X-Trace": "1"]), get(["x-trace": "2"])),
        ]
        #expect(merged == [true, true, true, true, true])
        let separate = [
            try await isMerged(get([:]), { $0.httpRequest(.head, withUrl: address) }),
            try await isMerged(get(["Accept": "a"]), get(["Accept": "b"])), try await isMerged(get(["Accept": "a"]), get([:])),
            try await isMerged(get(["X-Trace": "1"]), get(["X-Trace": "2"])), try await isMerged(post("a"), post("b")),
        ]
        #expect(separate == [false, false, false, false, false])
    }

    @Test("a request with a closure for redirects is never a duplicate") func aRedirectPolicyThatDecidesEqualsNoOther() async throws {
        func get(_ policy: RedirectPolicy) -> (Ness) -> RequestBuilder {
            { $0.httpRequest(withUrl: "https://a.test/x").set(redirects: policy) }
        }
        let decides = get(.decide(limit: 3) { _ in .follow })
        let merged = [
            try await isMerged(decides, decides), try await isMerged(get(.stop), get(.stop)),
            try await isMerged(get(.stop), get(.follow())),
        ]
        #expect(merged == [false, true, false])
    }
}
