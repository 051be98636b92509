import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("Statuses", .serialized, .timeLimit(.minutes(2))) struct StatusTests {
    @Test("every status is passed on, and no request is repeated or redirected", arguments: [200, 302, 404, 408, 429, 500, 503])
    func passes(status: Int) async throws {
        let fields: HTTPHeaders = ["Location": "/elsewhere", "Retry-After": "7"]
        try await withUpstream({ _ in }, { _ in .text("body", status: status, headers: fields) }) { port, server in
            for method in [HTTPMethod.get, .post] {
                let response = try await makeClient().httpRequest(method, withUrl: "http://127.0.0.1:\(port)/").response()
                #expect(response.statusCode == status)
                #expect(response.text == "body")
                #expect(response.headers["Location"] == "/elsewhere")
                #expect(response.headers["Retry-After"] == "7")
            }
            #expect(server.requests.map(\.method) == [.get, .post])
        }
    }

    @Test("204, 304 and the response to HEAD have no body, and the connection serves the next request")
    func withoutBody() async throws {
        try await withUpstream(
            { _ in },
            { request in
                switch request.path {
                case "/204": .status(204)
                case "/304": .status(304, headers: ["ETag": "\"1\""])
                default: .text("four")
                }
            }
        ) { port, server in
            try await RawClient.run(port) { client in
                for target in ["/204", "/304"] {
                    try await client.send("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
                    let head = await client.read(until: "\r\n\r\n")
                    #expect(head.hasPrefix("HTTP/1.1 \(target.dropFirst())") && head.hasSuffix("\r\n\r\n"))
                }
                try await client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
                let head = await client.read(until: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 200") && head.hasSuffix("\r\n\r\n") && head.contains("Content-Length: 4\r\n"))
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(await client.read(until: "four").hasSuffix("\r\n\r\nfour"))
            }
        }
    }

    @Test("the response to HEAD without a length ends the connection, because SwiftNIO would send a chunk")
    func headWithoutLength() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await withUpstream({ _ in }, { _ in .script([.send(head)]) }) { port, _ in
            let answer = try await exchange(port, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("\r\nConnection: close\r\n") && answer.hasSuffix("\r\n\r\n"))
            #expect(!answer.contains("\r\n\r\n0"))
        }
    }

    @Test("OPTIONS and TRACE are forwarded as far as Max-Forwards allows")
    func maxForwards() async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            for (method, status) in [("OPTIONS", 204), ("TRACE", 405)] {
                let request = "\(method) / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nMax-Forwards: "
                let near = try await exchange(port, "\(request)0\r\n\r\n"), far = try await exchange(port, "\(request)3\r\n\r\n")
                #expect(near.hasPrefix("HTTP/1.1 \(status)") && far.hasPrefix("HTTP/1.1 200"))
            }
            #expect(server.requests.map { $0.headers["Max-Forwards"] } == ["2", "2"])
        }
    }

    @Test("an interim response reaches the client before the head")
    func earlyHints() async throws {
        let go = TestGate()
        let steps: [ConnectionStep] = [
            .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), .wait(go), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ]
        try await withUpstream({ _ in }, { _ in .script(steps) }) { port, _ in
            try await RawClient.run(port) { client in
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                let hints = await client.read(until: "\r\n\r\n")
                #expect(hints.hasPrefix("HTTP/1.1 103") && hints.contains("Link: </a>"))
                go.open()
                #expect(await client.read(until: "ok").hasPrefix("HTTP/1.1 200"))
            }
        }
    }
}
