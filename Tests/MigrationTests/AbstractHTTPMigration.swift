import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.inTurn) struct AbstractHTTPMigration {
    @Test func simple() async throws {
        let (ness, _) = exampleManager()
        // example: The shortest call: a URL in, text out
        let shown = ness.httpRequest(withUrl: "users").dataRequest().then { print($0.message.text) }
        // end
        try await shown.value
    }

    // example: An API call as a type
    struct GetUser: ConnectionSpec {
        typealias ResponseModel = User
        let id: Int
        var url: String { "users/\(id)" }
    }
    // end

    @Test func spec() async throws {
        let (ness, _) = exampleManager()
        // example: Send it
        let shown = ness.request(GetUser(id: 1)).then(onMain: { user in print(user.name) })
        // end
        try await shown.value
    }

    // example: A 404 that stands for an empty list
    struct GetMissing: ConnectionSpec {
        let url = "missing"
        let statusFallbacks: [Int: [User]] = [404: []]
    }
    // end

    @Test func standIn() async throws {
        let (ness, _) = exampleManager()
        #expect(try await ness.request(GetMissing()).value.isEmpty)
    }

    // example: A listener for all that happens
    struct Listener: RequestObserver {
        func requestDidStart(_ request: HTTPRequest) { print("start") }
        func verdict(on response: HTTPResponse, to request: HTTPRequest) -> ResponseValidatorResult {
            response.headers.contains("X-Maintenance") ? .invalidWithReason("maintenance") : .valid
        }
        func requestDidFail(_ request: HTTPRequest, with error: any Error) { print(error) }
        func requestDidEnd(_ request: HTTPRequest) { print("end") }
    }
    // end

    @Test func listeners() async throws {
        // example: Listen, count for an indicator, and log
        let ness = Ness { $0.observers = [Listener(), ActivityCounter(onMain: { print($0) }), RequestLogger { print($0) }] }
        // end
        let request = ness.httpRequest(withUrl: "https://api.example.com/users").mock(.status(200, headers: ["X-Maintenance": "1"]))
        let answer = request.dataRequest()
        await #expect(throws: NessError.self) { _ = try await answer.value }
    }

    @Test func polling() async throws {
        let (ness, mock) = exampleManager()
        mock.on(.get, "/users/1", replies: ["Ada", "Ada", "Grace"].map { .json(User(id: 1, name: $0)) })
        // example: Ask again every five seconds, until there is enough
        for try await user in ness.poll(GetUser(id: 1), every: .seconds(5)) {
            print(user.name)
            if user.name == "Grace" { break }
        }
        // end
        #expect(mock.requests.count == 3)
    }

    // example: A connector of your own
    struct Canned: Transport {
        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            try await receive(.head(statusCode: 200, headers: [:]))
            try await receive(.body(Data("canned".utf8)))
        }
    }
    // end

    @Test func connector() async throws {
        let ness = Ness { $0.transport = Canned() }
        #expect(try await ness.httpRequest(withUrl: "https://example.com").dataRequest().value.message.text == "canned")
    }
}
