import Foundation
import NessHTTP

extension TransportConformance {
    /// Runs exchanges one after another, and expects few connections afterwards.
    private static func runInARow(_ count: Int, _ request: (method: HTTPMethod, body: HTTPBody?), in context: CheckContext) async throws {
        let server = try await context.serve { .text($0.target + $0.bodyText) }
        for number in 0..<count {
            let record = await context.run(try context.request(request.method, to: server, "/\(number)", body: request.body))
            context.expect("exchange \(number)", record, gives: 200, "/\(number)" + (request.body == nil ? "" : "content"))
        }
        await server.waitUntil { $0.openConnections <= 8 }
        context.expect("the number of requests", server.requestCount, equals: count)
    }

    /// Runs GETs one after another, and expects one connection.
    static func expectReuse(isSecure: Bool = false, in context: CheckContext) async throws {
        let server = try await context.serve(isSecure: isSecure) { _ in .text("fine") }
        for _ in 0..<50 { context.expect("the response", await context.run(try context.request(to: server)), gives: 200, "fine") }
        context.expect("the number of connections", server.connectionCount, equals: 1)
    }

    /// Many exchanges, concurrent and in a row.
    static let loadChecks: [Check] = [
        Group.load.check("at-once", "64 concurrent exchanges with one host each get their own response.") { context in
            let goOn = TestGate()
            let server = try await context.serve { request in
                await goOn.wait()
                return .text(request.target)
            }
            let exchanges = try (0..<64).map { context.start(try context.request(to: server, "/\($0)")) }
            await server.waitUntil { $0.requestCount == 64 }
            goOn.open()
            for (number, exchange) in exchanges.enumerated() {
                context.expect("exchange \(number)", await exchange.end(), gives: 200, "/\(number)")
            }
        },
        Group.load.check("in-a-row", "1,000 GETs in a row get their responses, and leave few connections open.") {
            try await runInARow(1_000, methods[0], in: $0)
        },
        Group.load.check("posts-in-a-row", "200 POSTs in a row get their responses, and leave few connections open.") {
            try await runInARow(200, methods[1], in: $0)
        },
        Group.load.check("reuse", "GETs in a row use one connection.") { try await expectReuse(in: $0) },
        Group.load.check("mixture", "120 concurrent exchanges, whose connections die, are neither lost nor doubled.") { context in
            let server = try await context.serve { request in
                request.requestNumberOnConnection == 1 ? .text(request.target + request.bodyText) : .script([.close])
            }
            let exchanges = try (0..<120).map { number in
                let (method, body) = methods[number % 2]
                return context.start(try context.request(method, to: server, "/\(number)", body: body))
            }
            for (number, exchange) in exchanges.enumerated() {
                let record = await exchange.end()
                if record.transportError?.kind == .connectionLost { continue }
                context.expect("exchange \(number)", record, gives: 200, "/\(number)" + (number.isMultiple(of: 2) ? "" : "content"))
            }
            let posts = server.requests.filter { $0.method == .post }
            context.expect("the POSTs that arrived twice", posts.count - Set(posts.map(\.target)).count, equals: 0)
        },
    ]
}
