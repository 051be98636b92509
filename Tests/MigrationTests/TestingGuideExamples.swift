// swift-format-ignore-file

import Foundation
import NessHTTP
import NessTesting
import Testing

/// The examples of the article TestingWithMocks, word for word: `GuideTests` compares them.
@Suite(.inTurn) struct TestingGuideExamples {
    private func rig() -> (MockTransport, Ness) {
        let mock = MockTransport()
        let ness = Ness { $0.transport = mock; $0.baseURL = URL(string: "https://api.example.com/v1/") }
        return (mock, ness)
    }

    @Test("a manager over a mock gets values") func values() async throws {
        let mock = MockTransport()
        let ness = Ness { $0.transport = mock; $0.baseURL = URL(string: "https://api.example.com/v1/") }

        mock.on(.get, "users/1", returning: User(id: 1, name: "Ada"))
        mock.on(.get, "cats/:name") { request in .json(["name": .string(request.pathParameters["name"] ?? ""), "tags": ["tabby", 1, nil]]) }
        mock.on(.post, "users", replies: [.status(503), .failure(.timedOut), .status(201)])

        let user = try await ness.get("users/1").decoded(as: User.self)
        #expect(user.name == "Ada")
        #expect(try await ness.get("cats/Tom").decoded(as: JSONValue.self) == ["name": "Tom", "tags": ["tabby", 1, nil]])
    }

    @Test("one request is answered") func one() async throws {
        let (_, ness) = rig()
        let user = try await ness.get("users/1").mock(returning: User(id: 1, name: "Ada")).decoded(as: User.self)
        let missing = try await ness.get("users/2").mock(.status(404)).response()
        #expect(user.id == 1 && missing.statusCode == 404)
    }

    @Test("a test sees what was sent") func sent() async throws {
        let (mock, ness) = rig()
        mock.on(.post, "users") { _ in .status(201) }
        _ = try await ness.post("users").set(jsonBody: ["name": "Ada"]).response()
        #expect(mock.requests.map(\.url.path) == ["/v1/users"])
        #expect(try mock.received[0].decodeJSON([String: String].self) == ["name": "Ada"])
    }

    @Test("a server misbehaves") func broken() async throws {
        let (mock, ness) = rig()
        mock.on(.get, "films/1", misbehaving: "reset-in-body")
        do {
            _ = try await ness.get("films/1").data()
        } catch let error as NessError {
            #expect(error.kind == .connectionLost && error.response?.body.isEmpty == false)
        }
    }

    @Test("time passes by the test's command") func time() async throws {
        let clock = ManualClock()
        let mock = MockTransport()
        let ness = Ness { $0.transport = mock; $0.clock = clock; $0.baseURL = URL(string: "https://api.example.com/v1/") }

        mock.on(.get, "films/1", misbehaving: "stall-after-request")
        let film = ness.get("films/1").dataRequest()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        let outcome = await film.settled
        #expect(throws: NessError.self) { try outcome.get() }
    }

    @Test("delays take no time") func delays() async throws {
        let clock = ManualClock(advancesAutomatically: true)
        let mock = MockTransport()
        let ness = Ness { $0.transport = mock; $0.clock = clock; $0.baseURL = URL(string: "https://api.example.com/v1/") }

        mock.on(.get, "users", replies: [.status(503, headers: ["Retry-After": "10"]), .json([User(id: 1, name: "Ada")])])
        let users = try await ness.get("users").set(retry: BackoffRetryControl(maxRetryCount: 1)).decoded(as: [User].self)
        #expect(users.count == 1 && clock.sleeps == [.seconds(10)])
    }

    @Test("a test waits for requests that wait") func waiting() async throws {
        let (mock, ness) = rig()
        mock.on(.get, "users/:id") { _ in .status(204) }

        ness.maximumConnectionsPerHost = 0
        let promises = (1...3).map { ness.get("users/\($0)").dataRequest() }
        try await ness.waitForRequests(3, at: .hostQueue)
        promises[1].drop()
        ness.maximumConnectionsPerHost = 6
        #expect(try await promises[2].value.message.statusCode == 204)
    }
}
