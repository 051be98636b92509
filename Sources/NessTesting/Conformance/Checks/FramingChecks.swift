import Foundation
import NessHTTP

extension TransportConformance {
    private static let ok = "HTTP/1.1 200 OK\r\n"

    /// Runs a GET against a server that sends a string and ends the connection.
    private static func get(
        _ text: String, then last: ConnectionStep = .close, headers: HTTPHeaders = [:], in context: CheckContext
    ) async throws -> ExchangeRecord {
        let server = try await context.serve(script: { _ in [.receiveRequest, .send(text), last] })
        return await context.run(try context.request(to: server, headers: headers))
    }

    /// The end of a body, and malformed heads.
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
        Group.framing.check("truncated-in-status-line", "A connection that closes inside the status line is an error.") { context in
            let record = try await get("HTTP/1.1 20", in: context)
            context.expect("closed", record, failsWith: [.connectionLost, .malformedResponse, .truncated])
            context.expect("the number of heads", record.heads.count, equals: 0)
        },
        Group.framing.check("truncated-in-head", "A connection that closes inside the head is an error, and no head is reported.") {
            context in
            for text in [ok + "Content-Type: te", ok + "Content-Type: text/plain\r\n", ok] {
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
        Group.framing.check("reset-without-length", "A body without a length that ends with a reset is an error.") { context in
            let record = try await get(ok + "Content-Type: text/plain\r\n\r\nhello", then: .reset, in: context)
            context.expect("reset", record, failsWith: [.connectionLost, .truncated])
        },
        Group.framing.check("ended-by-close", "A body without a length ends with the connection.") { context in
            for head in [ok + "Content-Type: text/plain\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"] {
                context.expect("closed", try await get(head + "hello", in: context), gives: 200, "hello")
            }
        },
        Group.framing.check(
            "more-than-announced", "Bytes after the announced body are neither a part of it nor of the next response."
        ) { context in
            let reply = ok + "Content-Length: 5\r\n\r\nhello"
            let server = try await context.serve(script: { connection in
                guard connection.number == 1 else { return [.serve { _ in .text("next") }] }
                return [.receiveRequest, .send(reply + " world, and more"), .receiveHead, .close]
            })
            let record = await context.run(try context.request(to: server))
            if record.hasSucceeded { context.expect("the response", record, gives: 200, "hello") }
            let next = await context.run(try context.request(to: server))
            if next.transportError == nil { context.expect("the next response", next, gives: 200, "next") }
        },
        Group.framing.check("malformed-heads", "Bytes that are not an HTTP response fail as malformed, and no head is reported.") {
            context in
            for text in [
                "lorem ipsum dolor\r\nContent-Length: 5\r\n\r\nhello", "SSH-2.0-OpenSSH_9.2\r\n", "<html>hello</html>",
                "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello",
                "HTTP/1.1 abc OK\r\nContent-Length: 5\r\n\r\nhello",
            ] {
                let record = try await get(text, in: context)
                context.expect(String(text.prefix(20)), record, failsWith: [.malformedResponse])
                context.expect("the number of heads", record.heads.count, equals: 0)
            }
        },
        Group.framing.check(
            "length-and-chunks", "If a response has both a Content-Length and chunks, the chunks count, or it is an error."
        ) { context in
            let fields = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            let record = try await get(ok + fields + "5\r\nhello\r\n0\r\n\r\n", in: context)
            if record.transportError == nil { context.expect("the response", record, gives: 200, "hello") }
        },
        Group.framing.check(
            "malformed-lengths", "A Content-Length that is not a number, or contradicts another, is an error, or is reported as it is."
        ) { context in
            for field in ["-1", "five", "0x5", "99999999999999999999", "5\r\nContent-Length: 3"] {
                let record = try await get(ok + "Content-Length: \(field)\r\nConnection: close\r\n\r\nhello", in: context)
                // The pipeline rejects such a head.
                if record.hasSucceeded { context.expect(field, record.pipelineProblem != nil, equals: true) }
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
        Group.framing.check("byte-by-byte", "A response that arrives byte by byte is the same response.") { context in
            for body in ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"] {
                let server = try await context.serve(script: { _ in [.receiveRequest, .drip(ok + "X-A: b\r\n" + body), .close] })
                let record = await context.run(try context.request(to: server))
                context.expect("the response", record, gives: 200, "hello")
                context.expect("X-A", record.headers["X-A"], equals: "b")
            }
        },
    ]
}
