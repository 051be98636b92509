import Foundation
import NessHTTP

extension TransportConformance {
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
        Group.load.check("in-a-row", "1,000 GETs in a row get their responses, and leave few connections open.") { context in
            let server = try await context.serve { .text($0.target) }
            for number in 0..<1_000 {
                context.expect(
                    "exchange \(number)", await context.run(try context.request(to: server, "/\(number)")), gives: 200, "/\(number)")
            }
            await server.waitUntil { $0.openConnections <= 8 }
            context.expect("the number of requests", server.requestCount, equals: 1_000)
        },
        Group.load.check("posts-in-a-row", "200 POSTs in a row get their responses, and leave few connections open.") { context in
            let server = try await context.serve { .text($0.bodyText) }
            for number in 0..<200 {
                let body = HTTPBody(Data("\(number)".utf8))
                context.expect(
                    "exchange \(number)", await context.run(try context.request(.post, to: server, body: body)), gives: 200, "\(number)")
            }
            await server.waitUntil { $0.openConnections <= 8 }
            context.expect("the number of requests", server.requestCount, equals: 200)
        },
        Group.load.check("reuse", "GETs in a row use one connection.") { context in
            let server = try await context.serve { _ in .text("fine") }
            for _ in 0..<50 { context.expect("the response", await context.run(try context.request(to: server)), gives: 200, "fine") }
            context.expect("the number of connections", server.connectionCount, equals: 1)
        },
        Group.load.check("mixture", "120 concurrent exchanges, whose connections die, are neither lost nor doubled.") { context in
            let server = try await context.serve { request in
                request.requestNumberOnConnection == 1 ? .text(request.target + request.bodyText) : .script([.close])
            }
            let exchanges = try (0..<120).map { number in
                let isPost = number.isMultiple(of: 2)
                let body = isPost ? HTTPBody(Data("content".utf8)) : nil
                return context.start(try context.request(isPost ? .post : .get, to: server, "/\(number)", body: body))
            }
            for (number, exchange) in exchanges.enumerated() {
                let record = await exchange.end()
                if record.transportError?.kind == .connectionLost { continue }
                context.expect("exchange \(number)", record, gives: 200, "/\(number)" + (number.isMultiple(of: 2) ? "content" : ""))
            }
            let posts = server.requests.filter { $0.method == .post }
            context.expect("the POSTs that arrived twice", posts.count - Set(posts.map(\.target)).count, equals: 0)
        },
    ]
}
