import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The header fields that a redirect may take to another origin, and those that it must not.
@Suite(.inTurn) struct RedirectOriginTests {
    static let secrets: HTTPHeaders = [
        "Authorization": "Bearer s3cret", "Cookie": "session=s3cret", "Proxy-Authorization": "Basic s3cret", "X-Api-Key": "s3cret",
        "x-session": "s3cret",
    ]
    static let open: HTTPHeaders = ["X-Plain": "plain", "Accept-Language": "en", "User-Agent": "tests"]

    /// Returns a manager and a request with all of these fields. The secrets among them are declared in every possible way.
    private func builder(_ transport: (any Transport)? = nil, _ method: HTTPMethod = .get, _ url: String) -> RequestBuilder {
        let ness = Ness {
            $0.defaultHeaders = ["X-Api-Key": "s3cret", "X-Plain": "plain"]
            $0.secretNames = ["x-api-key"]
            if let transport { $0.transport = transport }
        }
        var headers = Self.secrets.merging(Self.open)
        // The manager adds these two fields.
        headers.remove("X-Api-Key")
        headers.remove("X-Plain")
        return ness.httpRequest(method, withUrl: url).set(headers: headers).set(secretNames: ["X-Session"])
    }

    private func expectNoSecret(_ headers: HTTPHeaders?, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let headers = try #require(headers, sourceLocation: sourceLocation)
        for field in headers { #expect(!field.value.contains("s3cret"), "\(field.name)", sourceLocation: sourceLocation) }
        for name in Self.secrets.map(\.name) { #expect(!headers.contains(name), sourceLocation: sourceLocation) }
        for field in Self.open { #expect(headers[field.name] == field.value, sourceLocation: sourceLocation) }
    }

    /// Compares only the fields that the test sets. URLSession adds and withholds others by itself, at a redirect or not.
    private func expectSecrets(_ headers: HTTPHeaders?, like first: HTTPHeaders?, sourceLocation: SourceLocation = #_sourceLocation) throws
    {
        let headers = try #require(headers, sourceLocation: sourceLocation), first = try #require(first, sourceLocation: sourceLocation)
        for name in Self.secrets.merging(Self.open).map(\.name) { #expect(headers[name] == first[name], sourceLocation: sourceLocation) }
        for name in ["Authorization", "Cookie", "X-Api-Key", "X-Session"] {
            #expect(headers[name]?.contains("s3cret") == true, "\(name)", sourceLocation: sourceLocation)
        }
    }

    @Test("another host or port gets no secret, but everything else", arguments: RedirectTests.codes, [true, false])
    func otherOrigin(_ status: Int, _ isOtherHost: Bool) async throws {
        try await serving({ _ in .text("arrived") }) { other in
            try await serving({ request in
                let target = isOtherHost ? "http://localhost:\(request.url.port ?? 0)/to" : other.at("/to")
                return request.path == "/from" ? .status(status, headers: ["Location": target]) : .text("arrived")
            }) { server in
                let response = try await builder(nil, .post, server.at("/from")).set(stringBody: "content").dataRequest().value.message
                #expect(response.text == "arrived")
                #expect(server.requests.first?.headers["Authorization"] == "Bearer s3cret")
                let reached = isOtherHost ? server : other
                #expect(reached.requests.last?.target == "/to")
                try expectNoSecret(reached.requests.last?.headers)
                try expectNoSecret(response.request.headers)
                // The Host field names the new origin, not the old one.
                #expect(reached.requests.last?.headers["Host"] == "\(isOtherHost ? "localhost" : "127.0.0.1"):\(reached.port)")
                #expect(reached.requests.last?.bodyText == (status >= 307 ? "content" : ""))
            }
        }
    }

    @Test(
        "307 and 308 take the method and the body to another origin, but no secret field of the request or the body",
        arguments: [301, 302, 307, 308], [HTTPMethod.post, .put, .patch, .delete])
    func bodyGoesAlong(_ status: Int, _ method: HTTPMethod) async throws {
        // 301 and 302 turn POST into GET.
        if status < 303, method == .post { return }
        try await serving({ _ in .text("arrived") }) { other in
            try await serving({ _ in .status(status, headers: ["Location": other.at("/to")]) }) { server in
                let body = HTTPBody(Data("content".utf8), headers: ["Content-Type": "text/plain", "X-Api-Key": "s3cret"])
                _ = try await builder(nil, method, server.at("/from")).set(body: body).dataRequest().value
                let arrived = try #require(other.requests.last)
                #expect(arrived.method == method && arrived.bodyText == "content")
                #expect(arrived.headers["Content-Type"] == "text/plain")
                try expectNoSecret(arrived.headers)
            }
        }
    }

    @Test("a decision about redirects keeps the body from another origin")
    func bodyStays() async throws {
        try await serving({ _ in .text("arrived") }) { other in
            try await serving({ _ in .status(307, headers: ["Location": other.at("/to")]) }) { server in
                let redirects = RedirectPolicy.decide { redirection in
                    let leaves = redirection.request.url.port != redirection.response.request.url.port
                    return leaves && redirection.request.body != nil ? .stop : .follow
                }
                let response = try await builder(nil, .post, server.at("/from")).set(stringBody: "content").set(redirects: redirects)
                    .dataRequest().value.message
                #expect(response.statusCode == 307)
                #expect(other.requests.isEmpty)
            }
        }
    }

    @Test("a removed secret does not return")
    func thereAndBack() async throws {
        try await serving({ request in
            let port = request.url.port ?? 0
            switch request.path {
            case "/from": return .status(307, headers: ["Location": "http://localhost:\(port)/via"])
            case "/via": return .status(307, headers: ["Location": "http://127.0.0.1:\(port)/to"])
            default: return .text("arrived")
            }
        }) { server in
            _ = try await builder(nil, .get, server.at("/from")).dataRequest().value
            try expectNoSecret(server.requests[1].headers)
            try expectNoSecret(server.requests[2].headers)
        }
    }

    @Test(
        "every change of scheme, host or port makes another origin", arguments: RedirectTests.codes,
        [
            ("http://a.example/", "https://a.example/"), ("https://a.example/", "http://a.example/"),
            ("https://a.example/", "https://b.example/"), ("https://a.example/", "https://sub.a.example/"),
            ("https://sub.a.example/", "https://a.example/"), ("https://a.example/", "https://a.example:444/"),
            ("http://a.example/", "http://a.example:443/"), ("http://a.example:443/", "https://a.example/"),
            ("https://a.example/", "//b.example/"), ("https://a.example/", "https://a.example@b.example/"),
            ("https://a.example/", "https://a.example.b.example/"), ("https://a.example/", "https://a.example.:443/x"),
        ])
    func crossing(_ status: Int, _ hop: (from: String, to: String)) async throws {
        let wire = AnsweringTransport(redirectingTo: hop.to, status: status)
        let builder = builder(wire, .get, hop.from).set(redirects: .follow(), allowsInsecure: true)
        _ = try await builder.dataRequest().value
        #expect(wire.requests.count == 2)
        try expectNoSecret(wire.requests.last?.headers)
    }

    @Test(
        "another spelling of the same origin is the same origin",
        arguments: [
            ("http://a.example/", "http://a.example:80/x"), ("https://a.example:443/", "https://a.example/x"),
            ("http://a.example/", "HTTP://A.EXAMPLE/x"), ("https://A.example/", "//a.Example/x"), ("https://a.example/", "/x"),
            ("https://a.example:444/", "https://a.example:444/x"),
        ])
    func spelling(_ from: String, _ to: String) async throws {
        let wire = AnsweringTransport(redirectingTo: to)
        _ = try await builder(wire, .get, from).dataRequest().value
        #expect(wire.requests.count == 2)
        try expectSecrets(wire.requests.last?.headers, like: wire.requests.first?.headers)
    }

    @Test("a closure that decides on redirects sees the proposed request without the secrets")
    func decided() async throws {
        let wire = AnsweringTransport(redirectingTo: "https://b.example/")
        let asked = Lock<HTTPHeaders?>(nil)
        _ = try await builder(wire, .get, "https://a.example/").set(
            redirects: .decide { redirection in
                asked.withLock { $0 = redirection.request.headers }
                return .follow
            }
        ).dataRequest().value
        try expectNoSecret(asked.withLock { $0 })
        try expectNoSecret(wire.requests.last?.headers)
    }

    // MARK: user and password in the URL

    @Test("a user and password in the URL are not sent to another origin", arguments: RedirectTests.codes)
    func userinfo(_ status: Int) async throws {
        try await serving({ request in
            request.path == "/from" ? .status(status, headers: ["Location": "//localhost:\(request.url.port ?? 0)/to"]) : .text("arrived")
        }) { server in
            let url = "http://user:s3cret@127.0.0.1:\(server.port)/from"
            let response = try await Ness().httpRequest(withUrl: url).dataRequest().value.message
            #expect(response.text == "arrived")
            #expect(response.url.user == nil && response.url.password == nil)
            let last = try #require(server.requests.last)
            #expect(last.target == "/to")
            #expect(!last.headers.contains("Authorization"))
        }
    }

    @Test(
        "a user and password in the URL are sent to the same origin")
    func userinfoKept() async throws {
        try await serving({ request in
            request.path == "/from" ? .status(302, headers: ["Location": "/to"]) : .text("arrived")
        }) { server in
            _ = try await Ness().httpRequest(withUrl: "http://user:s3cret@127.0.0.1:\(server.port)/from").dataRequest().value
            let credentials = server.requests.map { $0.headers["Authorization"] }
            #expect(credentials.count == 2)
            #expect(credentials.first == credentials.last)
        }
    }

    @Test("a redirect out of the base URL carries no secret default header, but keeps the request's own credential", arguments: 0..<3)
    func outOfBase(credential: Int) async throws {
        let rig = Rig {
            $0.baseURL = URL(string: "https://mock.test/v1/")
            $0.defaultHeaders = ["X-Api-Key": "k", "X-Plain": "plain"]
            if credential == 1 { $0.authentication = BearerAuthentication(token: "manager") }
        }
        rig.mock.on(.get, "/v1/a") { _ in .status(302, headers: ["Location": "/tenant2/b"]) }
        rig.mock.on(.get, "/tenant2/b") { _ in .text("b") }
        let request = rig.ness.get("a")
        _ = try await (credential == 2 ? request.authenticate(with: .bearer("own")) : request).response()
        #expect(rig.mock.requests.map { $0.headers["X-Api-Key"] } == ["k", nil])
        #expect(rig.mock.requests.map { $0.headers["X-Plain"] } == ["plain", "plain"])
        #expect(rig.mock.requests.last?.headers["Authorization"] == (credential == 2 ? "Bearer own" : nil))
    }
}
