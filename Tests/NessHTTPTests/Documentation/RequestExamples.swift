import Dispatch
import Foundation
import NessHTTP
import NessTesting
import Testing

/// The examples of managers, requests, bodies and results: see `DocumentationExamples`.
@Suite(.inTurn) struct RequestExamples {
    @MainActor private final class Label {
        var text = ""
    }

    @MainActor private final class Spinner {
        var isHidden = true
    }

    private actor Database {
        func save(_ user: User) throws {}
    }

    private struct Entry: Decodable, Sendable {
        let text: String
    }

    private struct Progress: Decodable, Sendable {
        let isDone: Bool
    }

    private struct GetStatus: ConnectionSpec {
        typealias ResponseModel = Progress
        let url = "status"
    }

    // MARK: managers

    private func manager(_ show: @escaping @MainActor @Sendable (User) -> Void) {
        let ness = Ness {
            $0.baseURL = URL(string: "https://api.example.com/v1/")
            $0.defaultHeaders = ["Accept-Language": "en"]
        }
        ness.httpRequest(.get, withUrl: "users/1")
            .validate(statusCodes: 200..<300)
            .dataRequest()
            .then { result -> User in try result.message.parseJSONBody() }
            .then(onMain: { user in show(user) })
            .handle { error in print(error) }
    }

