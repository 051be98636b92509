import Foundation
import NessHTTP
import NessTesting
import Testing

/// The examples of mocks: routes below the base URL, values, misbehaviours and waits. See `DocumentationExamples`.
@Suite(.inTurn) struct MockExamples {
    private func rig() -> (MockTransport, Ness) {
        let mock = MockTransport()
        let ness = Ness {
            $0.transport = mock
            $0.baseURL = URL(string: "https://api.example.com/v1/")
        }
        return (mock, ness)
    }

    @Test("a route below the base URL answers the request of the same text") func relative() async throws {
        let mock = MockTransport()
        mock.on(.get, "users/1", returning: User(id: 1, name: "Tabby"))
        let ness = Ness {
            $0.transport = mock
            $0.baseURL = URL(string: "https://api.example.com/v1/")
        }
        let user = try await ness.get("users/1").decoded(as: User.self)
        #expect(user.name == "Tabby")
    }

    @Test("a route and a request return values") func values() async throws {
        let (mock, ness) = rig()
        try await route(mock, ness)
        let user = try await ness.get("users/1").mock(returning: User(id: 1, name: "Tabby")).decoded(as: User.self)
        #expect(user.name == "Tabby")
    }

    private func route(_ mock: MockTransport, _ ness: Ness) async throws {
        mock.on(.get, "users/:id", returning: User(id: 1, name: "Tabby"))
        let user = try await ness.get("users/1").decoded(as: User.self)
        #expect(user.id == 1)
    }

    @Test("a reply takes literals") func literals() async throws {
        let (mock, ness) = rig()
        mock.on(.get, "cats/1") { _ in .json(["name": "Fluffles", "tags": ["tabby", 1, nil]]) }
        #expect(try await ness.get("cats/1").text() == #"{"name":"Fluffles","tags":["tabby",1,null]}"#)
    }

    @Test("a route misbehaves") func misbehaviour() async throws {
        let (mock, ness) = rig()
        mock.on(.get, "films/1", misbehaving: "reset-in-body")
        let outcome = await ness.get("films/1").dataRequest().settled  // NessError.connectionLost, with half of the body
        let error = #expect(throws: NessError.self) { try outcome.get() }
        #expect(error?.kind == .connectionLost && error?.response?.body.isEmpty == false)
    }

    @Test("a test waits until requests are in the queue") func waits() async throws {
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
