import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests how a `TestServer` sends the replies that a mock also accepts.
@Suite(.inTurn) struct ReplyServingTests {
    @Test("a failure reply resets the connection") func aFailureResetsTheConnection() async throws {
        let server = try await TestServer.start { _ in .failure(.timedOut) }
        let answer = try await server.client { client in
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return client.readToEnd()
        }
        #expect(answer.end == .reset && answer.text.isEmpty)
    }

    @Test("a delayed reply reaches a client that has closed its sending side")
    func aDelayedReplyComesAlsoToAPeerThatSendsNoMore() async throws {
        let server = try await TestServer.start { _ in .text("late").delayed(by: .milliseconds(5)) }
        let start = ContinuousClock.now
        let answer = try await server.client { client in
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            client.closeWriting()
            return client.readToEnd().text
        }
        #expect(answer.hasSuffix("\r\n\r\nlate"))
        #expect(ContinuousClock.now - start >= .milliseconds(5))
    }

    @Test("a file is sent whole, or in the requested range of its current version")
    func file() async throws {
        let content = Data("0123456789".utf8)
        func reply(_ headers: HTTPHeaders) async throws -> HTTPResponse {
            let mock = MockTransport()
            mock.on(.get, "/f") { .file(content, for: $0) }
            return try await Ness { $0.transport = mock }.get("https://mock.test/f").set(headers: headers).response()
        }
        let cases: [(String, String?, Int, String?, String)] = [
            ("bytes=2-4", nil, 206, "bytes 2-4/10", "234"), ("bytes=7-", "\"v1\"", 206, "bytes 7-9/10", "789"),
            ("bytes=7-99", nil, 206, "bytes 7-9/10", "789"), ("bytes=7-3", nil, 206, "bytes 7-7/10", "7"),
            ("bytes=10-", nil, 416, "bytes */10", ""), ("bytes=2-4", "\"v0\"", 200, nil, "0123456789"),
            ("bytes=-3", nil, 200, nil, "0123456789"), ("bytes=99999999999999999999-", nil, 416, "bytes */10", ""),
        ]
        for (range, condition, status, contentRange, body) in cases {
            var headers: HTTPHeaders = ["Range": range]
            if let condition { headers["If-Range"] = condition }
            let response = try await reply(headers)
            #expect(response.statusCode == status && response.headers["Content-Range"] == contentRange && response.text == body, "\(range)")
        }
    }
}
