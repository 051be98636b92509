// swift-format-ignore-file

import Foundation
import NessHTTP
import NessTesting
import Testing

#if os(iOS)
import UIKit
#endif

// The examples of the guides on using a manager, word for word: `GuideTests` compares them. They are compiled, not run.

private struct Cat: Decodable, Sendable { let name: String }

private struct Profile: Sendable {
    let user: User
    let cats: [Cat]
}

// The first pages of the catalogs

private func firstPage() async throws {
    let ness = Ness { $0.baseURL = URL(string: "https://api.example.com/v1/") }
    let user = try await ness.get("users/1").decoded(as: User.self)
    _ = user
}

private func firstPromise() async throws {
    let (first, resolver) = Promise<Int>.pending()
    let second = first.then { number in number + 1 }
    resolver.resolve(1)
    print(try await second.value)
}

// GettingStarted

private func gettingStarted() async throws {
    struct Repository: Decodable, Sendable {
        let name: String
        let description: String?
    }

    let ness = Ness { $0.baseURL = URL(string: "https://api.github.com/") }
    let repository = try await ness.get("repos/swiftlang/swift").decoded(as: Repository.self)
    print(repository.name, repository.description ?? "")
    do {
        print(try await ness.get("repos/swiftlang/none").decoded(as: Repository.self))
    } catch let error as NessError {
        print(error)  // one line: the request, the status, the start of the body, the reason
        print(error.kind, error.response?.statusCode ?? 0)
    }
    let promise = ness.get("repos/swiftlang/swift").dataRequest(decoding: Repository.self)
    let shown = promise
        .then { repository in print(repository.name) }
        .handle { error in print(error) }
    _ = await shown.settled  // otherwise the program would end before its request
}

private func firstTicket(ness: Ness) async throws {
    struct Ticket: Codable, Sendable {
        let title: String
        let labels: [String]
    }

    let ticket = try await ness.post("tickets")
        .set(jsonEncodable: Ticket(title: "It rains", labels: ["weather"]))
        .decoded(as: Ticket.self)
    _ = ticket
}

// WhereClosuresRun

private func commandLine(ness: Ness) async throws {
    let users = try await ness.get("users").decoded(as: [User].self)
    print(users.map(\.name).joined(separator: ", "))
}

private func script(ness: Ness) throws {
    let about = ness.get("about.html").dataRequest(decoding: String.self)
    print(try about.wait(timeout: .seconds(30)))
}

private struct Handlers: Sendable {
    let ness: Ness

    func profile(_ id: Int) async throws -> Profile {
        async let user = ness.get("users/\(id)").decoded(as: User.self)
        async let cats = ness.get("users/\(id)/cats").decoded(as: [Cat].self)
        return try await Profile(user: user, cats: cats)
    }
}

@MainActor final class UserModel {
    private(set) var name = ""
    private(set) var message = ""
    private var loading: AnyPromise?

    func load(from ness: Ness) {
        loading?.drop()
        loading = ness.get("users/1").dataRequest(decoding: User.self)
            .then(onMain: { [weak self] user in self?.name = user.name })
            .handle(ignoringDrops: true, onMain: { [weak self] error in
                self?.message = "\(error)"
            })
    }
}

extension UserModel {
    func reload(from ness: Ness) async {
        do {
            name = try await ness.get("users/1").decoded(as: User.self).name
        } catch NessError.dropped {
            // The view has gone.
        } catch { message = "\(error)" }
    }
}

// WhatIsRetried

private func retries() {
    let ness = Ness { $0.retryControl = BackoffRetryControl(maxRetryCount: 4) }  // the manager's control
    let order = ness.post("orders")
        .set(jsonBody: ["cat": "Tom"])
        .set(retry: .decide { attempt in attempt.number < 3 ? .retryAfter(1) : .noRetry })  // the request's own control
    _ = order
}

// LoginAndRefresh

private func login(user: String, password: String) async throws {
    struct Token: Codable, Sendable {
        let access: String
        let refresh: String
        let expiry: Date
    }

    let session = RefreshableAuthentication(credential: saved(), isStale: { $0.expiry < .now }) { token in
        ["Authorization": "Bearer \(token.access)"]
    } renew: { old, ness in
        try await ness.post("token").set(form: ["refresh_token": old.refresh]).decoded(as: Token.self)
    }
    let ness = Ness {
        $0.baseURL = URL(string: "https://api.example.com/v1/")
        $0.authentication = session
    }
    func saved() -> Token { Token(access: "", refresh: "", expiry: .distantPast) }

    session.credential = try await ness.post("login").withoutAuthentication()
        .set(form: ["user": user, "password": password]).decoded(as: Token.self)

    await ness.reset()  // at the logout: drops all requests, empties the cache and the cookie jar
}

