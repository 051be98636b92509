import Foundation
import NessHTTP

extension TransportConformance {
    /// The events of a well-formed response.
    static let responseChecks: [Check] = [
        Group.contract.check("events", "The head is reported once, then the pieces of the body in order.") { context in
            let content = conformanceData(1 << 20)
            let pieces = stride(from: 0, to: content.count, by: 20_000).map { content[$0..<min($0 + 20_000, content.count)] }
            let server = try await context.serve { $0.path == "/chunks" ? .chunked(pieces.map { Data($0) }) : .data(content) }
            for path in ["/length", "/chunks"] {
                let record = await context.run(try context.request(to: server, path))
                context.expect("the number of heads", record.heads.count, equals: 1)
                context.expect("the number of pieces before the head", record.piecesBeforeHead, equals: 0)
                context.expect(path, record, gives: 200, content)
            }
        },
        Group.contract.check("returns-when-whole", "`send` returns when the response is complete, not before.") { context in
            let goOn = TestGate()
            let server = try await context.serve { request in
                let isChunked = request.path == "/chunks"
                return .script([
                    .send(ok + (isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 10") + "\r\n\r\n"),
                    .send(isChunked ? "5\r\nhello\r\n" : "hello"), .wait(goOn), .send(isChunked ? "5\r\nworld\r\n0\r\n\r\n" : "world"),
                ])
            }
            let exchanges = try ["/length", "/chunks"].map { context.start(try context.request(to: server, $0)) }
            for exchange in exchanges { await exchange.wait { $0.body.count >= 5 } }
            goOn.open()
            for exchange in exchanges { context.expect("the response", await exchange.end(), gives: 200, "helloworld") }
        },
        Group.contract.check(
            "returns-at-the-end", "`send` returns at the last byte of the response, and does not wait for the connection's close."
        ) { context in
            let responses = [
                "Content-Length: 5\r\n\r\nhello", "Content-Length: 5\r\nConnection: close\r\n\r\nhello",
                "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            ]
            for response in responses {
                let server = try await context.serve(script: { _ in [.receiveRequest, .send(ok + response), .stall] })
                context.expect("the response", await context.run(try context.request(to: server)), gives: 200, "hello")
            }
        },
        Group.contract.check("no-body", "A response to HEAD, a 204 and a 304 end with their head, regardless of its Content-Length.") {
            context in
            for (method, status) in [(HTTPMethod.head, "200 OK"), (.get, "304 Not Modified"), (.get, "204 No Content")] {
                let length = status.hasPrefix("204") ? "" : "Content-Length: 5\r\n"
                let server = try await context.serve(script: { _ in
                    [.receiveRequest, .send("HTTP/1.1 \(status)\r\nX-A: b\r\n\(length)\r\n"), .stall]
                })
                let record = await context.run(try context.request(method, to: server))
                context.expect("\(method) \(status)", record, gives: Int(status.prefix(3)) ?? 0, "")
                context.expect("X-A", record.headers["X-A"], equals: "b")
            }
        },
        Group.contract.check("empty-body", "An empty body is a head, and no bytes.") { context in
            let server = try await context.serve { $0.path == "/chunks" ? .chunked([]) : .status(200) }
            for path in ["/length", "/chunks"] {
                let record = await context.run(try context.request(to: server, path))
                context.expect(path, record, gives: 200, "")
                context.expect("the number of heads", record.heads.count, equals: 1)
            }
        },
        Group.contract.check("statuses", "Every final status is a response, with its body.") { context in
            let server = try await context.serve { .text("body", status: Int($0.path.dropFirst()) ?? 0) }
            for status in [200, 201, 203, 226, 299, 300, 400, 403, 404, 410, 418, 429, 451, 499, 500, 502, 503, 504, 511, 599] {
                context.expect("\(status)", await context.run(try context.request(to: server, "/\(status)")), gives: status, "body")
            }
        },
        Group.contract.check("interim", "An interim (1xx) response is not taken for the head.") { context in
            let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            let steps: [ConnectionStep] = [.receiveRequest, .send(interim), .respond(.text("after the hints"))]
            let server = try await context.serve(script: { _ in [.loop(steps)] })
            for _ in 0..<2 {
                let record = await context.run(try context.request(to: server))
                context.expect("the response", record, gives: 200, "after the hints")
                context.expect("the heads", record.heads.map(\.statusCode), equals: [200])
                context.expect("Link", record.headers["Link"], equals: nil)
            }
        },
        Group.contract.check("redirects", "A redirect is a response, and is not followed.") { context in
            let server = try await context.serve { request in
                .text("moved", status: Int(request.path.dropFirst()) ?? 0, headers: ["Location": "/200"])
            }
            let statuses = [301, 302, 303, 307, 308]
            for status in statuses {
                let record = await context.run(try context.request(to: server, "/\(status)"))
                context.expect("\(status)", record, gives: status, "moved")
                context.expect("Location", record.headers["Location"], equals: "/200")
            }
            context.expect("the targets", server.requests.map(\.target), equals: statuses.map { "/\($0)" })
        },
        Group.contract.check("redirect-without-location", "A redirect without a Location is a response, with its body.") { context in
            let server = try await context.serve { _ in .text("where", status: 302) }
            context.expect("the response", await context.run(try context.request(to: server)), gives: 302, "where")
        },
        Group.contract.check("challenges", "A 401 and a 407 are responses, and nothing is sent again.") { context in
            let challenges: [(Int, String, String)] = [
                (401, "WWW-Authenticate", "Basic realm=\"a\""), (401, "WWW-Authenticate", "Digest realm=\"a\", nonce=\"b\", qop=\"auth\""),
                (401, "WWW-Authenticate", "Bearer"), (407, "Proxy-Authenticate", "Basic realm=\"a\""),
            ]
            for (status, name, challenge) in challenges {
                let server = try await context.serve { _ in .text("who", status: status, headers: [name: challenge]) }
                let record = await context.run(try context.request(to: server))
                context.expect(challenge, record, gives: status, "who")
                context.expect(name, record.headers[name], equals: challenge)
                context.expect("the number of requests", server.requestCount, equals: 1)
            }
        },
        Group.contract.check("response-fields", "The response's header fields are reported with their values.") { context in
            let fields: HTTPHeaders = [
                "X-Plain": "1", "X-Comma": "a, b", "X-Empty": "", "X-Quoted": "\"a;b\"", "X-Twice": "a", "X-Other": "o", "X-Twice": "b",
                "Content-Type": "text/plain; charset=utf-8", "Date": "Sun, 06 Nov 1994 08:49:37 GMT",
            ]
            let server = try await context.serve { _ in .text("x", headers: fields) }
            let headers = await context.run(try context.request(to: server)).headers
            for field in fields where field.name != "X-Twice" {
                context.expect(field.name, headers.values(for: field.name), equals: [field.value])
            }
            context.expect("X-Twice", headers["X-Twice"]?.filter { $0 != " " }, equals: "a,b")
            context.expect("Content-Length", headers["Content-Length"], equals: "1")
        },
        Group.contract.check("folded-field", "The lines of a folded header field are joined by a space (RFC 9112, 5.2).") { context in
            for (lines, joined) in [("one\r\n two", "one two"), ("one\r\n\ttwo;\r\n   three: 3", "one two; three: 3")] {
                let record = try await get(ok + "X-Fold: \(lines)\r\nContent-Length: 5\r\n\r\nhello", in: context)
                context.expect("the response", record, gives: 200, "hello")
                context.expect("X-Fold", record.headers.values(for: "X-Fold"), equals: [joined])
            }
        },
        Group.contract.check("set-cookie", "Each Set-Cookie line is a separate value, even with commas.") { context in
            let cookies = ["a=1; Expires=Sun, 06 Nov 2044 08:49:37 GMT", "b=2", "c=\"3,4\"; Path=/"]
            let server = try await context.serve { _ in cookies.reduce(.text("x")) { $0.adding($1, for: "Set-Cookie") } }
            let record = await context.run(try context.request(to: server))
            context.expect("Set-Cookie", record.headers.values(for: "Set-Cookie"), equals: cookies)
        },
        Group.contract.check("order-of-response-fields", "The response's header fields are reported in their order.") { context in
            let names = ["X-M", "X-B", "Server", "X-Z", "X-A"]
            let server = try await context.serve { _ in names.reduce(.text("x")) { $0.adding("1", for: $1) } }
            let record = await context.run(try context.request(to: server))
            context.expect("the order", record.headers.map(\.name).filter(names.contains), equals: names)
        },
        Group.contract.check("large-head", "A head of 64 KiB is reported.") { context in
            let value = String(repeating: "v", count: 600)
            let server = try await context.serve { _ in (0..<100).reduce(.text("x")) { $0.adding(value, for: "X-\($1)") } }
            let record = await context.run(try context.request(to: server))
            context.expect("the response", record, gives: 200, "x")
            context.expect("the fields", (0..<100).count { record.headers["X-\($0)"] == value }, equals: 100)
        },
        Group.contract.check(
            "kept-coding", "If `keepsContentCoding` is true, a request with the option `KeepsContentCoding` gets the encoded bytes."
        ) { context in
            guard context.transport.keepsContentCoding else { return }
            let server = try await context.serve { _ in .data(CompressedBodies.gzipHello, headers: ["Content-Encoding": "gzip"]) }
            var request = try context.request(to: server, headers: ["Accept-Encoding": "gzip"])
            request[KeepsContentCoding.self] = true
            context.expect("the response", await context.run(request), gives: 200, CompressedBodies.gzipHello)
        },
        Group.contract.check("own-codings", "A body in a coding that the transport requests by itself is reported decoded.") { context in
            let bodies = [
                "gzip": CompressedBodies.gzipSquares, "br": CompressedBodies.brotliSquares, "zstd": CompressedBodies.zstandardSquares,
            ]
            for (coding, body) in bodies {
                let server = try await context.serve { request in
                    request.headers["Accept-Encoding"]?.contains(coding) == true
                        ? .data(body, headers: ["Content-Encoding": coding]) : .text(CompressedBodies.squares)
                }
                context.expect(coding, await context.run(try context.request(to: server)), gives: 200, CompressedBodies.squares)
            }
        },
    ]
}