    private func places(_ configuration: inout Ness.Configuration, now: @escaping @Sendable () -> String) {
        struct Stamp: HTTPLoader {
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) }
        }

        configuration.insert(Stamp(), at: .call)
        configuration.insert(.modifyRequest { $0.headers["Date"] = now() }, at: .authenticated)
    }

    private func loaders(device: String, login: @escaping @Sendable () async throws -> Void) -> Ness {
        let ness = Ness {
            $0.loaders = [
                .modifyRequest { request in request.headers["X-Device"] = device },
                .modifyResponse { response in response.headers["X-Seen"] = "yes" },
                .followUp { response in
                    guard response.statusCode == 401 else { return .accept }
                    try await login()
                    return .retry
                },
            ]
        }
        return ness
    }

    private func environment(_ ness: Ness, staging: URL, stagingToken: String) {
        ness.environment = ServerEnvironment(baseURL: staging, authentication: BearerAuthentication(token: stagingToken))
    }

    private func options() {
        struct TraceKey: RequestOptionKey { static let defaultValue = "" }

        let ness = Ness { $0.loaders = [.modifyRequest { request in print(request[TraceKey.self]) }] }
        ness.httpRequest(withUrl: "users").set(option: TraceKey.self, to: "list").dataRequest()
    }

    @MainActor private func activity(_ spinner: Spinner) -> Ness {
        let counter = ActivityCounter(onMain: { count in spinner.isHidden = count == 0 })
        let ness = Ness { $0.observers = [counter] }
        return ness
    }

    private func logger(log: @escaping @Sendable (RequestLogger.Level, String) -> Void) -> (Ness, RequestLogger) {
        let ness = Ness { $0.observers = [RequestLogger { print($0) }] }
        let leveled = RequestLogger(.full, from: .warning) { level, text in log(level, text) }
        return (ness, leveled)
    }

    private func cache() -> Ness {
        let ness = Ness { $0.cache = HTTPCache(memoryLimit: 10 << 20) }
        return ness
    }

    private func cookies() -> Ness {
        let jar = CookieJar()
        let ness = Ness { $0.cookies = jar }
        return ness
    }

    @Test("a delegate that has only the method it needs changes the requests") func delegate() async throws {
        final class Stamp: NetworkSessionManagerDelegate {
            func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
                var request = request
                request.headers["X-Stamp"] = "1"
                return request
            }
        }

        let rig = Rig(onUnmatched: .reply(.status(200))), stamp = Stamp()
        rig.ness.delegate = stamp
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["X-Stamp"] } == ["1"])
    }

    @Test("a transport of a few lines answers the requests of a manager") func transport() async throws {
        struct Canned: Transport {
            func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
                try await receive(.head(statusCode: 200, headers: [:]))
                try await receive(.body(Data("canned".utf8)))
            }
        }

        let ness = Ness { $0.transport = Canned() }
        #expect(try await ness.httpRequest(withUrl: "http://x").dataRequest().value.message.text == "canned")
    }

    // MARK: bodies and values

    @Test("an encoder for one type of body takes a few lines") func encoder() throws {
        let ness = Ness()
        struct CSVEncoder: HTTPBodyEncoder {
            var relatedHeaders: [String: String]? { ["Content-Type": "text/csv"] }
            func encode(_ rows: [[String]]) throws -> Data { Data(rows.map { $0.joined(separator: ",") }.joined(separator: "\r\n").utf8) }
        }

        let request = ness.httpRequest(.post, withUrl: "cats").set(body: [["Tabby", "3"], ["Tom", "5"]], with: CSVEncoder())
        ness.environment = ServerEnvironment(baseURL: try url("http://x"))
        #expect(try request.build().body?.data == Data("Tabby,3\r\nTom,5".utf8))
    }

    @Test("values of header fields, queries and JSON are as their examples say") func values() throws {
        var headers: HTTPHeaders = ["Accept": "application/json"]
        headers.add("a=1", for: "Cookie")
        let accept = headers["accept"]
        #expect(accept == "application/json")

        let cursor: String? = nil
        let query: URLQuery = ["page": 1, "q": "cute cats", "tags": ["x", "y"], "filter": ["a": "b"], "after": cursor]
        let text = query.encoded
        #expect(text == "page=1&q=cute%20cats&tags=x&tags=y&filter%5Ba%5D=b")

        let body: JSONValue = ["name": "Fluffles", "age": 3, "tags": ["a", 1, true, nil]]
        let tag = body["tags"]?[0]?.stringValue
        let bytes = try body.encoded()
        #expect(tag == "a" && bytes == Data(#"{"age":3,"name":"Fluffles","tags":["a",1,true,null]}"#.utf8))
    }

    private func bodies(_ user: User, _ url: URL) throws -> [HTTPBody] {
        let body = try HTTPBody.json(encoding: user)
        let film = HTTPBody(file: url, contentType: "video/mp4")
        return [body, film]
    }

    private func form(_ url: URL) -> MultipartForm {
        var form = MultipartForm()
        form.append("tabby", named: "color")
        form.append(file: url, named: "photo", contentType: "image/jpeg")
        return form
    }

    // MARK: results

    @Test("a spec of a few lines describes a call of an API") func spec() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/users/:id") { _ in .json(User(id: 1, name: "Tabby")) }
        let ness = rig.ness

        struct GetUser: ConnectionSpec {
            typealias ResponseModel = User
            let id: Int
            var url: String { "users/\(id)" }
        }
        let user = try await ness.request(GetUser(id: 1)).value
        #expect(user.name == "Tabby")
    }

    @Test("the calls of an API can share a base in an extension") func sharedSpec() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/shop/v2/orders", replies: [.json([Order(number: 7)]), .status(404)])
        #expect(try await rig.ness.request(Orders()).value.map(\.number) == [7])
        #expect(try await rig.ness.request(Orders()).value.isEmpty)
    }

    @Test("an API can be a list of typed requests") func typedRequest() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/users/42") { _ in .json(User(id: 42, name: "Tabby")) }
        let ness = rig.ness

        let user = try await ness.request(.user(42)).value
        #expect(user.id == 42)
    }

    private func problems(_ ness: Ness) {
        ness.httpRequest(withUrl: "users/1")
            .dataRequest(decoding: User.self, decodingErrors: APIProblem.self)
            .handle { error in
                if let problem = (error as? NessError)?.underlying as? APIProblem { print(problem.title ?? "") }
            }
    }

    private func streams(_ ness: Ness) async throws {
        for try await line in ness.httpRequest(.get, withUrl: "log").streamRequest().lines { print(line) }
        for try await entry in ness.httpRequest(withUrl: "log").streamRequest(decoding: Entry.self) { print(entry) }
        for try await status in ness.poll(GetStatus(), every: .seconds(5)) {
            if status.isDone { break }
        }
    }

    private func conditional(_ request: RequestBuilder, to file: URL, _ show: (URL) -> Void) async throws {
        switch try await request.downloadRequestIfChanged(forSavedLocation: file).value {
        case .fetched(let new): show(new.dataLocalURL)
        case .unchanged: break
        }
    }

    // MARK: promises

    private func handlers(_ promise: Promise<String>, _ label: Label, _ queue: DispatchQueue) {
        promise.then { name in print(name) }
        promise.then(on: queue) { name in print(name) }
        promise.then(on: .immediate) { name in print(name) }
        promise.then(onMain: { name in label.text = name })
    }

    @MainActor private final class Screen {
        var title = ""

        func show(_ user: Promise<User>) {
            user.then(onMain: { [weak self] user in self?.title = user.name })
        }
    }

    private func asynchronousHandler(_ request: RequestBuilder, _ database: Database) {
        request.dataRequest(decoding: User.self)
            .then { user in try await database.save(user) }
            .handle { error in print(error) }
    }
}

// The following examples contain extensions, so they stand outside of a function.

private let shopDecoder = JSONDecoder()

struct Order: Codable, Sendable {
    let number: Int
}

protocol ShopSpec: ConnectionSpec { var path: String { get } }

extension ShopSpec {
    var url: String { "shop/v2/\(path)" }
    var headers: HTTPHeaders { ["Accept": "application/json"] }
    func prepare(_ builder: RequestBuilder) -> RequestBuilder { builder.group("shop").set(timeout: .seconds(10)) }
}
extension ShopSpec where ResponseModel: Decodable {
    func parseResponse(response: HTTPResponse) throws -> ResponseModel { try response.parseJSONBody(with: shopDecoder) }
}

struct Orders: ShopSpec {
    let path = "orders"
    let statusFallbacks: [Int: [Order]] = [404: []]
}

extension TypedRequest where Response == User {
    static func user(_ id: Int) -> Self { .get("users/\(id)") }
}
