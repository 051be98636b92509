import Foundation
import NessHTTP
import NessTesting
import Testing

@testable import TasksClient

/// The client without a socket and without waiting: a mock answers, and a manual clock jumps over each delay.
@Suite struct TasksClientTests {
    private struct Tokens: Encodable {
        let access, refresh: String
        let expiresIn = 600.0
    }

    private let mock = MockTransport()
    private let clock = ManualClock(advancesAutomatically: true)

    private let client: TasksClient

    /// The requests so far, as text.
    private var asked: [String] { mock.received.map { "\($0.method.rawValue) \($0.target)" } }

    init() throws {
        client = TasksClient(
            baseURL: try #require(URL(string: "https://tasks.test/v1")), user: "ada", password: "secret",
            // The time of day follows the manual clock.
            now: { [clock] in Date(timeIntervalSince1970: clock.now.offset / .seconds(1)) }
        ) { [mock, clock] in
            $0.transport = mock
            $0.clock = clock
        }
        mock.on(.post, "login", replies: [.json(Tokens(access: "a1", refresh: "r1"))])
        mock.on(.post, "token", replies: [.json(Tokens(access: "a2", refresh: "r2"))])
        mock.on(.post, "tasks") { .json(TaskItem(id: 1, title: $0.headers["Authorization"] ?? "none")) }
    }

    @Test("two concurrent requests cause one login")
    func login() async throws {
        let go = TestGate()
        mock.on(.post, "login") { _ in
            await go.wait()
            return .json(Tokens(access: "a1", refresh: "r1"))
        }
        async let one = client.add(title: "wash"), other = client.add(title: "dry")
        try await client.ness.waitForRequests(2, at: .refresh)
        go.open()
        #expect(try await [one.title, other.title] == ["Bearer a1", "Bearer a1"])
        #expect(asked == ["POST /v1/login", "POST /v1/tasks", "POST /v1/tasks"])
    }

    @Test("a token that is about to expire is renewed before it is sent")
    func expiry() async throws {
        #expect(try await client.add(title: "wash").title == "Bearer a1")
        clock.advance(by: .seconds(600))
        #expect(try await client.add(title: "dry").title == "Bearer a2")
        #expect(asked == ["POST /v1/login", "POST /v1/tasks", "POST /v1/token", "POST /v1/tasks"])
        #expect(try mock.received[2].decodeJSON([String: String].self) == ["refresh": "r1"])
        #expect(mock.received[2].headers["Authorization"] == nil)
    }

    @Test("after a 401 the token is renewed, and the request is sent again")
    func unauthorized() async throws {
        mock.on(.post, "tasks") { request in
            request.headers["Authorization"] == "Bearer a2" ? .json(TaskItem(id: 1, title: "wash")) : .status(401)
        }
        #expect(try await client.add(title: "wash").id == 1)
        #expect(asked == ["POST /v1/login", "POST /v1/tasks", "POST /v1/token", "POST /v1/tasks"])
    }

    @Test("if the server rejects the refresh token, the client logs in again")
    func refusedRefresh() async throws {
        mock.on(.post, "token", replies: [.status(401)])
        _ = try await client.add(title: "wash")
        clock.advance(by: .seconds(600))
        _ = try await client.add(title: "dry")
        #expect(asked == ["POST /v1/login", "POST /v1/tasks", "POST /v1/token", "POST /v1/login", "POST /v1/tasks"])
    }

    @Test("the next page is requested when the loop needs it")
    func pages() async throws {
        mock.on(.get, "tasks", replies: [.json([TaskItem(id: 1, title: "wash")], headers: ["Link": "<tasks?page=2>; rel=\"next\""])])
        mock.on(.get, "tasks?page=2", replies: [.json([TaskItem(id: 2, title: "dry")])])
        var titles: [String] = []
        for try await page in client.pages() {
            titles += page.map(\.title)
            if titles.count == 1 { #expect(asked.last == "GET /v1/tasks") }
        }
        #expect(titles == ["wash", "dry"])
    }

    @Test("a request to a busy server is retried after the time in Retry-After")
    func retry() async throws {
        mock.on(.get, "tasks", replies: [.status(503, headers: ["Retry-After": "7"]), .json([TaskItem]())])
        for try await page in client.pages() { #expect(page.isEmpty) }
        #expect(clock.sleeps == [.seconds(7)])
    }

    @Test("a task that may have been added is not added again")
    func noRetry() async throws {
        mock.on(.post, "tasks", replies: [.failure(.connectionLost)])
        await #expect { try await client.add(title: "wash") } throws: { ($0 as? NessError)?.kind == .connectionLost }
        #expect(asked.count { $0 == "POST /v1/tasks" } == 1)
    }

    @Test("an attachment is a form with the file, and its progress ends at 1")
    func attachment() async throws {
        mock.on(.post, "tasks/1/attachments", replies: [.json(Attachment(name: "note.txt", size: 5))])
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).txt")
        try Data("12345".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var fractions: [Double] = []
        let attachment = try await client.attach(file, to: 1) { fractions.append($0) }
        #expect(attachment == Attachment(name: "note.txt", size: 5))
        let body = try #require(mock.received.last?.bodyText)
        #expect(body.contains("name=\"file\""))
        #expect(body.contains("12345"))
        #expect(fractions.last == 1)
    }

    @Test("the API's own error is the error's cause")
    func problem() async throws {
        mock.on(.post, "tasks", replies: [.json(["title": "no title", "detail": "a task needs a title"], status: 422)])
        await #expect { try await client.add(title: "") } throws: { error in
            ((error as? NessError)?.underlying as? APIProblem)?.detail == "a task needs a title"
        }
    }
}
