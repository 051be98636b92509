import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The requests that a builder makes: method, URL, header fields, body and options.
@Suite(.inTurn) struct RequestBuilderTests {
    private struct Page: URLConvertible {
        var number: Int
        func asURL() throws -> URL {
            if number < 0 { throw Rejected(name: "no such page") }
            return try #require(URL(string: "pages/\(number)"))
        }
    }

    @Test(
        "a request starts with a string, a URL or a custom type, and with GET by default; parameters are added to each")
    func beginnings() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), address = try url("https://mock.test/b")
        let builders = [
            rig.ness.httpRequest(withUrl: "a"), rig.ness.httpRequest(withUrl: address), rig.ness.httpRequest(withUrl: Page(number: 3)),
            rig.ness.httpRequest(.put, withUrl: "a"),
        ]
        for builder in builders { _ = try await builder.set(urlParameters: ["q": 1]).dataRequest().value }
        let seen = rig.mock.requests.map { "\($0.method) \($0.url.absoluteString)" }
        let base = "https://mock.test"
        #expect(seen == ["GET \(base)/a?q=1", "GET \(base)/b?q=1", "GET \(base)/pages/3?q=1", "PUT \(base)/a?q=1"])
        let error = await rig.ness.httpRequest(withUrl: Page(number: -1)).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest && error?.underlying as? Rejected == Rejected(name: "no such page"))
    }

    @Test(
        "a request of each method starts with a string or a URL; an invalid one fails when it is sent",
        arguments: [HTTPMethod.get, .delete, .post, .put, .patch])
    func beginningsOfEachMethod(method: HTTPMethod) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        _ = try await rig.ness.httpRequest(method, withUrl: "x").dataRequest().value
        _ = try await rig.ness.httpRequest(method, withUrl: url("https://mock.test/x")).dataRequest().value
        #expect(rig.mock.requests.map { "\($0.method) \($0.url)" } == Array(repeating: "\(method) https://mock.test/x", count: 2))
        let bad = rig.ness.httpRequest(method, withUrl: "http://[")
        #expect(await bad.dataRequest().nessError()?.kind == .invalidRequest)
        #expect(throws: NessError.self) { try bad.build() }
    }

    private struct Lines: HTTPBodyEncoder {
        func encode(_ lines: [String]) throws -> Data { Data(lines.joined(separator: "\n").utf8) }
    }

    @Test("every setter of the builder returns a builder with the new value")
    func setters() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let post = rig.ness.httpRequest(.post, withUrl: "x")
            .set(headers: ["A": "1"]).add(headerValue: "2", forKey: "B")
            .set(urlParameters: ["p": 1]).add(urlParameterValue: 2, forKey: "q")
            .validate(statusCode: 200)
        let builders = [
            post.set(body: Data("raw".utf8)), post.set(stringBody: "text"), post.set(stringBody: "ü", encoding: .isoLatin1),
            post.set(jsonBody: ["a": 1]), post.set(arrayJsonBody: [1, "b"]), post.set(jsonEncodable: User(id: 1, name: "a")),
            post.set(arrayJsonEncodable: [User(id: 1, name: "a")]), post.set(body: ["c", "d"], with: Lines()),
        ]
        for builder in builders { _ = try await builder.dataRequest().value }
        let bodies = rig.mock.received.map { String(decoding: $0.body, as: UTF8.self) }
        let user = #"{"id":1,"name":"a"}"#
        #expect(bodies == ["raw", "text", "\u{FFFD}", #"{"a":1}"#, #"[1,"b"]"#, user, "[\(user)]", "c\nd"])
        for request in rig.mock.received {
            #expect(request.target == "/x?p=1&q=2" && request.headers["A"] == "1" && request.headers["B"] == "2")
        }
        #expect(try post.build().body == nil)
        let refused = await post.validate(statusCode: 201).dataRequest().nessError()
        #expect(refused?.kind == .validation)
    }

    private struct Tag: RequestOptionKey { static let defaultValue = "none" }

    @Test("the settings of a builder can be read from its request, which can be sent by other means")
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

    @Test("a builder sends nothing by itself, however long it is kept; a request that has ended is not sent again")
    func later() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let builder = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "a")
        await rig.ness.reset()
        #expect(rig.mock.requests.isEmpty)
        let promise = builder.dataRequest()
        _ = try await promise.value
        _ = try await promise.value
        #expect(rig.mock.requests.count == 1)
    }

    private enum Kind: RequestOptionKey { static let defaultValue = "plain" }

    @Test(
        "a request is a value with method, URL, header fields, body and options; a change to a copy leaves the original")
    func request() throws {
        let request = HTTPRequest(
            .post, url: try url("https://mock.test/a?b=1"), headers: ["X": "1"], body: HTTPBody(Data("x".utf8)), timeout: .seconds(3))
        var copy = request
        copy.method = .put
        copy.url = try url("http://other.test")
        copy.headers["X"] = "2"
        copy.body = nil
        copy.timeout = .seconds(4)
        copy[Kind.self] = "special"
        #expect("\(request.method) \(request.url) \(request.headers["X"] ?? "")" == "POST https://mock.test/a?b=1 1")
        #expect(request.url.scheme == "https" && request.url.host == "mock.test" && request.url.path == "/a" && request.url.query == "b=1")
        #expect(request.body?.data == Data("x".utf8) && request.timeout == .seconds(3) && request[Kind.self] == "plain")
        #expect("\(copy.method) \(copy.url) \(copy.headers["X"] ?? "")" == "PUT http://other.test 2")
        #expect(copy.body == nil && copy.timeout == .seconds(4) && copy[Kind.self] == "special")
    }

    @Test("environment, retries, credentials and redirects can be set for one request, over the manager's")
    func options() async throws {
        let rig = Rig {
            $0.retryControl = CounterRetryControl(maxRetryCount: 5)
            $0.authentication = BearerAuthentication(token: "manager")
        }
        rig.mock.on(.get, "//own.test/v2/x", replies: [.status(503), .status(302, headers: ["Location": "/y"])])
        let own = ServerEnvironment(baseURL: try url("https://own.test/v2"), defaultHeaders: ["X-Own": "1"])
        let message = try await rig.ness.httpRequest(withUrl: "x").set(environment: own)
            .authenticate(with: BasicAuthentication(user: "a", password: "b")).set(redirects: .stop)
            .dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value.message
        #expect(message.statusCode == 302)
        #expect(rig.mock.requests.map(\.url.absoluteString) == Array(repeating: "https://own.test/v2/x", count: 2))
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == Array(repeating: "Basic YTpi", count: 2))
        #expect(rig.mock.requests.allSatisfy { $0.headers["X-Own"] == "1" })
        rig.mock.on(.get, "/x", replies: [.status(503), .status(503), .status(200)])
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        #expect(rig.mock.requests.last?.headers["Authorization"] == "Bearer manager")
        let throttled = Rig(onUnmatched: .reply(.status(200))) { $0.throttle = ThrottleLimit(rate: 1) }
        for _ in 0..<2 { _ = try await throttled.ness.httpRequest(withUrl: "x").dataRequest().value }
        #expect(throttled.clock.sleeps == [.seconds(1)])
    }

    @Test("a request has a URL, a method, header fields and a body; a hook may complete its URL")
    func parts() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = nil
            $0.insert(
                .modifyRequest { if $0.url.scheme == nil { $0.url = try url("https://mock.test/\($0.url.relativeString)") } },
                at: .call)
        }
        _ = try await rig.ness.httpRequest(.put, withUrl: "users/1").set(headers: ["X-A": "1"]).set(stringBody: "b").dataRequest().value
        let request = try #require(rig.mock.received.first)
        #expect(request.method == .put && request.url?.absoluteString == "https://mock.test/users/1")
        #expect(request.headers["X-A"] == "1" && request.bodyText == "b")
        let bare = Ness { $0.transport = rig.mock }
        #expect(await bare.httpRequest(withUrl: "users/1").dataRequest().nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a priority reaches server and transport as a header field; the normal one takes it back")
    func priority() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let request = rig.ness.get("x")
        for priority in RequestPriority.allCases { _ = try await request.set(priority: .high).set(priority: priority).response() }
        #expect(rig.mock.requests.map { $0.headers["Priority"] } == ["u=5", nil, "u=1"])
        #expect(rig.mock.requests.map(RequestPriority.init(of:)) == RequestPriority.allCases)
    }

    @Test("a request may be kept off expensive and constrained networks")
    func networks() throws {
        let request = Ness().get("https://example.com/")
        let plain = try request.build()
        #expect(plain[AllowsExpensiveNetworkAccess.self] && plain[AllowsConstrainedNetworkAccess.self])
        let modest = try request.set(allowsExpensiveNetworkAccess: false).set(allowsConstrainedNetworkAccess: false).build()
        #expect(!modest[AllowsExpensiveNetworkAccess.self] && !modest[AllowsConstrainedNetworkAccess.self])
    }
}
