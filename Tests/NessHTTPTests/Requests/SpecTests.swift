import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct SpecTests {
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

    @Test("a spec's request is sent, and the response is converted to its model")
    func spec() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/items/:id") { .json(Item(id: Int($0.pathParameters["id"] ?? "") ?? 0)) }
        #expect(try await rig.ness.request(GetItem(id: 7)).value == Item(id: 7))
        #expect(rig.mock.requests.map(\.url.absoluteString) == ["https://mock.test/items/7?verbose=true"])
        #expect(rig.mock.requests.first?.headers["X-Spec"] == "yes")
    }

    @Test("a status that the spec rejects is an error with the response; a body that cannot be made sends nothing")
    func failures() async {
        let rig = Rig()
        rig.mock.on(.get, "/items/:id") { _ in .status(500) }
        let error = await rig.ness.request(GetItem(id: 7)).nessError()
        #expect(error?.kind == .validation)
        #expect(error?.response?.statusCode == 500)
        let unsent = await rig.ness.request(Unsendable()).nessError()
        #expect(unsent?.kind == .invalidRequest)
        #expect(unsent?.context.underlying is Unsendable.NoBody)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a value of a typed request's path is one segment, and cannot lead to another path")
    func pathSegments() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/items/a%2Fb%3F/1") { .json(Item(id: $0.url.absoluteString.hasSuffix("/1?q=x") ? 1 : 0)) }
        let request = TypedRequest<Item>.get("items", "a/b?", 1, query: ["q": "x"])
        #expect(try await rig.ness.request(request).value == Item(id: 1))
        #expect(await rig.ness.request(TypedRequest<Item>.get("items", "..")).nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a spec or a typed request can map 404 to a value in one line; other statuses stay errors")
    func statusFallbacks() async throws {
        struct Items: ConnectionSpec {
            let url = "items"
            let statusFallbacks: [Int: [Item]] = [404: []]
        }
        let rig = Rig()
        rig.mock.on(.get, "/items", replies: [.json([Item(id: 1)]), .text("no such list", status: 404), .status(410)])
        #expect(try await rig.ness.request(Items()).value == [Item(id: 1)])
        #expect(try await rig.ness.request(Items()).value.isEmpty)
        #expect(await rig.ness.request(Items()).nessError()?.response?.statusCode == 410)
        rig.mock.on(.post, "/items", replies: [.json(Item(id: 2), status: 201), .status(404)])
        var typed = TypedRequest<Item>(.post, "items").body(json: Item(id: 1))
        typed.statusFallbacks = [404: Item(id: 0)]
        for id in [2, 0] { #expect(try await rig.ness.request(typed).value == Item(id: id)) }
    }

    @Test("a spec's own parser handles every status that the spec accepts")
    func ownParse() async throws {
        struct Count: ConnectionSpec {
            let url = "items"
            let expectsJSON = false
            func validate(response: HTTPResponse) -> Bool { response.statusCode < 500 }
            func parseResponse(response: HTTPResponse) throws -> Int { response.statusCode == 200 ? response.body.count : 0 }
        }
        let rig = Rig()
        rig.mock.on(.get, "/items", replies: [.text("abc"), .status(404), .status(500)])
        #expect(try await rig.ness.request(Count()).value == 3)
        #expect(try await rig.ness.request(Count()).value == 0)
        #expect(await rig.ness.request(Count()).nessError()?.kind == .validation)
    }

    @Test("the halves of a spec can be separate types, and each also serves a plain request")
    func halves() async throws {
        struct Text: ResponseSpec { func parseResponse(response: HTTPResponse) throws -> String { response.text } }
        let rig = Rig()
        rig.mock.on(.get, "/items/:id") { .text("item \($0.pathParameters["id"] ?? "")") }
        #expect(try await rig.ness.request(GetItem(id: 7), parsedBy: Text()).value == "item 7")
        #expect(try await rig.ness.httpRequest(GetItem(id: 8)).dataRequest().value.message.text == "item 8")
    }

    @Test("a spec is read each time it is sent; a builder, and a request that is sent again, do not change")
    func restartAndRepeat() async throws {
        struct Counted: ConnectionSpec {
            typealias ResponseModel = Void
            let calls = Tally()
            let url = "x"
            var headers: HTTPHeaders { ["X-Call": "\(calls.enter())"] }
        }
        let rig = Rig { $0.loaders = [.followUp { $0.statusCode == 202 ? .retry : .accept }] }
        rig.mock.on(.get, "/x", replies: [.status(200), .status(200), .status(202), .status(200)])
        let spec = Counted()
        try await rig.ness.request(spec).value
        try await rig.ness.request(spec).value
        let builder = rig.ness.httpRequest(spec)
        _ = try await builder.dataRequest().value
        _ = try await builder.dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["X-Call"] } == ["0", "1", "2", "2", "2"])
    }
}
