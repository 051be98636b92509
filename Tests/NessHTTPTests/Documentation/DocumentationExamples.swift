import Foundation
import NessHTTP
import NessTesting
import Testing

/// The examples of the types that users implement or build on.
///
/// `DocumentationTests` requires every example in a doc comment to stand in a file like this one, word for word. An example that a reader
/// could run is run, too. The others are only compiled.
@Suite(.inTurn) struct DocumentationExamples {
    // MARK: HTTPLoader

    /// Marks every request, and measures how long the rest of the way takes.
    struct Stamp: HTTPLoader {
        let report: @Sendable (Duration) -> Void

        func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
            var request = request
            request.headers["X-Stamp"] = "1"
            let start = ContinuousClock.now
            let response = try await next(request)
            report(ContinuousClock.now - start)
            return response
        }
    }

    let ness = Ness { $0.loaders = [Stamp { print($0) }] }

    @Test("a loader can be tested on its own, without a manager") func loader() async throws {
        let url = try url("https://mock.test/")
        let next = HTTPNext { HTTPResponse(statusCode: 200, headers: $0.headers, request: $0) }
        let response = try await Stamp { _ in }.load(HTTPRequest(url: url), next: next)
        #expect(response.headers["X-Stamp"] == "1")
    }

    // MARK: RetryControl

    /// Waits out a maintenance window that ends within a minute.
    struct MaintenanceRetry: RetryControl {
        func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
            guard attempt.response?.statusCode == 503, attempt.number < 3 else { return .noRetry }
            let wait = attempt.retryAfter ?? .seconds(5)
            return wait <= .seconds(60) ? .retryAfter(wait / .seconds(1)) : .noRetry
        }
    }

    @Test("a retry control can be tested on its own, without a manager") func retryControl() async throws {
        let request = HTTPRequest(url: try url("https://mock.test/"))
        let attempt = FailedAttempt(request: request, response: HTTPResponse(statusCode: 503, request: request))
        #expect(await MaintenanceRetry().shouldRetry(attempt) == .retryAfter(5))
    }

    // MARK: Authentication

    /// Keeps an API key.
    actor KeyStore {
        private(set) var current = "old"

        /// Replaces a key that the server refused, unless another request has done so already.
        func replace(_ refused: String?) throws -> Bool {
            if refused == current { current = "new" }
            return true
        }
    }

    /// Sends an API key, and asks for another one when the server refuses it.
    struct KeyAuthentication: Authentication {
        let keys: KeyStore

        func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
            var request = request
            request.headers["X-API-Key"] = await keys.current
            return request
        }

        func renew(after response: HTTPResponse) async throws -> Bool {
            try await keys.replace(response.request.headers["X-API-Key"])
        }
    }

    @Test("an authentication of the user's own renews its credential after a 401") func authentication() async throws {
        let rig = Rig { $0.authentication = KeyAuthentication(keys: KeyStore()) }
        rig.mock.on(.get, "/x") { $0.headers["X-API-Key"] == "new" ? .text("ok") : .status(401) }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "ok")
    }

    // MARK: RequestObserver

    @Test("an observer that has only the methods it needs compiles") func observer() {
        /// Prints one line for each request that took longer than a second.
        struct SlowRequests: RequestObserver {
            func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
                guard metrics.total > .seconds(1) else { return }
                print("\(request): \(metrics.total), \(metrics.attempts) attempts, \(metrics.queueTime) in queues")
            }
        }

        let ness = Ness { $0.observers = [SlowRequests()] }
        #expect(ness.observers.count == 1)
    }

    // MARK: DuplicatedHandler

    @Test("a handler of duplicates can be tested on its own, without a manager") func duplicatedHandler() throws {
        let url = try url("https://mock.test/")

        /// Shares reads, and ignores the second tap on a button that sends an order.
        struct OneOrderAtATime: DuplicatedHandler {
            func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
                duplicate.request.method.isSafe ? .useBothCompletion : .ignoreCurrentCompletion
            }
        }

        let ness = Ness { $0.duplicatedHandler = OneOrderAtATime() }
        #expect(ness.duplicatedHandler is OneOrderAtATime)

        let duplicate = DuplicatedRequest(kind: .data, request: HTTPRequest(.post, url: url))
        let decision = OneOrderAtATime().decide(on: duplicate)
        if case .ignoreCurrentCompletion = decision {} else { Issue.record("the order would be sent twice") }
    }

    // MARK: ResponseValidator

    @Test("a validator can be tested on its own, and refuses with a reason") func validator() async throws {
        let url = try url("https://mock.test/")
        let rig = Rig()
        rig.mock.on(.get, "/users/1") { _ in .status(200, headers: ["API-Version": "1"]) }
        let ness = rig.ness

        /// Refuses the responses of a server that speaks another version of the API.
        struct VersionValidator: ResponseValidator {
            let version: String

            func validate(for response: HTTPResponse) -> ResponseValidatorResult {
                guard let found = response.headers["API-Version"] else { return .invalidWithReason("no API-Version field") }
                return found == version ? .valid : .invalidWithReason("the API has version \(found), not \(version)")
            }
        }

        let user = ness.httpRequest(.get, withUrl: "users/1")
            .validate(using: VersionValidator(version: "2"))
            .dataRequest()
        #expect(await user.nessError()?.context.reason == "the API has version 1, not 2")

        let response = HTTPResponse(statusCode: 200, headers: ["API-Version": "1"], request: HTTPRequest(url: url))
        #expect(VersionValidator(version: "2").validate(for: response) != .valid)
    }

    // MARK: RequestBuilder

    @Test("a builder can be sent many times, and builds its request without sending it") func builder() async throws {
        let rig = Rig { $0.baseURL = URL(string: "https://api.example.com/v1/") }
        rig.mock.on(.get, "/v1/users") { _ in .json([User(id: 1, name: "Tabby")]) }
        let ness = rig.ness

        let users = ness.httpRequest(.get, withUrl: "users")
            .set(urlParameters: ["fields": "name"])
            .set(timeout: .seconds(10), deadline: .seconds(60))
            .validate(statusCodes: 200..<300)

        let first = users.dataRequest(decoding: [User].self)
        let second = users.set(.appendAndOverwriteSameKey, urlParameters: ["page": 2]).dataRequest(decoding: [User].self)
        #expect(try await first.value == second.value)

        #expect(try users.build().url.absoluteString == "https://api.example.com/v1/users?fields=name")
    }

    // MARK: Promise

    @MainActor private final class Label {
        var text = ""
    }

    private final class Sensor: Sendable {
        func start(_ onValue: @escaping @Sendable (Double) -> Void) { onValue(21) }
        func stop() {}
    }

    private func promises(_ ness: Ness, _ label: Label) async throws {
        let name = ness.httpRequest(.get, withUrl: "users/1").dataRequest()
            .then { result -> User in try result.message.parseJSONBody() }
            .then { user in user.name }
            .handle { error in print(error) }

        name.then(onMain: { name in label.text = name })
        let text = try await name.value
        #expect(text == "Tabby")
    }

    @Test("a promise of a response can be chained and awaited, and a callback can settle one") func promise() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/users/1") { _ in .json(User(id: 1, name: "Tabby")) }
        try await promises(rig.ness, Label())

        func measure(_ sensor: Sensor) -> Promise<Double> {
            let (promise, resolver) = Promise<Double>.pending(onDrop: { _ in sensor.stop() })
            sensor.start { value in resolver.resolve(value) }
            return promise
        }
        #expect(try await measure(Sensor()).value == 21)
    }
}
