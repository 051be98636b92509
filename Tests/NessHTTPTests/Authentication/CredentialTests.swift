import Foundation
import NessHTTP
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

    @Test("a redirect out of the base URL loses the credentials") func aRedirectOutOfTheBaseURLLosesThem() async throws {
        let rig = try rig()
        rig.mock.on(.get, "/v1/go", replies: [.status(302, headers: ["Location": "/v10/x"])])
        _ = try await rig.ness.httpRequest(withUrl: "go").dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer secret", nil])
    }

    @Test("a 401 behind a redirect to another origin and back renews nothing, because the request no longer carried the credential")
    func a401BehindARedirectAndBack() async throws {
        let refreshes = Tally()
        let rig = Rig {
            $0.authentication = RefreshableAuthentication(credential: "a") {
                ["Authorization": $0]
            } refresh: { _, _ in
                "\(refreshes.enter())"
            }
        }
        rig.mock.on(.get, "/go", replies: [.status(302, headers: ["Location": "https://other.test/x"])])
        rig.mock.on(.get, "//other.test/x", replies: [.status(302, headers: ["Location": "https://mock.test/back"])])
        rig.mock.on(.get, "/back", replies: [.status(401)])
        #expect(try await rig.ness.httpRequest(withUrl: "go").dataRequest().value.message.statusCode == 401)
        #expect(rig.mock.requests.last?.headers.contains("Authorization") == false)
        #expect(refreshes.total == 0)
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

    @Test("a request may ask for the manager's credential, bring its own, or have none")
    func aRequestMayAskForThem() async throws {
        let rig = try rig()
        let request = rig.ness.httpRequest(withUrl: "https://other.test/x")
        _ = try await request.dataRequest().value
        _ = try await request.authenticate().dataRequest().value
        _ = try await request.authenticate(with: BearerAuthentication(token: "own")).dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "x").withoutAuthentication().dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == [nil, "Bearer secret", "Bearer own", nil])
    }

    @Test("an explicit Authorization field is not changed") func whatIsWrittenByHandStands() async throws {
        let rig = try rig()
        rig.mock.on(.get, "/v1/x", replies: [.status(401)])
        let request = rig.ness.httpRequest(withUrl: "x").set(headers: ["authorization": "by hand"])
        #expect(try await request.dataRequest().value.message.statusCode == 401)
        _ = try await request.authenticate(with: BearerAuthentication(token: "own")).dataRequest().value
        #expect(rig.mock.requests.map { $0.headers.values(for: "Authorization") } == [["by hand"], ["by hand"]])
    }

    @Test("without a base URL no request gets credentials") func withoutABaseURLNothingIsInside() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = nil
            $0.authentication = BearerAuthentication(token: "secret")
        }
        _ = try await rig.ness.httpRequest(withUrl: "https://mock.test/x").dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == [nil])
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

    @Test("a user name with a colon is an invalid request") func aUserWithAColonIsRefused() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = BasicAuthentication(user: "a:b", password: "secret") }
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(error?.kind == .invalidRequest)
        #expect(error.map { "\($0)" }?.contains("secret") == false)
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a description never shows a credential") func whatHoldsASecretDoesNotShowIt() throws {
        let holders: [Any] = [
            BasicAuthentication(user: "u", password: "hunter2"), BearerAuthentication(token: "hunter2"),
            RefreshableAuthentication(credential: "hunter2") {
                ["Authorization": $0]
            } refresh: { old, _ in
                old
            },
        ]
        for holder in holders {
            var dumped = "\(holder) \(String(reflecting: holder))"
            dump(holder, to: &dumped)
            #expect(!dumped.contains("hunter2"))
        }
    }

    @Test("a failed authentication ends its request, and the next request tries it again")
    func aFailureIsTheRequests() async throws {
        struct Closed: Authentication {
            func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest { throw Rejected() }
        }
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = Closed() }
        for _ in 0..<2 { await #expect(throws: Rejected()) { _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value } }
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a 401 after a redirect out of the base path causes no refresh, because the credential was removed")
    func redirectOutOfBase() async throws {
        let refreshes = Tally()
        let rig = Rig {
            $0.baseURL = URL(string: "https://mock.test/api/")
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { _, _ in
                refreshes.enter()
                return "new"
            }
        }
        rig.mock.on(.get, "/api/x") { _ in .status(302, headers: ["Location": "/elsewhere"]) }
        rig.mock.on(.get, "/elsewhere") { $0.headers["Authorization"] == nil ? .status(401) : .status(200) }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 401)
        #expect(refreshes.most == 0)
        #expect(rig.mock.requests.count == 2)
    }
}