private func fixedCredentials(ness: Ness, password: String, token: String) async throws {
    let basic = Ness {
        $0.baseURL = URL(string: "https://api.example.com/v1/")
        $0.authentication = BasicAuthentication(user: "ada", password: password)
    }
    let fixed = try await ness.get("users/1").authenticate(with: .bearer(token)).decoded(as: User.self)
    _ = (basic, fixed)
}

// Duplicates

private func duplicates() {
    let ness = Ness { $0.duplicatedHandler = DefaultDuplicatedHandler.keepFirstCompletion }
    _ = ness
}

private func duplicateIdentifiers(text: String) {
    let ness = Ness {
        $0.duplicatedHandler = DefaultDuplicatedHandler.dropPreviousRequest
        $0.headersIgnoredInDuplicates = ["X-Trace"]
    }
    let search = ness.get("search").set(urlParameters: ["q": text]).set(duplicateIdentifier: "search")
    _ = search
}

private func oneOrder() {
    /// Shares reads, and ignores the second tap on a button that sends an order.
    struct OneOrderAtATime: DuplicatedHandler {
        func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
            duplicate.request.method.isSafe ? .useBothCompletion : .ignoreCurrentCompletion
        }
    }
    _ = OneOrderAtATime()
}

// DownloadsThatSurvive

private func download(ness: Ness, file: URL) async throws {
    let download = ness.get("films/1").downloadRequest(forSavedLocation: file)
    download.onProgress { print($0.fractionCompleted ?? 0, $0.estimatedTimeRemaining ?? .zero) }
    let film = try await download.value
    download.pause()  // closes the connection
    if download.resume() == .failToResume { print("it has ended already") }
    _ = film
}

private func patientDownload(ness: Ness, file: URL) async throws {
    let film = try await ness.get("films/1")
        .set(retry: BackoffRetryControl(maxRetryCount: 10))
        .downloadRequest(forSavedLocation: file)
        .value
    print(film.dataLocalURL.path)
}

private func changedFiles(ness: Ness, file: URL) async throws {
    switch try await ness.get("prices.csv").downloadRequestIfChanged(forSavedLocation: file).value {
    case .fetched(let result): print("new:", result.dataLocalURL.path)
    case .unchanged: print("the saved file is current")
    }
}

private func checkedFiles(ness: Ness, file: URL, folder: URL, digest: String, size: Int64) async throws {
    let film = try await ness.httpRequest(withUrl: "films/1")
        .downloadRequest(forSavedLocation: file, segments: 4, expecting: .sha256(digest, size: size), createsFolders: true)
        .value

    ness.httpRequest(withUrl: "invoices/7").downloadRequest(intoFolder: folder) { response in
        folder.appending(path: response.headers["Content-Type"] == "application/pdf" ? "7.pdf" : "7.bin")
    }
    _ = film
}

// StreamingAChatAPI

private func chat(key: String, prompt: JSONValue) async throws {
    struct Chunk: Decodable, Sendable {
        struct Choice: Decodable, Sendable {
            struct Delta: Decodable, Sendable { let content: String? }
            let delta: Delta
        }
        let choices: [Choice]
    }

    struct ChatError: Error, Decodable {
        struct Detail: Decodable, Sendable { let message: String }
        let error: Detail
    }

    let ness = Ness {
        $0.baseURL = URL(string: "https://api.example.com/v1/")
        $0.authentication = BearerAuthentication(token: key)
        $0.decodingErrors = ChatError.self
    }
    let chunks = ness.post("chat/completions")
        .set(jsonBody: ["model": "small", "stream": true, "messages": [["role": "user", "content": "Hello"]]])
        .events(decoding: Chunk.self)
    for try await chunk in chunks { print(chunk.choices.first?.delta.content ?? "", terminator: "") }
    do {
        let patient = ClosureRetryControl.decide { attempt in
            guard attempt.response?.statusCode == 429, attempt.number < 4 else { return .noRetry }
            return .retryAfter((attempt.retryAfter ?? .seconds(5)) / .seconds(1))
        }
        let chunks = ness.post("chat/completions").set(jsonBody: prompt).events(decoding: Chunk.self, with: patient)
        do {
            for try await chunk in chunks { print(chunk.choices.first?.delta.content ?? "", terminator: "") }
        } catch let error as NessError {
            print((error.underlying as? ChatError)?.error.message ?? error.description)
        }
        for try await result in chunks.results {
            switch result {
            case .success(let chunk): print(chunk.choices.first?.delta.content ?? "", terminator: "")
            case .failure(let error): print(error)
            }
        }
    }
}

