import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.inTurn) struct SpecTests {
    struct Item: Codable, Sendable, Equatable { let id: Int }

    struct GetItem: ConnectionSpec {
        typealias ResponseModel = Item
        let id: Int
        var url: String { "items/\(id)" }
        var headers: HTTPHeaders { ["X-Spec": "yes"] }
        var urlQuery: URLQuery? { ["verbose": true] }
    }

    struct Unsendable: ConnectionSpec {
        typealias ResponseModel = Item
        struct NoBody: Error {}
        var url: String { "items" }
        var httpMethod: HTTPMethod { .post }
        func body() throws -> HTTPBody? { throw NoBody() }
    }

    private func manager(_ mock: MockTransport, _ clock: any Clock<Duration> = ContinuousClock()) -> Ness {
        Ness {
            $0.transport = mock
            $0.clock = clock
            $0.baseURL = URL(string: "https://mock.test")
        }
    }

    @Test("a spec sends what it says and its model comes back")
    func spec() async throws {
        let mock = MockTransport()
        mock.on(.get, "/items/:id") { .json(Item(id: Int($0.pathParameters["id"] ?? "") ?? 0)) }
        #expect(try await manager(mock).request(GetItem(id: 7)).value == Item(id: 7))
        #expect(mock.requests.map(\.url.absoluteString) == ["https://mock.test/items/7?verbose=true"])
        #expect(mock.requests.first?.headers["X-Spec"] == "yes")
    }

    @Test("a status that the spec does not take is an error with the response; a body that can't be made sends nothing")
    func failures() async {
        let mock = MockTransport()
        mock.on(.get, "/items/:id") { _ in .status(500) }
        let error = await manager(mock).request(GetItem(id: 7)).nessError()
        #expect(error?.kind == "validation")
        #expect(error?.response?.statusCode == 500)
        let unsent = await manager(mock).request(Unsendable()).nessError()
        #expect(unsent?.kind == "invalidRequest")
        #expect(unsent?.context.underlying is Unsendable.NoBody)
        #expect(mock.requests.count == 1)
    }

    @Test("a typed request decodes, and makes a value of a status if it is told to")
    func typed() async throws {
        let mock = MockTransport()
        mock.on(.get, "/items") { _ in .status(404) }
        mock.on(.post, "/items") { .json(Item(id: try $0.decodeJSON(Item.self).id + 1), status: 201) }
        let none: [Item] = try await manager(mock).request(TypedRequest<[Item]>.get("items").mapping(statusCode: 404, to: [])).value
        #expect(none.isEmpty)
        let made = try await manager(mock).request(TypedRequest<Item>.post("items", json: Item(id: 1))).value
        #expect(made == Item(id: 2))
    }

    @Test("polling goes on after network errors, ends on a refused response, and waits on the clock")
    func polling() async throws {
        let mock = MockTransport()
        mock.on(
            .get, "/items/:id", replies: [.json(Item(id: 1)), .failure(.timedOut), .json(Item(id: 2)), .status(500)])
        let clock = ManualClock(advancesAutomatically: true)
        var seen: [Int] = []
        do {
            for try await item in manager(mock, clock).poll(GetItem(id: 1), every: .seconds(30)) { seen.append(item.id) }
            Issue.record("polling ended without an error")
        } catch {
            #expect((error as? NessError)?.kind == "validation")
        }
        #expect(seen == [1, 2])
        #expect(clock.sleeps == [.seconds(30), .seconds(30), .seconds(30)])
    }
}
