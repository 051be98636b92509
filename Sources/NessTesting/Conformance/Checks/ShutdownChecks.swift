import Foundation
import NessHTTP

extension TransportConformance {
    /// `Transport.shutdown()`.
    static let shutdownChecks: [Check] = [
        Group.shutdown.check("connections", "A shutdown closes all idle connections.") { context in
            let server = try await context.serve { _ in .text("fine") }
            for method in [HTTPMethod.get, .post, .get] { _ = await context.run(try context.request(method, to: server)) }
            await context.transport.shutdown()
            await server.waitUntil { $0.openConnections == 0 }
        },
        Group.shutdown.check("in-flight", "A shutdown ends the exchanges in flight, and closes their connections.") { context in
            let reached = TestGate()
            let server = try await context.serve { request in
                if request.path == "/head" { await TestGate().wait() }
                return .script([.send(ok + "Content-Length: 10\r\n\r\nhello"), .stall])
            }
            let deaf = try await context.serve(script: { _ in [.receiveHead, .signal(reached), .stall] })
            let exchanges = [
                context.start(try context.request(to: server, "/head")), context.start(try context.request(to: server, "/body")),
                context.start(try context.request(.post, to: deaf, body: HTTPBody(Data(count: 1 << 20)))),
            ]
            await server.waitUntil { $0.requestCount == 2 }
            await exchanges[1].wait { $0.body.count == 5 }
            await reached.wait()
            await context.transport.shutdown()
            for exchange in exchanges {
                let record = await exchange.end()
                context.expect(
                    record.isCancelled || record.transportError != nil,
                    "expected a TransportError or CancellationError, got \(record.summary)")
            }
            await server.waitUntil { $0.openConnections == 0 }
            await deaf.waitUntil { $0.openConnections == 0 }
        },
        Group.shutdown.check("later", "After a shutdown `send` throws a TransportError, and sends nothing.") { context in
            let server = try await context.serve { _ in .text("fine") }
            context.expect("before", await context.run(try context.request(to: server)), gives: 200, "fine")
            await context.transport.shutdown()
            for method in [HTTPMethod.get, .post] {
                context.expect(
                    "\(method)", await context.run(try context.request(method, to: server)), failsWith: TransportError.Kind.allCases)
            }
            context.expect("the number of requests", server.requestCount, equals: 1)
        },
        Group.shutdown.check("twice", "A transport can be shut down more than once, even concurrently.") { context in
            let server = try await context.serve { _ in .text("fine") }
            _ = await context.run(try context.request(to: server))
            let transport = context.transport
            async let first: Void = transport.shutdown()
            async let second: Void = transport.shutdown()
            _ = await (first, second)
            await transport.shutdown()
            await server.waitUntil { $0.openConnections == 0 }
        },
        Group.shutdown.check("unused", "A transport that was never used can be shut down.") { context in
            await context.transport.shutdown()
            let server = try await context.serve { _ in .text("fine") }
            context.expect("later", await context.run(try context.request(to: server)), failsWith: TransportError.Kind.allCases)
            context.expect("the number of requests", server.requestCount, equals: 0)
        },
    ]
}
