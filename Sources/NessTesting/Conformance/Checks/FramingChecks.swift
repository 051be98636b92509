import Foundation
import NessHTTP

extension TransportConformance {
    /// Runs a GET against a server that sends a string and ends the connection.
    static func get(_ text: String, then last: ConnectionStep = .close, in context: CheckContext) async throws -> ExchangeRecord {
        let server = try await context.serve(script: { _ in [.receiveRequest, .send(text), last] })
        return await context.run(try context.request(to: server))
    }

    /// The end of a body. `Misbehavior.all` has more.
    static let framingChecks: [Check] = [
        Group.framing.check("truncated-by-length", "A body that is shorter than its Content-Length fails as truncated.") { context in
            for (name, body) in [("no byte", ""), ("half of it", "hello"), ("all but one byte", "helloworl")] {
                for last in [ConnectionStep.close, .halfClose] {
                    let record = try await get(ok + "Content-Length: 10\r\n\r\n" + body, then: last, in: context)
                    context.expect(name, record, failsWith: [.truncated])
                }
            }
        },
        Group.framing.check("truncated-by-chunks", "A chunked body without its last chunk fails as truncated.") { context in
            for (name, body) in [
                ("closed before the first chunk", ""), ("closed inside a chunk's size", "5\r\nhello\r\n1"),
                ("closed inside a chunk", "5\r\nhello\r\n5\r\nwo"), ("closed before the last chunk", "5\r\nhello\r\n"),
            ] {
                let record = try await get(ok + "Transfer-Encoding: chunked\r\n\r\n" + body, in: context)
                context.expect(name, record, failsWith: [.truncated])
            }
        },
        Group.framing.check("truncated-in-head", "A connection that closes inside the head is an error, and no head is reported.") {
            context in
            for text in ["HTTP/1.1 20", ok + "Content-Type: te", ok] {
                let record = try await get(text, in: context)
                context.expect("closed", record, failsWith: [.connectionLost, .malformedResponse, .truncated])
                context.expect("the number of heads", record.heads.count, equals: 0)
            }
        },
        Group.framing.check("truncated-coding", "A compressed body that was cut short is an error, even if its length agrees.") { context in
            let whole = CompressedBodies.gzipSquares
            for count in [6, 250, whole.count - 6, whole.count - 1] {
                let server = try await context.serve { _ in .data(whole.prefix(count), headers: ["Content-Encoding": "gzip"]) }
                let record = await context.run(try context.request(to: server, headers: ["Accept-Encoding": "gzip"]))
                context.expect("\(count) of \(whole.count) bytes", record, failsWith: [.truncated, .malformedResponse])
            }
        },
        Group.framing.check("trailers", "Trailer fields are neither a part of the body nor of the head.") { context in
            let server = try await context.serve { _ in .chunked([Data("summed".utf8)], trailers: ["X-Sum": "1"]) }
            for _ in 0..<2 {
                let record = await context.run(try context.request(to: server))
                context.expect("the response", record, gives: 200, "summed")
                context.expect("the heads", record.heads.map { $0.headers.contains("X-Sum") }, equals: [false])
            }
        },
    ]
}
