import Foundation
import NessHTTP

extension TransportConformance {
    /// A request whose arrivals are counted.
    private struct Sample: Sendable {
        let name: String
        let method: HTTPMethod
        var body: Data?
        var isIdempotent: Bool?
        /// The number of times that the request may arrive.
        var limit: Int { (isIdempotent ?? method.isIdempotent) ? 2 : 1 }

        func request(to server: TestServer, _ target: String, in context: CheckContext) throws -> HTTPRequest {
            var request = try context.request(method, to: server, target, body: body.map { HTTPBody($0) })
            if let isIdempotent { request.isIdempotent = isIdempotent }
            return request
        }
    }

    private static let content = Data("content".utf8)

    private static let once = [
        Sample(name: "POST with a body", method: .post, body: content), Sample(name: "POST", method: .post),
        Sample(name: "POST with an empty body", method: .post, body: Data()),
        Sample(name: "PATCH with a body", method: .patch, body: content),
        Sample(name: "BREW", method: .custom("BREW")), Sample(name: "GET that is not idempotent", method: .get, isIdempotent: false),
        Sample(name: "PUT that is not idempotent", method: .put, body: content, isIdempotent: false),
    ]

    private static let twice = [
        Sample(name: "GET", method: .get), Sample(name: "HEAD", method: .head), Sample(name: "OPTIONS", method: .options),
        Sample(name: "DELETE", method: .delete), Sample(name: "PUT with a body", method: .put, body: content),
        Sample(name: "POST that is idempotent", method: .post, body: content, isIdempotent: true),
    ]

    /// Responds to the first request of each connection, and ends the connection when it has the second one whole.
    private static func dying(_ end: ConnectionStep) -> TestServer.Handler {
        { request in
            request.requestNumberOnConnection == 1 ? .text(request.bodyText + "!") : .script([end])
        }
    }

    /// Sends requests over connections that die under them, and counts their arrivals.
    /// - Parameter width: The number of idle connections before each request.
    private static func countArrivals(
        of samples: [Sample], width: Int = 1, isSecure: Bool = false, in context: CheckContext
    ) async throws {
        for end in [ConnectionStep.close, .reset] {
            let answered = TestGate()
            let server = try await context.serve(isSecure: isSecure) { request in
                if request.path == "/together" { await answered.wait() }
                return try await dying(end)(request)
            }
            if width > 1 {
                let exchanges = try (0..<width).map { _ in context.start(try context.request(to: server, "/together")) }
                await server.waitUntil { $0.requestCount == width }
                answered.open()
                for exchange in exchanges { _ = await exchange.end() }
            }
            for sample in samples {
                for round in 0..<2 {
                    // Leaves a connection that dies under the next request. This GET may fail.
                    if width == 1 { _ = await context.run(try context.request(to: server, "/warm")) }
                    let target = "/\(sample.name.filter { $0 != " " })/\(round)"
                    let record = await context.run(try sample.request(to: server, target, in: context))
                    let arrived = server.requests.filter { $0.target == target }
                    context.expect(
                        arrived.count <= sample.limit,
                        "\(sample.name): expected at most \(sample.limit) arrivals, got \(arrived.count)")
                    context.expect(
                        "the bodies of \(sample.name)", arrived.count { $0.body != sample.body ?? Data() }, equals: 0)
                    if let error = record.transportError {
                        context.expect(arrived.isEmpty || !error.claimsUnseen, "\(sample.name) arrived, but failed with \(record.summary)")
                    } else {
                        let text = sample.method == .head ? "" : String(decoding: sample.body ?? Data(), as: UTF8.self) + "!"
                        context.expect(sample.name, record, gives: 200, text)
                    }
                }
            }
        }
    }

    /// Sends requests to a server that reads each of them and closes.
    private static func countArrivalsOnFresh(_ samples: [Sample], isSecure: Bool = false, in context: CheckContext) async throws {
        for end in [ConnectionStep.close, .reset] {
            for sample in samples {
                let server = try await context.serve(isSecure: isSecure, script: { _ in [.receiveRequest, end] })
                let record = await context.run(try sample.request(to: server, "/", in: context))
                context.expect(sample.name, record, failsWith: [.connectionLost])
                let count = server.requestCount
                context.expect(
                    (1...sample.limit).contains(count), "\(sample.name): expected at most \(sample.limit) arrivals, got \(count)")
            }
        }
    }

    /// Requests that must not be sent twice.
    static let resendChecks: [Check] = [
        Group.resends.checks(
            "once", "A request that is not idempotent arrives at most once, even if a reused connection dies under it."
        ) { try await countArrivals(of: once, isSecure: $0, in: $1) },
        Group.resends.checks("twice", "An idempotent request arrives at most twice, even if a reused connection dies under it.") {
            try await countArrivals(of: twice, isSecure: $0, in: $1)
        },
        Group.resends.checks(
            "once-of-many", "A request that is not idempotent arrives at most once, even if many idle connections die."
        ) { try await countArrivals(of: once, width: 8, isSecure: $0, in: $1) },
        Group.resends.checks("once-on-fresh", "A request that is not idempotent is sent once to a server that reads it and closes.") {
            try await countArrivalsOnFresh(once, isSecure: $0, in: $1)
        },
        [
            Group.resends.check(
                "twice-of-many", "An idempotent request arrives at most twice, even if many idle connections die under it."
            ) { try await countArrivals(of: [Sample(name: "GET", method: .get)], width: 8, in: $0) },
            Group.resends.check("twice-on-fresh", "An idempotent request is sent at most twice to a server that reads it and closes.") {
                try await countArrivalsOnFresh(twice, in: $0)
            },
            Group.resends.check("whole-body", "A large body arrives whole, even if the idle connections are dead.") { context in
                let body = conformanceData(2 << 20)
                let server = try await context.serve(dying(.close))
                for method in [HTTPMethod.post, .put] {
                    _ = await context.run(try context.request(to: server, "/warm"))
                    let record = await context.run(try context.request(method, to: server, "/\(method)", body: HTTPBody(body)))
                    context.expect("\(method)", record.transportError == nil ? record.statusCode : 200, equals: 200)
                }
                let arrived = server.requests.filter { $0.path != "/warm" }
                context.expect("the bodies", arrived.count { $0.body != body }, equals: 0)
                context.expect("the POSTs", arrived.count { $0.method == .post } <= 1, equals: true)
            },
        ],
    ].flatMap { $0 }
}
