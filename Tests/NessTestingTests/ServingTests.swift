import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct ServingTests {
    @Test("a handler of one line compiles and responds") func theContractsCallCompilesAndAnswers() async throws {
        let server = try await TestServer.start { request in
            request.path == "/hello" ? .text("hi \(request.method) \(request.headers["user-agent"] ?? "")") : .status(404)
        }
        #expect(server.url.appending(path: "hello").absoluteString == "http://127.0.0.1:\(server.port)/hello")
        let answers = try await server.client { client in
            let first = client.exchange("GET /hello?a=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: raw\r\n\r\n")
            let second = client.exchange("GET /other HTTP/1.1\r\nHost: x\r\n\r\n")
            return (first, second)
        }
        #expect(answers.0.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answers.0.body == "hi GET raw")
        #expect(answers.1.head.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.requestNumberOnConnection) == [1, 2])
    }

    @Test("each request has a number in the order of arrival, on any connection, no matter when its handler ends")
    func numbers() async throws {
        let second = TestGate()
        let server = try await TestServer.start { request in
            if request.number == 1 { await second.wait() } else { second.open() }
            return .text("\(request.number)")
        }
        let first = Task { try await server.client { $0.exchange(get).body } }
        #expect(await server.waitUntil { $0.requestCount == 1 })
        #expect(try await server.client { $0.exchange(get).body } == "2")
        #expect(try await first.value == "1")
        #expect(server.requests.map(\.number) == [1, 2])
    }

    @Test("a handler that throws responds with 500 and the error's description") func aHandlerThatThrowsAnswers500WithTheText() async throws
    {
        struct Broken: Error {}
        let server = try await TestServer.start { _ in throw Broken() }
        let answer = try await server.client { $0.exchange(get) }
        #expect(answer.head.hasPrefix("HTTP/1.1 500 Internal Server Error\r\n"))
        #expect(answer.body.contains("Broken"))
    }

    @Test("responses to pipelined requests are in order") func pipelinedRequestsAreAnsweredInOrder() async throws {
        let server = try await TestServer.start { .text($0.target) }
        let text = try await server.client { client in
            client.send((1...50).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
            client.closeWriting()
            return client.readToEnd().text
        }
        let bodies = text.components(separatedBy: "\r\n\r\n").dropFirst().map { $0.components(separatedBy: "HTTP/1.1")[0] }
        #expect(bodies == (1...50).map { "/\($0)" })
    }

    @Test("Connection: close and HTTP/1.0 close the connection, unless the client keeps it alive")
    func ends() async throws {
        let server = try await TestServer.start { request in
            request.path == "/last" ? .text("bye", headers: ["Connection": "close"]) : .chunked([Data("ab".utf8), Data("c".utf8)])
        }
        func answer(to request: String) async throws -> String {
            try await server.client { client in
                client.send(request)
                return client.readToEnd().text
            }
        }
        let closing = try await answer(to: "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(closing.contains("Connection: close") && closing.hasSuffix("\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"))
        #expect(try await answer(to: "GET / HTTP/1.0\r\n\r\n").hasSuffix("Content-Length: 3\r\nConnection: close\r\n\r\nabc"))
        let both = try await answer(to: "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET /last HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(both.contains("Connection: keep-alive") && both.hasSuffix("\r\n\r\nbye"))
    }

    @Test("responses to HEAD, and statuses without a body, have no body on the wire")
    func headAndBodylessStatusesHaveNoBodyOnTheWire() async throws {
        let server = try await TestServer.start { request in
            switch request.path {
            case "/204": .text("no", status: 204)
            case "/304": .text("no", status: 304)
            case "/chunked": .chunked([Data("no".utf8)])
            default: .text("text")
            }
        }
        let text = try await server.client { client in
            client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nHEAD /chunked HTTP/1.1\r\nHost: x\r\n\r\n")
            client.send("GET /204 HTTP/1.1\r\nHost: x\r\n\r\nGET /304 HTTP/1.1\r\nHost: x\r\n\r\n")
            client.closeWriting()
            return client.readToEnd().text
        }
        let heads = text.components(separatedBy: "\r\n\r\n")
        #expect(heads.count == 5 && heads[4].isEmpty)
        #expect(heads[0].contains("Content-Length: 4"))
        #expect(heads[1].contains("Transfer-Encoding: chunked"))
        #expect(heads[2].hasPrefix("HTTP/1.1 204 No Content") && !heads[2].contains("Content-Length"))
        #expect(heads[3].hasPrefix("HTTP/1.1 304 Not Modified"))
    }
}
