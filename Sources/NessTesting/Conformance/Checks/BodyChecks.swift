import Foundation
import NessHTTP

extension TransportConformance {
    /// Runs a closure with a temporary file, and removes the file.
    private static func withFile(_ content: Data, _ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ness-conformance-\(UUID().uuidString)")
        try content.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file)
    }

    /// Sends a body with POST and PUT, and checks its arrival.
    private static func expectArrival(
        _ name: String, _ body: HTTPBody, _ content: Data, hasLength: Bool, in context: CheckContext
    ) async throws {
        let server = try await context.serve { .text("\($0.body.count)") }
        for method in [HTTPMethod.post, .put] {
            let record = await context.run(try context.request(method, to: server, body: body))
            context.expect("\(method) of \(name)", record, gives: 200, "\(content.count)")
            guard let received = server.requests.last else { continue }
            context.expect("the body of \(name)", received.body == content, equals: true)
            if hasLength { context.expect("Content-Length of \(name)", received.headers["Content-Length"], equals: "\(content.count)") }
        }
    }

    /// The bodies of requests.
    static let bodyChecks: [Check] = [
        Group.bodies.check("memory", "A body in memory of any size arrives whole, with its Content-Length.") { context in
            for count in [0, 1, 1_023, 16_384, 32_768, 32_769, 65_537, 1 << 20, (1 << 20) + 1, 3 << 20] {
                let content = conformanceData(count)
                try await expectArrival("\(count) bytes", HTTPBody(content), content, hasLength: true, in: context)
            }
        },
        Group.bodies.check("file", "A body from a file arrives whole.") { context in
            for count in [0, 1, 70_000, (1 << 20) + 1, 5 << 20] {
                let content = conformanceData(count)
                try await withFile(content) {
                    try await expectArrival("a file of \(count) bytes", HTTPBody(file: $0), content, hasLength: false, in: context)
                }
            }
        },
        Group.bodies.check("file-length", "A body from a file has a Content-Length.") { context in
            let content = conformanceData(2 << 20)
            try await withFile(content) {
                try await expectArrival("a file", HTTPBody(file: $0), content, hasLength: true, in: context)
            }
        },
        Group.bodies.check("multipart", "A multipart form of strings, bytes and files arrives whole, with its boundary.") { context in
            let content = conformanceData(2 << 20)
            try await withFile(content) { file in
                var form = MultipartForm()
                form.append("tabby", named: "color")
                form.append(conformanceData(1_000), named: "data", fileName: "a.bin")
                form.append(file: file, named: "file")
                let body = try await form.makeBody().resolved()
                let server = try await context.serve { _ in .text("fine") }
                context.expect("the response", await context.run(try context.request(.post, to: server, body: body)), gives: 200, "fine")
                var whole = Data()
                let reader = body.makeReader()
                while case let piece = try reader.read(upTo: 1 << 20), !piece.isEmpty { whole += piece }
                context.expect("the body", server.requests.last?.body == whole, equals: true)
                context.expect("Content-Type", server.requests.last?.headers["Content-Type"], equals: body.headers["Content-Type"])
            }
        },
        Group.bodies.check("fields", "The body's fields are sent; a field of the request wins.") { context in
            let server = try await context.serve { _ in .text("fine") }
            let body = HTTPBody(Data("x".utf8), headers: ["Content-Type": "text/x", "Content-Language": "de"])
            for fields: HTTPHeaders in [[:], ["content-type": "text/y"]] {
                _ = await context.run(try context.request(.post, to: server, headers: fields, body: body))
                let received = server.requests.last?.headers ?? [:]
                context.expect("Content-Type", received.values(for: "Content-Type"), equals: [fields["Content-Type"] ?? "text/x"])
                context.expect("Content-Language", received.values(for: "Content-Language"), equals: ["de"])
            }
        },
        Group.bodies.check("progress", "`sent` counts the bytes of the body upwards, never beyond its length.") { context in
            let server = try await context.serve { _ in .text("fine") }
            let length = 8 << 20
            let request = try context.request(.put, to: server, body: HTTPBody(conformanceData(length)))
            let record = await context.run(request)
            context.expect("the response", record, gives: 200, "fine")
            context.expect("the order", record.sent == record.sent.sorted(), equals: true)
            context.expect(record.sent.allSatisfy { (0...Int64(length)).contains($0) }, "expected at most \(length), got \(record.sent)")
            context.expect("the last count", record.sent.last, equals: Int64(length))
        },
        Group.bodies.check("early-answer", "If a server responds before it has read the body, its response or an error is reported.") {
            context in
            for method in [HTTPMethod.post, .put] {
                let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"
                let server = try await context.serve(script: { _ in [.receiveHead, .send(answer), .stall] })
                let record = await context.run(try context.request(method, to: server, body: HTTPBody(Data(count: 8 << 20))))
                if record.transportError == nil { context.expect("\(method)", record, gives: 413, "big") }
            }
            try await context.expectWorking()
        },
        Group.bodies.check("shrinking-file", "A file that became shorter fails the exchange, and the server gets no whole request.") {
            context in
            for count in [100_000, 3 << 20] {
                try await withFile(conformanceData(count)) { file in
                    let server = try await context.serve { _ in .text("fine") }
                    let body = try await HTTPBody(file: file).resolved()
                    try conformanceData(10).write(to: file)
                    // The length was looked up before the file changed, as in the time between the pipeline and the transport.
                    let record = await context.start(try context.request(.post, to: server, body: body), isResolved: true).end()
                    context.expect("a file of \(count) bytes", record, failsWith: [.invalidRequest])
                    context.expect("the number of requests", server.requestCount, equals: 0)
                    await context.untilIdle(server)
                }
            }
            try await context.expectWorking()
        },
    ]
}
