import Foundation
import NessHTTP

// The right columns of the tables in FromAlamofireAndAsyncHTTPClient.md, in their order: `ComparedTests` compares them. They are compiled, not run.

private struct Filter: Encodable, Sendable { let tags: [String] }
private struct Login: Encodable, Sendable { let email: String }

private struct Token: Decodable, Sendable {
    let text: String
    let expiry: Date
}

private struct NameDecoder: ResponseDecoder {
    func decode(from data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

private struct Ends: RequestObserver {
    func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) { print(metrics.total) }
}

// MARK: Alamofire

private func sessions(baseURL: URL) -> [Ness] {
    let ness = Ness { $0.baseURL = baseURL }
    return [ness, Ness.default]
}

private func results(_ ness: Ness, show: @escaping @MainActor @Sendable (User) -> Void) async throws {
    ness.get("users/1").dataRequest().then(onMain: { result in print(result.message) })
    ness.get("users/1").dataRequest(decoding: User.self).then(onMain: { user in show(user) }).handle(onMain: { error in print(error) })
    _ = try await ness.get("users/1").decoded(as: User.self)
    _ = try await ness.get("about.html").text()
    _ = try await ness.get("photo").data()
    let response = try await ness.get("users/1").response()
    print(response.connection?.tls ?? .zero)
    let page = try await ness.get("users").decodedResponse(as: [User].self)
    print(page.value, page.response)
}

private func parameters(_ ness: Ness, filter: Filter, login: Login) async throws {
    _ = ness.post("login").set(jsonEncodable: login)
    _ = ness.post("login").set(formEncodable: login)
    _ = ness.get("cats").set(urlEncodable: filter)
    let request = ness.get("cats")
        .set(urlEncodable: filter, with: .init(arrays: .brackets, booleans: .number))
        .set(headers: ["Accept": "text/csv"])
        .set(timeout: .seconds(5))
        .validate()
        .validate(contentTypes: ["application/json"])
    do {
        _ = try await request.decoded(by: NameDecoder())
        _ = try await ness.request(TypedRequest<User>.get("users/1")).value
    } catch {
        if case NessError.dropped = error { return }
        print((error as? NessError)?.response?.statusCode ?? 0)
    }
}

private func transfers(_ ness: Ness, data: Data, film: URL, folder: URL, frames: AsyncStream<Data>) async throws {
    let promise = ness.post("cats").set(multipart: { form in form.append(data, named: "photo", fileName: "a.jpg") })
        .onProgress { print($0.fractionCompleted ?? 0) }
        .dataRequest()
    print(promise.uploadProgress, promise.downloadProgress)
    promise.drop()
    _ = ness.put("films/1").uploadRequest(forFileLocation: film)
    _ = ness.put("films/1").set(streamBody: frames)
    let download = ness.get("films/1").downloadRequest(forSavedLocation: film, createsFolders: true)
    download.pause()
    download.resume()
    ness.get("films/1").downloadRequest(intoFolder: folder)
    for try await chunk in ness.get("log").streamRequest().chunks { print(chunk.count) }
    for try await user in ness.get("users.ndjson").streamRequest(decoding: User.self) { print(user) }
}

private func policies(_ ness: Ness, device: String, token: Token, password: String, pin: String) {
    _ = Ness {
        $0.loaders = [.modifyRequest { $0.headers["X-Device"] = device }]
        $0.retryControl = BackoffRetryControl(maxRetryCount: 2)
        $0.authentication = RefreshableAuthentication(credential: token, isStale: { $0.expiry < .now }) {
            ["Authorization": $0.text]
        } renew: { token, ness in
            try await ness.post("token").decoded()
        }
        $0.cache = HTTPCache(memoryLimit: 10 << 20)
        $0.serverTrust = .pinned(["*.example.com": .publicKeys([pin])])
    }
    _ = ness.get("users")
        .set(retry: .decide { attempt in attempt.number < 3 ? .retry : .noRetry })
        .authenticate(with: .basic(user: "ada", password: password))
        .set(gzipsBody: true)
        .set(redirects: .stop)
        .observe(with: Ends())
        .observe(with: RequestLogger(.curl) { print($0) })
        .onHead { head in print(head.statusCode) }
    ness.dropAllRequests()
    ness.maximumConnectionsPerHost = 0
}

#if canImport(Network)
private func network() { _ = NetworkRetryControl() }
#endif

#if canImport(Combine)
private func apple(promise: Promise<User>) {
    _ = promise.publisher
}
#endif

// MARK: AsyncHTTPClient

private func clients(_ traceparent: @escaping @Sendable () -> String) async {
    let ness = Ness(.server) { $0.maximumConcurrentRequests = 1_000 }
    _ = Ness {
        $0.cookies = CookieJar()
        $0.timeout = .seconds(10)
        $0.redirects = .follow(limit: 5)
        $0.redirects = .stop
        $0.maximumConnectionsPerHost = 8
        $0.maximumResponseBytes = 10 << 20
        $0.loaders = [.modifyRequest { $0.headers["traceparent"] = traceparent() }]
    }
    await ness.shutdown(within: .seconds(5))
}

private func execution(_ ness: Ness, data: Data, password: String, film: URL, frames: AsyncStream<Data>) async throws {
    let request = ness.get("https://example.com/users")
    _ = ness.post("users")
        .add(headerValue: "a=1", forKey: "X-Tag")
        .set(header: "User-Agent", to: "demo")
        .set(stringBody: "some data")
        .set(body: data)
        .set(streamBody: frames, length: 1_000)
        .observe(with: RequestLogger { print($0) })
    let promise = ness.get("users").dataRequest()
    promise.drop()
    do {
        let response = try await request.set(deadline: .seconds(30)).response()
        print(response.statusCode == 200)
        print(response.headers["Content-Length"] ?? "", response.headers.values(for: "Set-Cookie"), response.history.map(\.url))
        _ = try await request.set(maximumResponseBytes: 1 << 20).data()
        _ = try await request.decoded(as: User.self)
        let stream = try await request.streamRequest().value
        print(stream.message.statusCode)
        for try await chunk in stream.chunks { print(chunk.count) }
    } catch NessError.timedOut(let context) {
        print(context.reason)
    } catch NessError.dropped {
        print("dropped")
    }
    request.downloadRequest(forSavedLocation: film).onProgress { print($0.completedBytes) }
}

#if canImport(FoundationNetworking)
private func connections(certificates: Certificates, host: String, chain: URL, key: URL, proxyURL: URL) throws {
    _ = Ness { $0.serverTrust = .pinned([host: .authorities(certificates)]) }
    _ = Ness { $0.serverTrust = .pinned(["*": .authorities(certificates)]) }
    _ = try CurlTransport { $0.allowsHTTP2 = false }
    _ = try CurlTransport { $0.clientCertificate = .init(certificate: .file(chain), key: .file(key)) }
    _ = try CurlTransport { $0.minimumTLSVersion = .v1_3 }
    _ = try CurlTransport { $0.proxy = .url(proxyURL) }
    _ = try CurlTransport { $0.hostEntries = [.init(host: "api.example.com", port: 443, addresses: ["10.0.0.7"])] }
    _ = try CurlTransport { $0.localInterface = "10.0.0.7" }
    _ = try CurlTransport { $0.unixSocketPath = "/run/docker.sock" }
}
#else
private func connections(decide: @escaping @Sendable (URLProtectionSpace) -> ServerTrustDecision) {
    _ = URLSessionTransport(serverTrust: { space in decide(space) })
}
#endif
