import Foundation
import NessTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct ChatTests {
    private struct Asked: Decodable {
        struct Message: Decodable { let role, content: String }
        let model: String
        let stream: Bool
        let messages: [Message]
    }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    private static func event(_ text: String) -> String { #"data: {"choices":[{"delta":{"content":"\#(text)"}}]}"# + "\n\n" }

    private static let end = #"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"# + "\n\ndata: [DONE]\n\n"

    private static let whole = Reply.script([.send(head + event("Hel") + event("lo") + end)])

    private func start(_ server: TestServer, _ prompt: String = "Say hello") throws -> Program {
        try Program("chat", ["--base-url", server.url.absoluteString + "/v1", prompt], environment: ["OPENAI_API_KEY": "key-of-the-test"])
    }

    @Test("prints the reply while it arrives")
    func streams() async throws {
        let go = TestGate()
        let server = try await TestServer.start { _ in
            .script([.send(Self.head + Self.event("Hel")), .wait(go), .send(Self.event("lo") + Self.end)])
        }
        let program = try start(server)
        await program.wait(for: "Hel")
        #expect(program.output == "Hel")
        go.open()
        #expect(await program.end() == 0)
        #expect(program.output == "Hello\n")
        #expect(program.errors.isEmpty)

        let request = try #require(server.requests.first)
        #expect(request.path == "/v1/chat/completions")
        #expect(request.headers["Authorization"] == "Bearer key-of-the-test")
        let asked = try request.decodeJSON(Asked.self)
        #expect(asked.stream)
        #expect(asked.messages.map(\.content) == ["Say hello"])
    }

    @Test("after a 429 it retries when the time in Retry-After is over")
    func retries() async throws {
        let clock = ContinuousClock()
        let times = Mutex<[ContinuousClock.Instant]>([])
        let server = try await TestServer.start { _ in
            let count = times.withLock { times in
                times.append(clock.now)
                return times.count
            }
            return count == 1 ? .status(429, headers: ["Retry-After": "2"]) : Self.whole
        }
        let program = try start(server)
        #expect(await program.end() == 0)
        #expect(program.output == "Hello\n")
        let asked = times.withLock { $0 }
        try #require(asked.count == 2)
        #expect(asked[1] - asked[0] >= .seconds(2))
    }

    @Test("an API error exits with code 1 and prints the API's own message, without the key")
    func refusal() async throws {
        let server = try await TestServer.start { _ in .json(["error": ["message": "the key is wrong"]], status: 401) }
        let program = try start(server)
        #expect(await program.end() == 1)
        #expect(program.errors.hasPrefix("chat: the key is wrong\n"))
        #expect(!program.errors.contains("key-of-the-test"))
        #expect(server.requestCount == 1)
    }

    @Test("a reply that has started is not requested again", arguments: [ConnectionStep.reset, .close])
    func interruptedAnswer(step: ConnectionStep) async throws {
        // The reset waits until the text has arrived, because it may take unread bytes with it.
        let go = TestGate()
        let server = try await TestServer.start { _ in .script([.send(Self.head + Self.event("Hel")), .wait(go), step]) }
        let program = try start(server)
        await program.wait(for: "Hel")
        go.open()
        #expect(await program.end() == 1)
        #expect(program.output == "Hel\n")
        #expect(program.errors.hasPrefix("chat: "))
        #expect(server.requestCount == 1)
    }

    @Test("an error in the middle of a reply exits with code 1")
    func errorEvent() async throws {
        let server = try await TestServer.start { _ in
            .script([.send(Self.head + Self.event("Hel") + #"data: {"error":{"message":"overloaded"}}"# + "\n\n")])
        }
        let program = try start(server)
        #expect(await program.end() == 1)
        #expect(program.errors == "chat: overloaded\n")
    }

    @Test("Ctrl-C ends the reply, closes the connection, and exits with code 130")
    func interruption() async throws {
        let server = try await TestServer.start { _ in .script([.send(Self.head + Self.event("Hel")), .stall]) }
        let program = try start(server)
        await program.wait(for: "Hel")
        program.interrupt()
        #expect(await program.end() == 130)
        #expect(program.output == "Hel\n")
        #expect(program.errors.isEmpty)
        await server.waitUntil { $0.openConnections == 0 }
    }

    @Test("Ctrl-C ends the wait for Retry-After as well")
    func interruptedWait() async throws {
        let server = try await TestServer.start { _ in .status(429, headers: ["Retry-After": "100"]) }
        let program = try start(server)
        await server.waitUntil { $0.requestCount == 1 && $0.busyConnections == 0 }
        program.interrupt()
        #expect(await program.end() == 130)
        #expect(server.requestCount == 1)
    }
}
