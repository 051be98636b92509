// swift-format-ignore-file

import Foundation
import NessHTTP
import NessTesting

// The examples of README.md, word for word: `GuideTests` compares them. They are compiled, not run.

private struct Cat: Codable, Sendable { let name: String }

private func first() async throws {
    let ness = Ness { $0.baseURL = URL(string: "https://api.example.com/v1/") }

    struct User: Codable { let name: String }

    let name = try await ness.httpRequest(.get, withUrl: "users/1")
        .set(urlParameters: ["fields": "name"])
        .validate(statusCodes: 200..<300)
        .dataRequest()
        .then { result -> User in try result.message.parseJSONBody() }
        .then { user in user.name }
        .handle { error in print(error) }
        .value
    print(name)
}

private func chain(ness: Ness, trace: String) {
    ness.httpRequest(.post, withUrl: "cats")
        .set(headers: ["X-Trace": trace])
        .set(jsonBody: ["name": "Fluffles", "tags": ["tabby", 3, true]])   // or jsonEncodable:, form:, stringBody:, body:
        .set(timeout: .seconds(10), deadline: .seconds(60))
        .dataRequest(decoding: Cat.self)
}

private func policies(token: String, login: @escaping @Sendable () async throws -> String) {
    let ness = Ness {
        $0.baseURL = URL(string: "https://api.example.com/v1/")
        $0.retryControl = BackoffRetryControl(maxRetryCount: 4)            // idempotent requests, Retry-After, a budget for all
        $0.authentication = RefreshableAuthentication(credential: token) { token in
            ["Authorization": "Bearer \(token)"]
        } refresh: { _, _ in try await login() }                           // one refresh, however many meet 401
        $0.throttle = ThrottleLimit(rate: 10, burst: 20)
        $0.circuitBreaker = CircuitBreakerLimit()
    }
    _ = ness
}

private func transfers(ness: Ness, file: URL, photo: URL) async throws {
    let download = ness.httpRequest(.get, withUrl: "films/1").downloadRequest(forSavedLocation: file, segments: 4)
    download.onProgress { print($0.fractionCompleted ?? 0, $0.estimatedTimeRemaining ?? .zero) }
    download.pause()                                                       // closes the connection, keeps what came
    download.resume()                                                      // goes on with Range and If-Range

    var form = MultipartForm()
    form.append("tabby", named: "color")
    form.append(file: photo, named: "photo", contentType: "image/jpeg")
    ness.httpRequest(.post, withUrl: "cats").set(multipart: form).dataRequest()

    for try await event in ness.httpRequest(.get, withUrl: "feed").serverSentEvents() { print(event.data) }   // connects again by itself
    for try await line in ness.httpRequest(.get, withUrl: "log").streamRequest().lines { print(line) }
}

private func testing() {
    let mock = MockTransport()
    mock.on(.post, "/flaky", replies: [.failure(.timedOut), .status(503), .status(201)])
    let clock = ManualClock(advancesAutomatically: true)
    let ness = Ness { $0.transport = mock; $0.clock = clock; $0.baseURL = URL(string: "https://mock.test") }
    _ = ness
}

private func server() {
    let ness = Ness(.server) {
        $0.baseURL = URL(string: "http://users.internal/")
        $0.maximumConcurrentRequests = 1_000
    }
    _ = ness
}
