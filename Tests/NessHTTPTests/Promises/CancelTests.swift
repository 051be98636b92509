import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Drops at every point of a request's life: one end, at once, and the server sees the connection close.
@Suite(.inTurn) struct CancelTests {
    /// The kinds of request.
    enum Kind: String, CaseIterable, Sendable {
        case get, head, post

        func builder(_ ness: Ness, _ url: String) -> RequestBuilder {
            let builder = ness.httpRequest(.custom(rawValue.uppercased()), withUrl: url)
            return self == .get || self == .head ? builder : builder.set(stringBody: "content")
        }
    }

    /// Drops a request, expects one end by it and every connection of the server closed, and the manager to go on.
    private func drop(
        _ promise: DataPromise, _ ness: Ness, _ server: TestServer, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let witness = Witness(promise)
        promise.drop()
        #expect(promise.isCompleted, sourceLocation: sourceLocation)
        #expect(await witness.outcome() == ["dropped"], sourceLocation: sourceLocation)
        #expect(await server.waitUntil { $0.busyConnections == 0 }, sourceLocation: sourceLocation)
        try await expectAlive(ness, sourceLocation: sourceLocation)
        #expect(witness.ends == ["dropped"], sourceLocation: sourceLocation)
        if case .dropped = promise.status { return }
        Issue.record("\(promise.status)", sourceLocation: sourceLocation)
    }

    private func expectAlive(_ ness: Ness, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await serving({ .text($0.bodyText + "fine") }) { good in
            let response = try await ness.httpRequest(.post, withUrl: good.url).set(stringBody: "I am ").dataRequest().value.message
            #expect(response.text == "I am fine", sourceLocation: sourceLocation)
        }
    }

