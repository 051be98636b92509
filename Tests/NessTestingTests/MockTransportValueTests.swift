import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests values as answers of a mock.
@Suite(.inTurn) struct MockTransportValueTests {
    private struct User: Codable, Sendable, Equatable {
        var id: Int
        var name: String
        var birthday: Date?
    }

    /// A value whose encoding fails, and whose description holds a secret.
    private struct Unencodable: Encodable, Sendable {
        struct Secret: Error { let text = "hidden" }
        func encode(to encoder: any Encoder) throws { throw Secret() }
    }

    private let user = User(id: 1, name: "Tabby")

    @Test("a route returns a value to typed requests")
    func route() async throws {
        let mock = MockTransport()
        mock.on(.get, "users/:id", returning: user)
        mock.on(.get, "users", returning: [user, user], headers: ["X-Total": "2"])
        mock.on(.post, "users", returning: user, status: 201)
        mock.on(.get, "count", returning: 3)
        mock.on(.get, "nobody", returning: User?.none)
        let ness = mocked(mock)
        #expect(try await ness.get("users/1").decoded(as: User.self) == user)
        let page = try await ness.get("users").decodedResponse(as: [User].self)
        #expect(page.value == [user, user] && page.response.headers["X-Total"] == "2")
        #expect(page.response.headers["Content-Type"] == "application/json")
        let created = try await ness.post("users").decodedResponse(as: User.self)
        #expect(created.value == user && created.response.statusCode == 201)
        #expect(try await ness.get("count").decoded(as: Int.self) == 3)
        #expect(try await ness.get("nobody").decoded(as: User?.self) == nil)
    }

    @Test("a String and Data are the body itself, as typed requests read them")
    func bodies() async throws {
        let mock = MockTransport()
        mock.on(.get, "text", returning: "a \"text\"")
        mock.on(.get, "bytes", returning: Data([0, 255]))
        let ness = mocked(mock)
        #expect(try await ness.get("text").decoded(as: String.self) == "a \"text\"")
        #expect(try await ness.get("bytes").decoded(as: Data.self) == Data([0, 255]))
    }

    @Test("one request's value wins over the manager's transport, and is encoded as the manager encodes")
    func request() async throws {
        let mock = MockTransport()
        mock.on(.get, "users/1", returning: user)
        let dated = User(id: 2, name: "Tom", birthday: Date(timeIntervalSince1970: 86_400))
        let ness = mocked(mock) { configuration in
            let encoder = JSONEncoder(), decoder = JSONDecoder()
            encoder.dateEncodingStrategy = .iso8601
            decoder.dateDecodingStrategy = .iso8601
            configuration.jsonEncoder = encoder
            configuration.jsonDecoder = decoder
        }
        let request = ness.get("users/1").mock(returning: user).mock(returning: dated)
        #expect(try await request.decoded(as: User.self) == dated)
        #expect(try await request.text().contains("1970-01-02T00:00:00Z"))
        #expect(mock.requests.isEmpty)
        #expect(try await request.mock(returning: user).decoded(as: User.self) == user)
        // A route does not know the manager: it needs an encoder with the same strategies.
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        mock.on(.get, "users/2", returning: dated, with: encoder)
        #expect(try await ness.get("users/2").decoded(as: User.self) == dated)
    }

    @Test("a value that can't be encoded fails the request with a reason, and other routes still work")
    func unencodable() async throws {
        let mock = MockTransport()
        mock.on(.get, "point", returning: ["x": Double.nan])
        mock.on(.get, "secret", returning: Unencodable())
        mock.on(.get, "users/1", returning: user)
        let ness = mocked(mock)
        for request in [ness.get("point"), ness.get("users/1").mock(returning: ["x": Double.nan])] {
            let error = await #expect(throws: MockTransportError.self) { _ = try await request.decoded(as: [String: Double].self) }
            #expect(error?.description.contains("can't be encoded at \"x\"") == true, "\(error as Any)")
        }
        let error = await #expect(throws: MockTransportError.self) { _ = try await ness.get("secret").response() }
        #expect(error?.description.contains("Unencodable can't be encoded") == true)
        #expect(error?.description.contains("hidden") == false)
        #expect(try await ness.get("users/1").decoded(as: User.self) == user)
    }

    @Test("a JSON reply takes the literals that a JSON body takes")
    func literals() async throws {
        let (name, age, tag) = ("Tabby", 3, String?.none)
        let mock = MockTransport()
        mock.on(.get, "a") { _ in .json(["name": "x", "tags": [1, nil]]) }
        mock.on(.get, "b") { _ in .json([1, "two", nil, ["x": 2.5, "y": true]], status: 201, headers: ["X": "1"]) }
        mock.on(.get, "c") { _ in .json(["name": name, "age": age, "tag": tag]) }
        mock.on(.get, "d") { request in .json(["id": request.pathParameters["id"]]) }
        mock.on(.get, "e") { _ in .json(nil) }
        mock.on(.get, "f") { _ in .json("text") }
        mock.on(.get, "g") { [user] _ in .json([user]) }
        mock.on(.get, "h") { _ in .json(["x": .number(.infinity)]) }
        let ness = mocked(mock)
        func text(_ path: String) async throws -> String { try await ness.get(path).response().text }
        #expect(try await text("a") == #"{"name":"x","tags":[1,null]}"#)
        #expect(try await text("b") == #"[1,"two",null,{"x":2.5,"y":true}]"#)
        #expect(try await ness.get("c").decoded(as: JSONValue.self) == ["name": "Tabby", "age": 3, "tag": nil])
        #expect(try await text("d") == #"{"id":null}"#)
        #expect(try await text("e") == "null")
        #expect(try await text("f") == #""text""#)
        #expect(try await ness.get("g").decoded(as: [User].self) == [user])
        #expect(try await ness.get("h").response().statusCode == 500)
        let created = try await ness.get("b").response()
        #expect(created.statusCode == 201 && created.headers["X"] == "1" && created.headers["Content-Type"] == "application/json")
    }
}
