// swift-format-ignore-file

import Foundation
import NessHTTP
import NessTesting

// The examples of README.md and the article OnAServer, word for word: `GuideTests` compares them. They are compiled, not run.

private struct Cat: Codable, Sendable { var name: String }
private struct Prompt: Codable, Sendable { let text: String }
private struct Chunk: Codable, Sendable { let text: String }
private struct SigningLoader: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) }
}

private func first() async throws {
    struct Cat: Codable { var name: String }
    let server = try await TestServer.start { _ in .json(["name": "Fluffles"]) }

    let ness = Ness { $0.baseURL = server.url }
    let cat = try await ness.get("cats/1").decoded(as: Cat.self)
    print(cat.name)
}

private func chain(ness: Ness, show: @escaping @MainActor @Sendable (String) -> Void) {
    let promise = ness.httpRequest(.get, withUrl: "users/1")
        .set(urlParameters: ["fields": "name"])
        .validate(statusCodes: 200..<300)
        .dataRequest()
        .then { result -> User in try result.message.parseJSONBody() }
        .then(onMain: { user in show(user.name) })
        .handle(onMain: { error in show("\(error)") })
    promise.drop()
}

private func json(ness: Ness) async throws {
    let made = try await ness.post("cats")
        .set(jsonEncodable: Cat(name: "Fluffles"))
        .decoded(as: Cat.self)
    print(made)
}

private func errors(ness: Ness) async throws {
    do {
        let cat = try await ness.get("cats/99").decoded(as: Cat.self, decodingErrors: APIProblem.self)
        print(cat.name)
    } catch let error as NessError {
        print(error)                        // GET https://api.example.com/cats/99 → 404 "…": not valid: the status is 404, not 200..<300
        print((error.underlying as? APIProblem)?.title ?? "", error.isTransient, error.mayHaveReachedServer)
    }
}

private func policies(token: String, login: @escaping @Sendable () async throws -> String) async throws {
    let patient = Ness {
        $0.baseURL = URL(string: "https://api.example.com/v1/")
        $0.retryControl = BackoffRetryControl(maxRetryCount: 4)
    }
    let authentication = RefreshableAuthentication(credential: token) { token in
        ["Authorization": "Bearer \(token)"]
    } refresh: { _, _ in
        try await login()
    }
    let signedIn = Ness { $0.baseURL = URL(string: "https://api.example.com/v1/"); $0.authentication = authentication }
    let coalescing = Ness()
    async let first = coalescing.get("https://api.example.com/feed").text()
    async let second = coalescing.get("https://api.example.com/feed").text()
    print(patient, signedIn, try await first, try await second)
}

private func transfers(ness: Ness, file: URL, photo: URL, prompt: Prompt) async throws {
    let download = ness.get("films/1").downloadRequest(forSavedLocation: file, segments: 4)
    download.onProgress { progress in
        let part = Int(20 * (progress.fractionCompleted ?? 0))
        print("[\(String(repeating: "#", count: part))\(String(repeating: " ", count: 20 - part))]", terminator: "\r")
    }
    let saved = try await download.value.dataLocalURL
    print(saved)

    try await ness.post("cats/1/photo")
        .set(multipart: { form in
            form.append("tabby", named: "color")
            form.append(file: photo, named: "photo", contentType: "image/jpeg")
        })
        .onProgress { print($0.fractionCompleted ?? 0) }
        .validate().response()

    let chunks = ness.post("chat/completions")
        .set(jsonEncodable: prompt)
        .events(decoding: Chunk.self, until: "[DONE]")
    for try await chunk in chunks { print(chunk.text, terminator: "") }
}

private func ownLoaders() {
    let browserlike = Ness {
        $0.cache = HTTPCache(memoryLimit: 10 << 20)
        $0.cookies = CookieJar()
    }
    let traced = Ness {
        $0.loaders = [.modifyRequest { $0.headers["X-Request-Id"] = UUID().uuidString }]
        $0.insert(SigningLoader(), at: .authenticated)
        $0.observers = [RequestLogger { print($0) }]
    }
    print(browserlike, traced)
}

private func server() {
    let ness = Ness(.server) {
        $0.baseURL = URL(string: "http://users.internal/")
        $0.maximumConcurrentRequests = 1_000
    }
    _ = ness
}

private struct Order: Codable, Sendable { let id: Int }
private struct Overview: Sendable { let user: User, orders: [Order]? }
private struct Writer { func write(_ data: Data) async throws {} }
private struct Trace: Sendable {
    @TaskLocal static var current: Trace?
    var header: String
}

private func gateway(ness: Ness, id: String, response: Writer) async throws {
    func overview(of id: String) async throws -> Overview {
        async let user = ness.get("users/\(id)").decoded(as: User.self)
        async let orders = ness.get("orders").set(urlParameters: ["user": id]).set(deadline: .milliseconds(300)).decoded(as: [Order].self)
        return Overview(user: try await user, orders: try? await orders)
    }
    print(try await overview(of: id))
    for try await chunk in ness.get("films/\(id)").streamRequest().chunks { try await response.write(chunk) }
    let traced = Ness(.server) {
        $0.loaders = [.modifyRequest { $0.headers["traceparent"] = Trace.current?.header }]
    }
    print(traced)
}

private func testing() {
    let mock = MockTransport()
    mock.on(.get, "cats/1", returning: Cat(name: "Fluffles"))
    mock.on(.post, "cats", replies: [.failure(.timedOut), .status(503), .status(201)])
    mock.on(.get, "films/1", misbehaving: "reset-in-body")
    let clock = ManualClock(advancesAutomatically: true)
    let tested = Ness { $0.transport = mock; $0.clock = clock; $0.baseURL = URL(string: "https://mock.test") }
    print(tested)
}