    @Test("a request that is dropped before it starts ends as dropped", arguments: Kind.allCases)
    func beforeStart(_ kind: Kind) async throws {
        // Nobody is answered before all are dropped, however long this thread is kept from going on.
        let allDropped = TestGate()
        try await serving({ request in
            await allDropped.wait()
            return .text(request.target)
        }) { server in
            let ness = Ness()
            let witnesses = (0..<50).map { _ in
                let promise = kind.builder(ness, server.at("/dropped")).dataRequest()
                promise.drop()
                #expect(promise.isCompleted && promise.status.text == "dropped")
                return Witness(promise)
            }
            allDropped.open()
            for witness in witnesses { #expect(await witness.outcome() == ["dropped"]) }
            try await expectAlive(ness)
        }
    }

    @Test("an invalid request that is dropped has one end")
    func invalid() async throws {
        for _ in 0..<50 {
            let promise = Ness().httpRequest(withUrl: "no scheme").dataRequest()
            let witness = Witness(promise)
            promise.drop()
            let ends = await witness.outcome()
            #expect(ends == ["dropped"] || ends == ["invalidRequest"], "\(ends)")
        }
    }

    @Test("a drop before the response's head ends the request and closes the connection", arguments: Kind.allCases)
    func beforeHead(_ kind: Kind) async throws {
        let received = TestGate()
        try await serving(script: { _ in [.receiveRequest, .signal(received), .stall] }) { server in
            let ness = Ness()
            let promise = kind.builder(ness, server.at("/")).dataRequest()
            await received.wait()
            try await drop(promise, ness, server)
            #expect(server.connectionCount == 1)
        }
    }

    @Test("a drop inside the response's head ends the request and closes the connection")
    func insideHead() async throws {
        let sent = TestGate()
        try await serving(script: { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\nX-Unfini"), .signal(sent), .stall]
        }) { server in
            let ness = Ness()
            let promise = ness.httpRequest(withUrl: server.url).dataRequest()
            await sent.wait()
            try await drop(promise, ness, server)
        }
    }

    /// A manager that tells of the events of the wire.
    private func tapped(_ tap: @escaping @Sendable (TransportEvent) -> Void) -> Ness {
        Ness { $0.transport = CountingTransport(tap) }
    }

    @Test(
        "a drop in the middle of the body ends the request and closes the connection", arguments: Kind.allCases.filter { $0 != .head },
        [true, false])
    func inBody(_ kind: Kind, _ isChunked: Bool) async throws {
        let half = TestGate()
        let start = isChunked ? "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" : "Content-Length: 10\r\n\r\nhello"
        try await serving(script: { _ in [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)" + start), .stall] }) { server in
            let ness = tapped { event in
                if case .body = event { half.open() }
            }
            let promise = kind.builder(ness, server.at("/")).dataRequest()
            await half.wait()
            #expect(promise.progress.completedBytes >= 5)
            try await drop(promise, ness, server)
        }
    }

    @Test("a drop in an endless body that arrives at full speed ends the request and closes the connection")
    func inFlood() async throws {
        let flowing = TestGate()
        try await serving(script: { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)\r\n"), .sendUntilClosed(Data(repeating: 7, count: 1 << 16))]
        }) { server in
            let ness = tapped { event in
                if case .body = event { flowing.open() }
            }
            let promise = ness.httpRequest(withUrl: server.url).dataRequest()
            await flowing.wait()
            try await drop(promise, ness, server)
        }
    }

    @Test("a drop ends a request whose large body waits for a server that does not read")
    func whileSending() async throws {
        let reached = TestGate(), goOn = TestGate()
        try await serving(script: { _ in [.receiveHead, .signal(reached), .wait(goOn), .stall] }) { server in
            let ness = Ness()
            let promise = ness.httpRequest(.post, withUrl: server.url).set(body: Data(count: 64 << 20)).dataRequest()
            await reached.wait()
            let witness = Witness(promise)
            promise.drop()
            #expect(await witness.outcome() == ["dropped"])
            // The end of the stream is behind what the system still holds.
            goOn.open()
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            #expect(server.requestCount == 0)
            try await expectAlive(ness)
            #expect(witness.ends == ["dropped"])
        }
    }

    @Test("a drop during a redirect's exchange ends the request and closes the connection", arguments: [302, 307])
    func inRedirect(_ status: Int) async throws {
        let reached = TestGate()
        try await serving({ request in
            if request.path == "/from" { return .status(status, headers: ["Location": "/to"]) }
            reached.open()
            await TestGate().wait()
            return .text("never")
        }) { server in
            let ness = Ness()
            let promise = ness.httpRequest(.post, withUrl: server.at("/from")).set(stringBody: "x").dataRequest()
            await reached.wait()
            try await drop(promise, ness, server)
        }
    }

    // MARK: inside the transport's events

    @Test("a request can be dropped from inside the handler of each transport event", arguments: ["sent", "head", "body"])
    func withinEvent(_ name: String) async throws {
        let running = Lock<DataPromise?>(nil), goOn = TestGate()
        try await serving(script: { _ in
            name == "sent"
                ? [.receiveHead, .wait(goOn), .stall]
                : [.receiveRequest, .wait(goOn), .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 5\r\n\r\nhello"), .stall]
        }) { server in
            let ness = tapped { event in
                let current =
                    switch event {
                    case .sent: "sent"
                    case .connection: "connection"
                    case .interim: "interim"
                    case .head: "head"
                    case .body: "body"
                    case .trailers: "trailers"
                    }
                guard current == name else { return }
                running.withLock { $0 }?.drop()
            }
            let promise = ness.httpRequest(.put, withUrl: server.url).set(body: Data(count: 16 << 20)).dataRequest()
            let witness = Witness(promise)
            running.withLock { $0 = promise }
            goOn.open()
            #expect(await witness.outcome() == ["dropped"])
            running.withLock { $0 = nil }
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            try await expectAlive(ness)
            #expect(witness.ends == ["dropped"])
        }
    }

    @Test("a request that is dropped right after the last byte has exactly one outcome")
    func afterLastByte() async throws {
        try await serving({ .text($0.target) }) { server in
            let ended = Lock<TestGate?>(nil)
            let ness = tapped { event in
                if case .body = event { ended.withLock { $0 }?.open() }
            }
            for round in 0..<100 {
                let gate = TestGate()
                ended.withLock { $0 = gate }
                let promise = ness.httpRequest(withUrl: server.at("/\(round)")).dataRequest()
                let witness = Witness(promise)
                await gate.wait()
                promise.drop()
                let ends = await witness.outcome()
                // The value may have come before; then the handler that had not started sees the drop.
                #expect(ends == ["dropped"] || ends == ["value"])
                #expect(promise.isCompleted)
            }
            try await expectAlive(ness)
        }
    }
}