// Caching

private func caching(folder: URL) async throws {
    let ness = Ness { $0.cache = HTTPCache(memoryLimit: 10 << 20, folder: folder, diskLimit: 100 << 20) }
    let response = try await ness.get("news").response()
    print(response.source)  // network, cache, or revalidated: the server confirmed the stored response with a 304
}

private func cacheControl(ness: Ness) async throws {
    let fresh = try await ness.get("news").set(header: "Cache-Control", to: "no-cache").response()
    let stored = try await ness.get("news").set(header: "Cache-Control", to: "only-if-cached").response()
    _ = (fresh, stored)
}

// OnApplePlatforms

#if os(iOS)
@MainActor final class FilmLoader {
    private var task = UIBackgroundTaskIdentifier.invalid

    func load(_ download: DownloadPromise) async throws -> DownloadResult {
        task = UIApplication.shared.beginBackgroundTask { [weak self] in  // after some 30 seconds
            download.pause()  // keeps the bytes; `resume()` goes on when the app comes back
            self?.end()
        }
        defer { end() }
        return try await download.value
    }

    private func end() {
        if task != .invalid { UIApplication.shared.endBackgroundTask(task) }
        task = .invalid
    }
}
#endif

// OnLinux

private func transports() {
    print(Ness().configuration.transport)  // CurlTransport with its versions, or URLSessionTransport
    let ness = Ness { $0.transport = URLSessionTransport() }
    _ = ness
}

#if canImport(CNessCurl)
private func options() throws {
    let transport = try CurlTransport {
        $0.authorities = .file(URL(filePath: "/etc/company/ca.pem"))
        $0.proxy = .direct
        $0.unixSocketPath = "/run/docker.sock"
        $0.allowsHTTP2 = false
        $0.minimumTLSVersion = .v1_3
    }
    let ness = Ness { $0.transport = transport }
    _ = ness
}
#endif

// LoginAndRefresh, an optional credential

private func optional(user: String, password: String) {
    struct Token: Codable, Sendable { let access: String }
    let session = RefreshableAuthentication(credential: nil as Token?, isStale: { $0 == nil }) { token in
        token.map { ["Authorization": "Bearer \($0.access)"] } ?? [:]
    } renew: { _, ness in
        try await ness.post("login").set(form: ["user": user, "password": password]).decoded(as: Token.self)
    }
    _ = session
}

// GettingStarted, coders

private func coders() {
    let dated = Ness {
        $0.baseURL = URL(string: "https://api.example.com/v1/")
        $0.jsonDecoder.dateDecodingStrategy = .iso8601
        $0.jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
        $0.jsonEncoder = JSONEncoder()
        $0.jsonEncoder?.dateEncodingStrategy = .iso8601
    }
    _ = dated
}

// ValuesAndProgress, pages

private func lists(ness: Ness) async throws {
    for try await page in ness.pages(of: ness.get("users"), decoding: [User].self, next: .linkHeader) {
        for user in page { print(user.name) }
    }
}

// TestingWithMocks, a server

@Suite(.inTurn) struct ServerScriptExample {
    @Test("the example of a script shows the first bytes before the last ones are sent")
    func script() async throws {
        let go = TestGate()
        let server = try await TestServer.start { _ in
            .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"), .wait(go), .send("lo"), .close])
        }
        let stream = Ness { $0.baseURL = server.url }.get("slow").streamRequest()
        let iterator = stream.chunks.makeAsyncIterator()
        let first = try await iterator.next()
        go.open()
        let second = try await iterator.next()
        await server.stop()
        #expect(first == Data("hel".utf8) && second == Data("lo".utf8))
    }
}
