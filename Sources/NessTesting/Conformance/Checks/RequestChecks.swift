import Foundation
import NessHTTP

extension TransportConformance {
    /// The request as the server receives it.
    static let requestChecks: [Check] = [
        Group.contract.check("method", "The method arrives unchanged.") { context in
            let server = try await context.serve { _ in .text("") }
            let methods: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete, .options, .custom("BREW"), .custom("M-SEARCH")]
            for method in methods {
                let record = await context.run(try context.request(method, to: server))
                context.expect("\(method)", record, gives: 200, "")
            }
            context.expect("the methods", server.requests.map(\.method), equals: methods)
        },
        Group.contract.check(
            "method-case", "A method with small letters arrives unchanged, or the request is rejected with `invalidRequest`."
        ) { context in
            let server = try await context.serve { _ in .text("") }
            for method in [HTTPMethod.custom("get"), .custom("Brew")] {
                let record = await context.run(try context.request(method, to: server))
                if record.transportError?.kind == .invalidRequest { continue }
                context.expect("the method", server.requests.last?.method, equals: method)
            }
        },
        Group.contract.check("target", "The path and the query arrive byte for byte.") { context in
            let server = try await context.serve { _ in .text("") }
            let targets = [
                "/", "/a/b/", "/a%2Fb/%7Euser/%c3%a4", "//a//b", "/a;x=1/b:c@d", "/..a/.../b..", "/p?", "/?q=a+b&c=%20;/?:@", "/x?y=/../z",
                "/!$&'()*+,", "/long/\(String(repeating: "x", count: 6_000))",
            ]
            for target in targets { context.expect(target, await context.run(try context.request(to: server, target)), gives: 200, "") }
            context.expect("the targets", server.requests.map(\.target), equals: targets)
        },
        Group.contract.check("host", "`Host` is sent once, with the URL's host and its port.") { context in
            let server = try await context.serve { _ in .text("") }
            for host in ["127.0.0.1", "localhost"] {
                let request = HTTPRequest(url: try context.url("http://\(host):\(server.port)/"))
                context.expect(host, await context.run(request), gives: 200, "")
                context.expect("Host", server.requests.last?.headers.values(for: "Host"), equals: ["\(host):\(server.port)"])
            }
        },
        Group.contract.check("fields", "The request's header fields arrive with unchanged values.") { context in
            let server = try await context.serve { _ in .text("") }
            let fields: HTTPHeaders = [
                "X-Plain": "1", "X-Empty": "", "X-Tab": "a\tb", "X-Semicolon": ";", "X-Colon": ":", "X-UTF-8": "é", "X-Quoted": "\"a, b\"",
                "Cookie": "a=1; b=2", "Authorization": "Basic eDp5", "User-Agent": "me/1", "Accept": "text/x", "Range": "bytes=0-",
                "Accept-Language": "de, en;q=0.5", "Accept-Encoding": "identity", "Referer": "/x", "If-None-Match": "\"1\"",
                "X-Long": String(repeating: "v", count: 6_000),
            ]
            for (method, body) in [(HTTPMethod.get, nil), (.post, HTTPBody(Data("x".utf8)))] {
                let record = await context.run(try context.request(method, to: server, headers: fields, body: body))
                context.expect("\(method)", record, gives: 200, "")
                let received = server.requests.last?.headers ?? [:]
                for field in fields { context.expect(field.name, received.values(for: field.name), equals: [field.value]) }
            }
        },
        Group.contract.check("repeated-fields", "Fields with the same name arrive in their order, apart or joined by commas.") { context in
            let server = try await context.serve { _ in .text("") }
            let fields: HTTPHeaders = ["X-Twice": "a", "X-Other": "o", "x-twice": "b", "X-Twice": "c"]
            context.expect("the response", await context.run(try context.request(to: server, headers: fields)), gives: 200, "")
            let joined = server.requests.last?.headers["X-Twice"]?.filter { $0 != " " }
            context.expect("the values", joined, equals: "a,b,c")
        },
        Group.contract.check("order-of-fields", "The request's header fields arrive in the order of the request.") { context in
            let server = try await context.serve { _ in .text("") }
            let names = ["X-M", "X-B", "User-Agent", "X-Z", "Accept", "X-A"]
            var fields = HTTPHeaders()
            for name in names { fields.add("1", for: name) }
            context.expect("the response", await context.run(try context.request(to: server, headers: fields)), gives: 200, "")
            let received = (server.requests.last?.headers ?? [:]).map(\.name).filter { name in names.contains { $0 == name } }
            context.expect("the order", received, equals: names)
        },
        Group.contract.check(
            "added-fields",
            "Only Host, Connection, Accept, Accept-Encoding, Accept-Language, User-Agent and the fields of a body are added."
        ) { context in
            let server = try await context.serve { _ in .text("", headers: ["Set-Cookie": "a=1", "ETag": "\"1\""]) }
            let allowed: Set = ["host", "connection", "accept", "accept-encoding", "accept-language", "user-agent", "x-own"]
            let ofBody: Set = ["content-length", "transfer-encoding", "content-type"]
            for (method, body) in [(HTTPMethod.get, nil), (.options, nil), (.post, HTTPBody(Data("x".utf8))), (.get, nil)] {
                _ = await context.run(try context.request(method, to: server, headers: ["X-Own": "1"], body: body))
                let names = Set((server.requests.last?.headers ?? [:]).map { $0.name.lowercased() })
                let added = names.subtracting(method == .get ? allowed : allowed.union(ofBody)).sorted()
                context.expect("the fields added to \(method)", added, equals: [])
            }
            context.expect("the number of requests", server.requestCount, equals: 4)
        },
        Group.contract.check(
            "absent-body",
            "A POST, PUT or PATCH without a body announces an empty body (RFC 9110, 8.6); a GET or HEAD announces none."
        ) { context in
            let server = try await context.serve { _ in .text("") }
            for method in [HTTPMethod.post, .put, .patch, .get, .head] {
                context.expect("\(method)", await context.run(try context.request(method, to: server)), gives: 200, "")
                let lengths = server.requests.last?.headers.values(for: "Content-Length")
                let isAnnounced = [HTTPMethod.post, .put, .patch].contains(method)
                context.expect("Content-Length of \(method)", lengths, equals: isAnnounced ? ["0"] : [])
                context.expect("the chunks of \(method)", server.requests.last?.isChunked, equals: false)
            }
        },
        Group.contract.check("cookies", "Cookies are reported, and neither kept nor sent.") { context in
            let server = try await context.serve { _ in .text("", headers: ["Set-Cookie": "id=1; Path=/"]) }
            for _ in 0..<2 {
                let record = await context.run(try context.request(to: server))
                context.expect("Set-Cookie", record.headers.values(for: "Set-Cookie"), equals: ["id=1; Path=/"])
            }
            context.expect("Cookie", server.requests.flatMap { $0.headers.values(for: "Cookie") }, equals: [])
            context.expect("the number of requests", server.requestCount, equals: 2)
        },
        Group.contract.check("no-cache", "Each request goes to the server, regardless of the last response's cache fields.") { context in
            let server = try await context.serve { request in
                .text(
                    "\(request.requestNumberOnConnection).\(request.connectionNumber)",
                    headers: [
                        "Cache-Control": "max-age=3600, immutable", "ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                    ])
            }
            for number in 1...3 {
                let record = await context.run(try context.request(to: server))
                context.expect("the status", record.statusCode, equals: 200)
                context.expect("the number of requests", server.requestCount, equals: number)
            }
            let conditional = server.requests.filter { $0.headers.contains("If-None-Match") || $0.headers.contains("If-Modified-Since") }
            context.expect("the number of conditional requests", conditional.count, equals: 0)
        },
    ]
}
