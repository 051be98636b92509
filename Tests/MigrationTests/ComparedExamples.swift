import Foundation
import NessHTTP
import NessTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The code in the tables of Documentation/Compared.md, in their order: `ComparedTests` compares them. It is compiled, not run.

private struct Cat: Decodable, Sendable { let name: String }
private struct Chunk: Decodable, Sendable { let text: String }
private struct Prompt: Encodable, Sendable { let text: String }
private struct Filter: Encodable, Sendable { let tags: [String] }
private struct Login: Encodable, Sendable { let email: String }
private struct Empty: Error {}
private struct NotAFilm: Error {}

private struct Token: Decodable, Sendable {
    let text: String
    let expiry: Date
}

private struct NameDecoder: ResponseDecoder {
    func decode(from data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

@MainActor private final class Spinner {
    var isHidden = true
    func stop() { isHidden = true }
}

extension TypedRequest where Response == User {
    fileprivate static func user(_ id: Int) -> Self { .get("users/\(id)") }
}

private func requests(_ ness: Ness, id: String, filter: Filter, urlRequest: URLRequest, device: String) async throws {
    _ = try await ness.get("users/1").decoded(as: User.self)
    _ = [ness.get("/users"), ness.patch("users/1"), ness.httpRequest(.custom("PURGE"), withUrl: "cache")]
    _ = Ness { $0.baseURL = URL(string: "https://api.example.com/v1/") }
    _ = Ness {
        $0.defaultHeaders = ["Accept-Language": "en"]
        $0.loaders = [.modifyRequest { $0.headers["X-Device"] = device }]
    }
    let rules = URLQuery.EncodingRules(dates: .secondsSince1970, arrays: .brackets, booleans: .number)
    _ = ness.get("cats").set(urlEncodable: filter, with: rules)
    _ = ness.get("cats")
        .set(header: "X-Id", to: id)
        .set(urlParameters: ["page": 1, "tags": ["a", "b"]])
        .set(urlEncodable: filter)
        .set(timeout: .seconds(10), deadline: .seconds(60))
        .set(allowsCellularAccess: false)
        .set(allowsExpensiveNetworkAccess: false)
        .set(allowsConstrainedNetworkAccess: false)
    _ = ness.httpRequest(urlRequest)
    _ = ness.request(.user(42))
    let users = ness.get("users").set(timeout: .seconds(5))
    _ = users
}

private func bodies(_ ness: Ness, user: User, login: Login, photo: URL, film: URL, data: Data, frames: AsyncStream<Data>) {
    _ = ness.post("users").set(jsonEncodable: user)
    _ = ness.post("users").set(jsonBody: ["name": "Ada", "tags": [1, true, nil]])
    _ = ness.post("login").set(formEncodable: login)
    _ = ness.post("login").set(form: ["name": "Ada"])
    _ = ness.post("cats").set(multipart: { form in form.append(file: photo, named: "photo", contentType: "image/jpeg") })
    _ = ness.post("cats").set(body: data).set(gzipsBody: true).set(expectsContinue: true)
    _ = ness.put("films/1").uploadRequest(forFileLocation: film)
    _ = ness.post("frames").set(streamBody: frames, contentType: "video/mjpeg")
}

private func responses(_ ness: Ness) async throws {
    _ = try await ness.get("users/1").response()
    _ = try await ness.get("users").decodedResponse(as: [User].self)
    _ = try await ness.get("about.html").text()
    _ = try await ness.get("users/1").decoded(by: NameDecoder())
    _ = try await ness.get("users").decoded(as: JSONValue.self)["data"]?[0]
    _ = try await ness.get("users/1").decoded(as: User?.self)
    do {
        _ = try await ness.get("users/1")
            .validate()
            .validate(contentTypes: ["image/*"])
            .validate { response in if response.body.isEmpty { throw Empty() } }
            .decoded(as: User.self, decodingErrors: APIProblem.self)
    } catch {
        print((error as? NessError)?.response?.text ?? "")
    }
    _ = TypedRequest<[User]>.get("users").mapping(statusCode: 404, to: [])
    let response = try await ness.get("films/1")
        .onHead { head in if head.headers["Content-Type"] != "video/mp4" { throw NotAFilm() } }
        .onInterim { hint in print(hint.headers["Link"] ?? "") }
        .set(redirects: .decide { $0.count < 3 ? .follow : .stop })
        .response()
    _ = ness.get("films/1").set(redirects: .stop)
    _ = response.history.map(\.url)
    _ = response.connection?.tls
    let users = ness.get("users")
    for try await page in ness.pages(of: users, decoding: [User].self, next: .linkHeader) { print(page) }
    for try await user in ness.poll(.user(42), every: .seconds(5)) { print(user) }
}

private func transfers(_ ness: Ness, film: URL, folder: URL, digest: String, prompt: Prompt) async throws {
    let download = ness.get("films/1").downloadRequest(forSavedLocation: film)
    ness.get("films/1").onProgress { print($0.fractionCompleted ?? 0) }.dataRequest()
    let downloads = [download, ness.get("films/1").downloadRequest(intoFolder: folder)]
    TotalProgress(of: downloads).onProgress { print($0.bytesPerSecond ?? 0, $0.estimatedTimeRemaining ?? .zero) }
    download.pause()
    download.resume()
    ness.get("films/1").downloadRequest(forSavedLocation: film, segments: 4, expecting: .sha256(digest))
    ness.get("films/1").downloadRequestIfChanged(forSavedLocation: film)
    for try await chunk in ness.get("log").streamRequest().chunks { print(chunk.count) }
    for try await line in ness.get("log").streamRequest().lines { print(line) }
    for try await user in ness.get("users.ndjson").streamRequest(decoding: User.self) { print(user) }
    for try await chunk in ness.post("chat").set(jsonEncodable: prompt).events(decoding: Chunk.self) { print(chunk.text) }
}

private func policies(
    _ ness: Ness, token: String, jwt: Token, password: String, pin: String, company: Certificates, identity: ClientIdentity,
    login: @escaping @Sendable () async throws -> String
) {
    _ = ness.get("users")
        .authenticate(with: .basic(user: "ada", password: password))
        .authenticate(with: .bearer(token))
        .set(retry: .backoff(maxRetryCount: 3))
        .set(retry: .decide { attempt in attempt.number < 3 ? .retryAfter(1) : .noRetry })
        .set(header: "Cache-Control", to: "no-cache")
        .set(maximumResponseBytes: 1 << 20)
    _ = Ness {
        $0.authentication = DigestAuthentication(user: "ada", password: password)
        $0.authentication = RefreshableAuthentication(credential: token) {
            ["Authorization": "Bearer \($0)"]
        } refresh: { _, _ in
            try await login()
        }
        $0.authentication = RefreshableAuthentication(credential: jwt, isStale: { $0.expiry < .now }) {
            ["Authorization": $0.text]
        } renew: { jwt, ness in
            try await ness.post("token").decoded()
        }
        $0.retryBudget = RetryBudget(ratio: 0.1, minimum: 10)
        $0.throttle = ThrottleLimit(rate: 10, burst: 20)
        $0.circuitBreaker = CircuitBreakerLimit()
        $0.maximumConnectionsPerHost = 8
        $0.maximumConcurrentRequests = 1_000
        $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        $0.cache = HTTPCache(memoryLimit: 10 << 20)
        $0.cookies = CookieJar()
        $0.serverTrust = .pinned(["*.example.com": .publicKeys([pin])])
    }
    _ = Ness {
        $0.serverTrust = .pinned(["*": .authorities(company)])
        $0.clientIdentities = ["api.example.com": identity]
    }
}

#if canImport(FoundationNetworking)
private func connections(proxyURL: URL) throws {
    _ = try CurlTransport { $0.proxy = .url(proxyURL) }
    _ = try CurlTransport { $0.unixSocketPath = "/run/docker.sock" }
    _ = try CurlTransport { $0.hostEntries = [.init(host: "api.example.com", port: 443, addresses: ["10.0.0.7"])] }
}
#else
private func connections(decide: @escaping @Sendable (URLProtectionSpace) -> ServerTrustDecision) {
    _ = URLSessionTransport(serverTrust: { space in decide(space) })
}
#endif

private func promises(
    _ ness: Ness, first: Promise<User>, other: Promise<User>, second: Promise<[Cat]>, ids: [Int], spinner: Spinner,
    show: @escaping @MainActor @Sendable (User) -> Void, fetch: (@escaping @Sendable (User?, (any Error)?) -> Void) -> Void
) {
    first.thenContinue { user in ness.get("users/\(user.id)/cats").dataRequest(decoding: [Cat].self) }
    _ = Promise.all(first, second)
    _ = Promise.all(ids, atOnce: 4) { id in ness.get("users/\(id)").dataRequest(decoding: User.self) }
    _ = Promise.allSettled(first, second)
    _ = Promise.race(first, other)
    first.recover { _ in User(id: 0, name: "nobody") }
    first.finally(onMain: { spinner.stop() })
    let (user, resolver) = Promise<User>.pending()
    fetch { value, error in resolver.settle(value, error) }
    first.then(onMain: { user in show(user) })
    first.drop()
    ness.dropAllRequests()
    _ = user
}

#if canImport(Network)
private func network() { _ = NetworkRetryControl() }
#endif

#if canImport(Combine)
private func apple(first: Promise<User>) {
    _ = first.publisher
    _ = ImageDecoder()
}
#endif

private struct Starts: RequestObserver { func requestDidStart(_ request: HTTPRequest) { print(request) } }

private struct Times: RequestObserver {
    func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) { print(metrics.total) }
}

private func watching(_ ness: Ness, spinner: Spinner, traceparent: @escaping @Sendable () -> String) throws {
    _ = Ness {
        $0.observers = [RequestLogger { print($0) }]
        $0.observers += [Starts(), Times(), ActivityCounter(onMain: { count in spinner.isHidden = count == 0 })]
        $0.loaders = [.modifyRequest { $0.headers["traceparent"] = traceparent() }]
    }
    _ = try ness.get("users").build().curlCommand
    _ = try ness.get("users").build().curlCommand(revealingSecrets: true)
}

private func testing(_ ness: Ness, user: User, transport: any Transport, file: URL) async throws {
    let mock = MockTransport()
    mock.on(.get, "/users/:id") { _ in .json(user) }
    _ = ness.get("users/1").mock(.status(404))
    _ = [RecordingTransport(wrapping: transport), try ReplayTransport(contentsOf: file)] as [any Transport]
    _ = Ness { $0.clock = ManualClock(advancesAutomatically: true) }
    var servers: [TestServer] = []
    for fault in Misbehaviour.all { servers.append(try await TestServer.start(fault)) }
    for server in servers { await server.stop() }
}
