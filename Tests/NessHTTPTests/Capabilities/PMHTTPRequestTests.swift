import Foundation
import NessHTTP
import NessTesting
import Testing

/// PMHTTP's manager and requests, by their numbers in the inventory.
@Suite("PMHTTP: manager and requests", .inTurn)
struct PMHTTPRequestTests {
    @Test("a manager is used from many threads at once; there is a default one, and any number of others", .covers("PMH-01"))
    func threads() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), other = Rig(onUnmatched: .reply(.status(200)))
        #expect(Ness.default !== rig.ness && Ness.default === Ness.default)
        await onThreads(8) { thread in
            for number in 0..<50 {
                let builder = rig.ness.httpRequest(.post, withUrl: "\(thread)/\(number)")
                _ = try? builder.dataRequest().wait(timeout: .seconds(60))
            }
        }
        #expect(Set(rig.mock.requests.map(\.url.path)).count == 400)
        #expect(other.mock.requests.isEmpty)
    }

    @Test("a User-Agent can be set for all requests, can be read, and can be overridden by a request", .covers("PMH-04"))
    func userAgent() async throws {
        try await withServer(configure: { $0.defaultHeaders = ["User-Agent": "Cats/1.0"] }) { server, ness in
            _ = try await ness.httpRequest(withUrl: "x").dataRequest().value
            _ = try await ness.httpRequest(withUrl: "x").set(headers: ["User-Agent": "Dogs/2.0"]).dataRequest().value
            #expect(server.requests.map { $0.headers.values(for: "user-agent") } == [["Cats/1.0"], ["Dogs/2.0"]])
            #expect(ness.environment.defaultHeaders["User-Agent"] == "Cats/1.0")
        }
    }

    @Test("a reset ends running and waiting requests; the manager stays usable", .covers("PMH-05"))
    func resetting() async throws {
        let rig = Rig { $0.maximumConnectionsPerHost = 1 }
        rig.mock.on(.post, "/held") { _ in
            await TestGate().wait()
            return .status(200)
        }
        rig.mock.on(.post, "/next") { _ in .status(200) }
        let promises = (0..<3).map { _ in rig.ness.httpRequest(.post, withUrl: "held").dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 1 }
        await rig.ness.reset()
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        #expect(try await rig.ness.httpRequest(.post, withUrl: "next").dataRequest().value.message.statusCode == 200)
        #expect(rig.mock.requests.map(\.url.path) == ["/held", "/next"])
    }

    @Test("the base itself is the path \".\"; an empty text is no URL", .covers("PMH-11"))
    func base() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        rig.ness.environment = ServerEnvironment(baseURL: try url("https://mock.test/v1"))
        _ = try await rig.ness.httpRequest(withUrl: ".").dataRequest().value
        #expect(rig.mock.requests.map(\.url.absoluteString) == ["https://mock.test/v1/"])
        #expect(await rig.ness.httpRequest(withUrl: "").dataRequest().nessError()?.kind == .invalidRequest)
        rig.ness.environment = ServerEnvironment(baseURL: try url("no/scheme"))
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
    }

    @Test("the manager's retries and decoder apply to every request, inside the base URL or not", .covers("PMH-14"))
    func everywhere() async throws {
        struct Cat: Decodable, Sendable { let catName: String }
        let rig = Rig {
            $0.retryControl = CounterRetryControl(maxRetryCount: 1)
            $0.jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        for place in ["//mock.test/x", "//other.test/x"] {
            rig.mock.on(.get, place, replies: [.status(503), .json(["cat_name": "Fluffles"])])
        }
        for place in ["x", "https://other.test/x"] {
            #expect(try await rig.ness.httpRequest(withUrl: place).dataRequest(decoding: Cat.self).value.catName == "Fluffles")
        }
        #expect(rig.mock.requests.count == 4)
    }

    @Test("any request can get an environment with its credential; its own header fields win", .covers("PMH-18"))
    func givenEnvironment() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let environment = ServerEnvironment(
            baseURL: try url("https://mock.test"), defaultHeaders: ["A": "default", "B": "default"],
            authentication: BearerAuthentication(token: "token"))
        let plain = rig.ness.httpRequest(withUrl: "https://other.test/x").set(headers: ["b": "own"])
        _ = try await plain.dataRequest().value
        _ = try await plain.set(environment: environment).dataRequest().value
        _ = try await plain.set(environment: environment).authenticate().dataRequest().value
        let seen = rig.mock.requests.map { request in
            ["A", "B", "Authorization"].map { request.headers[$0] ?? "-" }.joined(separator: " ")
        }
        #expect(seen == ["- own -", "default own -", "default own Bearer token"])
    }

    @Test("a request can leave out its environment's credential; a request that a refresh makes does so by itself", .covers("PMH-19"))
    func withoutCredential() async throws {
        let manager = Lock<Ness?>(nil)
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { _, _ in
                let ness = try #require(manager.withLock { $0 })
                return try await ness.httpRequest(withUrl: "token").dataRequest().value.message.text
            }
        }
        manager.withLock { $0 = rig.ness }
        defer { manager.withLock { $0 = nil } }
        rig.mock.on(.get, "/x", replies: [.status(401), .status(200)])
        rig.mock.on(.get, "/token") { _ in .text("new") }
        _ = try await rig.ness.httpRequest(withUrl: "free").withoutAuthentication().dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(
            rig.mock.requests.map { "\($0.url.path) \($0.headers["Authorization"] ?? "-")" } == ["/free -", "/x old", "/token -", "/x new"])
    }

    @Test(
        "a request of each method begins with a text or a URL; an invalid one fails when it is sent", .covers("PMH-20"),
        arguments: [HTTPMethod.get, .delete, .post, .put, .patch])
    func beginnings(method: HTTPMethod) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        _ = try await rig.ness.httpRequest(method, withUrl: "x").dataRequest().value
        _ = try await rig.ness.httpRequest(method, withUrl: url("https://mock.test/x")).dataRequest().value
        #expect(rig.mock.requests.map { "\($0.method) \($0.url)" } == Array(repeating: "\(method) https://mock.test/x", count: 2))
        let bad = rig.ness.httpRequest(method, withUrl: "http://[")
        #expect(await bad.dataRequest().nessError()?.kind == .invalidRequest)
        #expect(throws: NessError.self) { try bad.build() }
    }

    @Test("parameters are sent in the query or in a form, by choice; bytes and JSON go with a query", .covers("PMH-21"))
    func parameters() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let parameters: URLQuery = ["a": 1, "b": "x y"]
        let post = rig.ness.httpRequest(.post, withUrl: "x")
        let builders = [
            rig.ness.httpRequest(.delete, withUrl: "x").set(urlParameters: parameters), post.set(form: parameters),
            post.set(urlParameters: parameters).set(body: Data("raw".utf8)), post.set(urlParameters: parameters).set(jsonBody: ["c": 2]),
            post.set(body: HTTPBody(Data("<a/>".utf8), headers: ["Content-Type": "text/xml"])),
        ]
        for builder in builders { _ = try await builder.dataRequest().value }
        let seen = rig.mock.received.map { "\($0.target) \($0.headers["content-type"] ?? "-") \($0.bodyText)" }
        #expect(
            seen == [
                "/x?a=1&b=x%20y - ", "/x application/x-www-form-urlencoded a=1&b=x%20y", "/x?a=1&b=x%20y - raw",
                "/x?a=1&b=x%20y application/json {\"c\":2}", "/x text/xml <a/>",
            ])
    }

    private struct Tag: RequestOptionKey { static let defaultValue = "none" }

    @Test("the settings of a builder can be read from its request, which can be sent by other means", .covers("PMH-26", "PMH-30"))
    func properties() throws {
        let rig = Rig()
        let request = try rig.ness.httpRequest(.put, withUrl: "x?a=1").set(urlParameters: ["b": 2]).set(headers: ["A": "1"])
            .set(body: HTTPBody(Data("body".utf8), headers: ["Content-Type": "text/plain"]))
            .set(timeout: .seconds(5), deadline: .seconds(9)).set(redirects: .stop, allowsInsecure: true).set(option: Tag.self, to: "t")
            .build()
        #expect(request.method == .put && request.url.absoluteString == "https://mock.test/x?a=1&b=2" && request.headers["a"] == "1")
        #expect(request.body?.data == Data("body".utf8) && request.body?.headers["content-type"] == "text/plain")
        #expect(request.timeout == .seconds(5) && request.deadline == .seconds(9) && request.allowsInsecureRedirects)
        #expect(request[Tag.self] == "t")
        guard case .stop = request.redirects else { return #expect(Bool(false), "it follows redirects") }
        #expect(request.curlCommand.contains("PUT") && request.curlCommand.contains("body"))
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a loader behind authentication sees the request as sent, with its credential", .covers("PMH-30"))
    func prepared() async throws {
        let seen = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) { configuration in
            configuration.authentication = BearerAuthentication(token: "token")
            configuration.insert(
                .modifyRequest { request in
                    seen.add(
                        "\(request.headers["Authorization"] ?? "-") \(request.body?.data.map { String(decoding: $0, as: UTF8.self) } ?? "")"
                    )
                }, .after(.authenticate))
        }
        let builder = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "body")
        #expect(try builder.build().headers["Authorization"] == nil)
        _ = try await builder.dataRequest().value
        #expect(seen.entries == ["Bearer token body"])
    }

    @Test("an explicit Content-Type wins over the body's; a Content-Length cannot be set", .covers("PMH-27"))
    func contentFields() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let post = rig.ness.httpRequest(.post, withUrl: "x").set(jsonBody: [1])
        _ = try await post.set(headers: ["content-type": "application/vnd.cats+json"]).dataRequest().value
        #expect(rig.mock.received.map { $0.headers.values(for: "Content-Type") } == [["application/vnd.cats+json"]])
        #expect(await post.set(headers: ["Content-Length": "3"]).dataRequest().nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.count == 1)
    }

    @Test(
        "query and form are encoded alike, all but the unreserved characters; a parameter without a value is its name only",
        .covers("PMH-34", "PMH-36", "C16"))
    func encoding() async throws {
        let parameters = URLQuery([.init(name: "a b+;!@&=?%/~*", value: "ü -._~"), .init(name: "flag", value: nil)])
        let text = "a%20b%2B%3B%21%40%26%3D%3F%25%2F~%2A=%C3%BC%20-._~&flag"
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let post = rig.ness.httpRequest(.post, withUrl: "x")
        _ = try await post.set(urlParameters: parameters).dataRequest().value
        _ = try await post.set(form: parameters).dataRequest().value
        _ = try await post.set(form: [:]).dataRequest().value
        #expect(rig.mock.received.map(\.target) == ["/x?\(text)", "/x", "/x"])
        #expect(rig.mock.received.map(\.bodyText) == ["", text, ""])
        let type = "application/x-www-form-urlencoded"
        #expect(rig.mock.received.map { $0.headers["content-type"] } == [nil, type, type])
    }

    @Test("an image is a part with a custom encoding, made while the form is sent; its error is the request's error", .covers("PMH-44"))
    func picture() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        var form = MultipartForm(), bad = MultipartForm()
        form.append(named: "p", fileName: "p.png", contentType: "image/png") { HTTPBody(Data("\u{89}PNG".utf8)) }
        bad.append(named: "p", fileName: "p.png", contentType: "image/png") { throw Rejected(name: "no picture") }
        _ = try await rig.ness.httpRequest(.post, withUrl: "x").set(multipart: form).dataRequest().value
        let text = try #require(rig.mock.received.first).bodyText
        #expect(text.contains("name=\"p\"; filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\n\u{89}PNG\r\n"))
        let refused = rig.ness.httpRequest(.post, withUrl: "x").set(multipart: bad).dataRequest()
        await #expect(throws: Rejected(name: "no picture")) { _ = try await refused.value }
    }

    #if !canImport(FoundationNetworking)
    @Test("a transport asks about each server's certificate, and not about a server without one", .covers("PMH-07"))
    func serverTrust() async throws {
        let asked = Tally()
        let transport = URLSessionTransport(serverTrust: { _ in
            asked.enter()
            return .rejected
        })
        try await withServer(configure: { $0.transport = transport }) { _, ness in
            let text = try await ness.httpRequest(withUrl: "x").dataRequest().value.message.text
            #expect(text == "ok")
            #expect(asked.total == 0)
        }
    }
    #endif
}
