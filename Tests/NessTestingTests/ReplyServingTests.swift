import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests how a `TestServer` sends the replies that a mock also accepts.
@Suite(.inTurn) struct ReplyServingTests {
    @Test("a failure reply resets the connection") func aFailureResetsTheConnection() async throws {
        let server = try await TestServer.start { _ in .failure(.timedOut) }
        let answer = try await offPool {
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return client.readToEnd()
        }
        #expect(answer.end == .reset && answer.text.isEmpty)
        await server.stop()
    }

    @Test("a delayed reply reaches a client that has closed its sending side")
    func aDelayedReplyComesAlsoToAPeerThatSendsNoMore() async throws {
        let server = try await TestServer.start { _ in .text("late").delayed(by: .milliseconds(5)) }
        let start = ContinuousClock.now
        let answer = try await offPool {
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            client.closeWriting()
            return client.readToEnd().text
        }
        #expect(answer.hasSuffix("\r\n\r\nlate"))
        #expect(ContinuousClock.now - start >= .milliseconds(5))
        await server.stop()
    }
}
