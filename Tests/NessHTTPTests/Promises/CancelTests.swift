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
        case get, post

        func builder(_ ness: Ness, _ url: String) -> RequestBuilder {
            let builder = ness.httpRequest(.custom(rawValue.uppercased()), withUrl: url)
            return self == .get ? builder : builder.set(stringBody: "content")
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

    /// A manager that tells of the events of the wire.
    private func tapped(_ tap: @escaping @Sendable (TransportEvent) -> Void) -> Ness {
        Ness { $0.transport = CountingTransport(tap) }
    }

    @Test(
        "a drop in the middle of the body ends the request and closes the connection", arguments: Kind.allCases,
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
}
