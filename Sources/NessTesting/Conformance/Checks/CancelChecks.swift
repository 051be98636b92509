import Foundation
import NessHTTP

extension TransportConformance {
    /// Cancels an exchange at a moment, and checks its end, its connection and the next exchange.
    /// - Parameters:
    ///   - steps: Makes the server's steps. The last one ends only with the connection. The gate is one for each exchange.
    ///   - scheme: The scheme of the request; `nil` for the server's own.
    ///   - moment: Suspends until the exchange is to be canceled.
    private static func expectCancelled(
        _ steps: (TestGate) -> [ConnectionStep], isSecure: Bool = false, scheme: String? = nil, in context: CheckContext,
        at moment: (CheckedExchange, TestGate) async -> Void
    ) async throws {
        for (method, body) in methods {
            let gate = TestGate(), script = steps(gate)
            let server = try await context.serve(isSecure: isSecure, script: { _ in script })
            let url = try context.url("\(scheme ?? server.url.scheme ?? "http")://127.0.0.1:\(server.port)/")
            let exchange = context.start(HTTPRequest(method, url: url, body: body))
            await moment(exchange, gate)
            exchange.cancel()
            context.expectCancelled("\(method)", await exchange.end())
            await context.untilIdle(server)
            try await context.expectWorking()
        }
    }

    /// Cancellation at every moment of an exchange.
    static let cancelChecks: [Check] = [
        Group.cancel.check("before-start", "A task that was canceled before it calls `send` gets CancellationError, and sends nothing.") {
            context in
            let server = try await context.serve { _ in .text("fine") }
            for (method, body) in methods {
                let start = TestGate()
                let exchange = context.start(try context.request(method, to: server, "/cancelled", body: body), after: start)
                exchange.cancel()
                start.open()
                context.expectCancelled("\(method)", await exchange.end())
            }
            context.expect("the next exchange", await context.run(try context.request(to: server, "/next")), gives: 200, "fine")
            context.expect("the targets", server.requests.map(\.target), equals: ["/next"])
        },
        Group.cancel.check("in-handshake", "A cancellation in the TLS handshake ends the exchange, and closes the connection.") { context in
            try await expectCancelled({ [.receive(bytes: 1), .signal($0), .stall] }, scheme: "https", in: context) { await $1.wait() }
        },
        Group.cancel.check("before-head", "A cancellation before the head ends the exchange without waiting for the server.") { context in
            try await expectCancelled({ [.receiveRequest, .signal($0), .stall] }, in: context) { await $1.wait() }
        },
        Group.cancel.check("in-head", "A cancellation inside the head ends the exchange, and closes the connection.") { context in
            try await expectCancelled(
                { [.receiveRequest, .send(ok + "Content-Length: 10\r\nX-Unfini"), .signal($0), .stall] }, in: context
            ) { await $1.wait() }
        },
        Group.cancel.check("in-body", "A cancellation inside the body ends the exchange, and closes the connection.") { context in
            for start in ["Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "X-A: b\r\n\r\nhello"] {
                try await expectCancelled({ _ in [.receiveRequest, .send(ok + start), .stall] }, in: context) { exchange, _ in
                    await exchange.wait { $0.body.count == 5 }
                }
            }
        },
        Group.cancel.check("in-flood", "A cancellation ends a body that arrives at full speed.") { context in
            let flood = ConnectionStep.sendUntilClosed(Data(repeating: 7, count: 1 << 16))
            try await expectCancelled({ _ in [.receiveRequest, .send(ok + "\r\n"), flood] }, in: context) { exchange, _ in
                await exchange.wait { $0.body.count > 1 << 20 }
            }
        },
        Group.cancel.check("in-body-secure", "Over TLS, a cancellation inside the body closes the connection.", needsAuthority: true) {
            context in
            try await expectCancelled({ _ in half }, isSecure: true, in: context) { exchange, _ in
                await exchange.wait { $0.body.count == 5 }
            }
        },
        Group.cancel.check("in-upload", "A cancellation ends an upload to a server that does not read, without waiting for it.") {
            context in
            for method in [HTTPMethod.post, .put] {
                let reached = TestGate(), goOn = TestGate()
                let server = try await context.serve(script: { _ in [.receiveHead, .signal(reached), .wait(goOn), .stall] })
                let body = HTTPBody(Data(count: 64 << 20))
                let exchange = context.start(try context.request(method, to: server, body: body))
                await reached.wait()
                exchange.cancel()
                context.expectCancelled("\(method)", await exchange.end())
                // The transport performs a later request after the cancellation. Until then it may still send what the server reads.
                try await context.expectWorking()
                // The end of the stream lies behind the bytes that the system still holds.
                goOn.open()
                await context.untilIdle(server)
                let received = server.statistics.bytesReceived
                context.expect(received < 64 << 20, "\(method): expected less than the body, got \(received) bytes")
            }
        },
        Group.cancel.check("no-late-event", "After `send` has thrown, `receive` is not called.") { context in
            let goOn = TestGate()
            let server = try await context.serve(script: { _ in half.dropLast() + [.wait(goOn), .send("world"), .close] })
            let exchange = context.start(try context.request(to: server))
            await exchange.wait { $0.body.count == 5 }
            exchange.cancel()
            context.expectCancelled("the end", await exchange.end())
            goOn.open()
            await context.untilIdle(server)
            try await context.expectWorking()
            await context.transport.shutdown()
            context.expect("the number of late events", exchange.record.lateCount, equals: 0)
        },
    ]
}
