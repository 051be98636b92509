import Foundation
import NessHTTP
import NessTesting
import Testing

// example: A loader of your own
struct Stamp: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        var request = request
        request.headers["X-Stamp"] = request[StampKey.self]
        return try await next(request)
    }
}
// end

// example: An option that a request sets and the loader reads
struct StampKey: RequestOptionKey { static let defaultValue = "none" }
// end

// example: The calls of an API, as typed requests
extension TypedRequest where Response == User {
    static func profile(_ id: Int) -> Self { .get("users/\(id)") }
}
// end

@Suite(.inTurn) struct HTTPInSwiftMigration {
    @Test func chain() async throws {
        let (_, mock) = exampleManager()
        // example: The chain: environment, print, modify, retry, throttle and the end
        let ness = Ness {
            $0.baseURL = URL(string: "https://api.example.com/")
            $0.observers = [RequestLogger { print($0) }]
            $0.insert(.modifyRequest { $0.headers["X-Id"] = "1" }, at: .authenticated)
            $0.loaders = [Stamp()]
            $0.retryControl = BackoffRetryControl(maxRetryCount: 3)
            $0.throttle = ThrottleLimit(rate: 10, burst: 20)
            $0.transport = mock  // in this test
        }
        // end
        // example: Set the option
        let answer = ness.httpRequest(withUrl: "users").set(option: StampKey.self, to: "guide").dataRequest()
        // end
        _ = try await answer.value
        #expect(mock.requests.first?.headers["X-Stamp"] == "guide")
        #expect(mock.requests.first?.headers["X-Id"] == "1")
    }

    @Test func typed() async throws {
        let (ness, _) = exampleManager()
        // example: Send one of them
        let user = try await ness.request(.profile(1)).value
        // end
        #expect(user.name == "Ada")
    }

    @Test func bodies() async throws {
        let (ness, mock) = exampleManager()
        // example: Bodies of each kind bring their own headers
        let json = ness.httpRequest(.post, withUrl: "users").set(jsonBody: ["name": "Ada"]).dataRequest()
        let form = ness.httpRequest(.post, withUrl: "users").set(form: ["name": "Ada"]).dataRequest()
        // end
        _ = try await Promise.all(json, form).value
        #expect(mock.requests.count == 2)
    }

    @Test func reset() async throws {
        let (ness, _) = exampleManager()
        // example: Back to the beginning, as after a log-out
        await ness.reset()
        // end
        _ = try await ness.httpRequest(withUrl: "users").dataRequest().value
    }

    @Test func mock() async throws {
        // example: A mock loader with a queue of answers
        let mock = MockTransport()
        mock.on(nil, "/users", replies: [.status(503), .json([User(id: 1, name: "Ada")])], repeatsLast: false)
        let ness = Ness {
            $0.transport = mock; $0.baseURL = URL(string: "https://mock.test")
        }
        // end
        #expect(try await ness.httpRequest(withUrl: "users").dataRequest().value.message.statusCode == 503)
    }
}
