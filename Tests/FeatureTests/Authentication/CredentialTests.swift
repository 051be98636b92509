import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite("Credentials", .inTurn(.withoutSockets))
struct CredentialTests {
    private func rig(_ base: String = "https://mock.test/v1") throws -> Rig {
        let base = try url(base)
        return Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = base
            $0.authentication = BearerAuthentication(token: "secret")
        }
    }

    @Test(
        "a URL inside the base URL gets the manager's credential",
        arguments: [
            "x", "x/y?z=1", "https://mock.test/v1", "https://mock.test/v1/", "https://MOCK.test:443/v1/x?q",
            "projects/group%2Fname/issues", "files/a%2Etxt", "https://mock.test/v1/a..b/%2e%2e%2e/c;d=..", "a%5Cb",
        ])
    func inside(address: String) async throws {
        let rig = try rig()
        _ = try await rig.ness.httpRequest(withUrl: address).dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer secret"])
    }

    @Test(
        "a URL outside the base URL gets no credential",
        arguments: [
            "https://mock.test/v10", "https://mock.test/v10/x", "https://mock.test/", "https://mock.test/V1/x",
            "https://mock.test/v1/../admin",
            "https://mock.test/v1/%2e%2e/admin", "https://mock.test/v1/.%2E/admin", "https://mock.test/v1/x%2f..%2f..%2fadmin",
            "https://mock.test/v1%2Fx", "https://mock.test/v1/./../admin", "https://mock.test/v1/..%5cadmin", "http://mock.test/v1/x",
            "https://mock.test/v1/..;a=1/admin", "https://mock.test/v1/x%2F%2E%2E%3Ba/admin", "https://mock.test/v1/a%5C%2e.%5Cadmin",
            "https://mock.test:444/v1/x", "https://other.test/v1/x", "https://mock.test.evil.test/v1/x", "https://mock.test@evil.test/v1/x",
            "/admin", "../admin", "//other.test/v1/x",
        ]) func outside(address: String) async throws
    {
        let rig = try rig()
        _ = try await rig.ness.httpRequest(withUrl: address).dataRequest().value
        #expect(rig.mock.requests.count == 1)
        #expect(rig.mock.requests.allSatisfy { !$0.headers.contains("Authorization") })
    }

    @Test(
        "a 401 behind a redirect out of the base URL renews nothing, because the request no longer carried the credential",
        arguments: [["/elsewhere"], ["https://other.test/x", "https://mock.test/v1/back"]])
    func a401BehindARedirect(targets: [String]) async throws {
        let refreshes = Tally(), base = try url("https://mock.test/v1")
        let rig = Rig {
            $0.baseURL = base
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { _, _ in
                refreshes.enter()
                return "new"
            }
        }
        for (from, to) in zip(["/v1/go"] + targets, targets) { rig.mock.on(.get, from) { _ in .status(302, headers: ["Location": to]) } }
        rig.mock.on(.get, targets[targets.count - 1]) { .status($0.headers["Authorization"] == nil ? 401 : 200) }
        #expect(try await rig.ness.get("go").response().statusCode == 401)
        #expect(refreshes.total == 0 && rig.mock.requests.count == targets.count + 1)
    }

    @Test(
        "a POST that the server acted on is not sent again after a 401; the credential is renewed for later requests",
        arguments: [301, 302, 303])
    func a401AfterAnAction(status: Int) async throws {
        let rig = Rig {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { _, _ in
                "new"
            }
        }
        rig.mock.on(.post, "/orders", replies: [.status(status, headers: ["Location": "/orders/1"])])
        rig.mock.on(.get, "/orders/1") { $0.headers["Authorization"] == "new" ? .status(200) : .status(401) }
        #expect(try await rig.ness.httpRequest(.post, withUrl: "orders").dataRequest().value.message.statusCode == 401)
        #expect(rig.mock.requests.map(\.method) == [.post, .get])
        #expect(try await rig.ness.httpRequest(withUrl: "orders/1").dataRequest().value.message.statusCode == 200)
        #expect(rig.mock.requests.count == 3)
    }

    @Test("a request may ask for the manager's credential, bring its own, or have none; without a base URL, none gets it by default")
    func aRequestMayAskForThem() async throws {
        let rig = try rig()
        let request = rig.ness.httpRequest(withUrl: "https://other.test/x")
        _ = try await request.dataRequest().value
        _ = try await request.authenticate().dataRequest().value
        _ = try await request.authenticate(with: BearerAuthentication(token: "own")).dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "x").withoutAuthentication().dataRequest().value
        rig.ness.environment.baseURL = nil
        _ = try await rig.ness.httpRequest(withUrl: "https://mock.test/x").dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == [nil, "Bearer secret", "Bearer own", nil, nil])
    }

    @Test("an explicit Authorization field is not changed") func whatIsWrittenByHandStands() async throws {
        let rig = try rig()
        rig.mock.on(.get, "/v1/x", replies: [.status(401)])
        let request = rig.ness.httpRequest(withUrl: "x").set(headers: ["authorization": "by hand"])
        #expect(try await request.dataRequest().value.message.statusCode == 401)
        _ = try await request.authenticate(with: BearerAuthentication(token: "own")).dataRequest().value
        #expect(rig.mock.requests.map { $0.headers.values(for: "Authorization") } == [["by hand"], ["by hand"]])
    }

    @Test(
        "Basic credentials are UTF-8",
        arguments: [
            ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123\u{A3}", "dGVzdDoxMjPCow=="), ("", "a:b", "OmE6Yg=="),
        ])
    func basicIsUTF8(user: String, password: String, encoded: String) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = BasicAuthentication(user: user, password: password) }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Basic \(encoded)"])
    }

    /// A custom authentication, which records the rejections that it handles.
    private final class Own: Authentication {
        let rejections = Log<String>()
        let token = Lock<String?>("one")
        let renews: Bool

        init(renews: Bool) { self.renews = renews }

        func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
            var request = request
            guard let token = token.withLock({ $0 }) else { throw Rejected() }
            request.headers["X-Token"] = token
            return request
        }

        func renew(after response: HTTPResponse, in context: AuthenticationContext) async throws -> Bool {
            rejections.add("\(response.statusCode) \(response.text) \(response.request.headers["X-Token"] ?? "-")")
            token.withLock { $0 = "two" }
            return renews
        }
    }

    @Test("a 401 to an attempt without a credential is retried, even if the attempt before had one")
    func attemptWithoutCredential() async throws {
        let rig = Rig {
            let attempts = Tally(), other = URL(string: "https://other.test/y")
            $0.authentication = BasicAuthentication(user: "ada", password: "secret")
            $0.retryControl = CounterRetryControl(maxRetryCount: 3)
            $0.loaders = [
                .modifyRequest { request in
                    attempts.enter()
                    if attempts.total == 2, let other { request.url = other }
                }
            ]
        }
        rig.mock.on(.get, "/x", replies: [.status(503), .status(200)])
        rig.mock.on(.get, "/y", replies: [.status(401)])
        #expect(try await rig.ness.get("x").validate(statusCode: 200).response().statusCode == 200)
        #expect(rig.mock.requests.map { $0.headers["Authorization"] != nil } == [true, false, true])
    }

    @Test("a custom authentication renews its credential with the manager of the request, and learns that it is new")
    func ownRenewal() async throws {
        final class Keys: Authentication {
            let key = Lock("old"), contexts = Log<Bool>()

            func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
                contexts.add(context.isRenewed)
                var request = request
                request.headers["X-API-Key"] = key.withLock { $0 }
                return request
            }

            func renew(after response: HTTPResponse, in context: AuthenticationContext) async throws -> Bool {
                guard let ness = context.ness else { return false }
                let new = try await ness.withoutAuthentication().get("key").text()
                key.withLock { $0 = new }
                return true
            }
        }
        let keys = Keys(), rig = Rig { $0.authentication = keys }
        rig.mock.on(.get, "/x", replies: [.status(401), .status(200)])
        rig.mock.on(.get, "/key", replies: [.text("new")])
        #expect(try await rig.ness.get("x").response().statusCode == 200)
        #expect(rig.mock.requests.map { $0.headers["X-API-Key"] } == ["old", nil, "new"])
        #expect(keys.contexts.entries == [false, true])
        #expect(AuthenticationContext().ness == nil)
    }

    @Test("a custom authentication adds any field, sees the rejected request, and decides whether to resend it", arguments: [true, false])
    func ownAuthentication(renews: Bool) async throws {
        let own = Own(renews: renews), rig = Rig { $0.authentication = own }
        rig.mock.on(.get, "/x", replies: [.text("expired", status: 401), .status(200)])
        #expect(try await rig.ness.get("x").response().statusCode == (renews ? 200 : 401))
        #expect(own.rejections.entries == ["401 expired one"])
        #expect(rig.mock.requests.map { $0.headers["X-Token"] } == (renews ? ["one", "two"] : ["one"]))
    }

    @Test("each attempt has the credential that is current then; without one the request fails, and the next request tries it again")
    func eachAttempt() async throws {
        let own = Own(renews: false), rig = Rig { $0.authentication = own }
        rig.mock.on(.get, "/x") { request in
            own.token.withLock { $0 = "changed" }
            return .status(request.headers["X-Token"] == "one" ? 503 : 200)
        }
        _ = try await rig.ness.get("x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(rig.mock.requests.map { $0.headers["X-Token"] } == ["one", "changed"])
        own.token.withLock { $0 = nil }
        for _ in 0..<2 { await #expect(throws: Rejected()) { try await rig.ness.get("x").response() } }
        #expect(rig.mock.requests.count == 2)
    }

    @Test("a description never shows a credential")
    func secret() {
        expectHidden("hunter2", in: BasicAuthentication(user: "u", password: "hunter2"))
        expectHidden("hunter2", in: BearerAuthentication(token: "hunter2"))
        expectHidden("hunter2", in: DigestAuthentication(user: "u", password: "hunter2"))
        let refreshable = RefreshableAuthentication(credential: "hunter2") {
            ["Authorization": $0]
        } refresh: { old, _ in
            old
        }
        expectHidden("hunter2", in: refreshable)
    }

    @Test("a user name with a colon is an invalid request") func aUserWithAColonIsRefused() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = BasicAuthentication(user: "a:b", password: "secret") }
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error.map { "\($0)" }?.contains("secret") == false)
        #expect(rig.mock.requests.isEmpty)
    }
}
