import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Custom authentications: when they are asked, and the requests that carry their credentials.
@Suite(.inTurn(.withoutSockets)) struct AuthenticationTests {
    /// A custom authentication, which records the questions that the manager asks it.
    private final class Own: Authentication {
        let asked = Log<String>()
        let token = Lock("one")
        let renews: Bool

        init(renews: Bool = true) { self.renews = renews }

        func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
            var request = request
            request.headers["X-Token"] = token.withLock { $0 }
            return request
        }

        func renew(after response: HTTPResponse) async throws -> Bool {
            asked.add("\(response.statusCode) \(response.request.headers["X-Token"] ?? "-")")
            token.withLock { $0 = "two" }
            return renews
        }
    }

    @Test(
        "a custom authentication adds any field, sees the rejected request, and decides whether to resend it")
    func ownAuthentication() async throws {
        for renews in [true, false] {
            let own = Own(renews: renews), rig = Rig { $0.authentication = own }
            rig.mock.on(.get, "/x", replies: [.status(401), .status(200)])
            #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == (renews ? 200 : 401))
            #expect(own.asked.entries == ["401 one"])
            #expect(rig.mock.requests.map { $0.headers["X-Token"] } == (renews ? ["one", "two"] : ["one"]))
        }
    }

    @Test("a refresh receives the rejected credential and the response")
    func refusedCredential() async throws {
        let given = Log<String>()
        let rig = Rig {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { stale, response in
                given.add("\(stale) \(response.statusCode) \(response.text)")
                return "new"
            }
        }
        rig.mock.on(.get, "/x", replies: [.text("expired", status: 401), .status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(given.entries == ["old 401 expired"])
    }

    @Test("each attempt has the credential that is current then")
    func eachAttempt() async throws {
        let own = Own(), rig = Rig { $0.authentication = own }
        rig.mock.on(.get, "/x") { request in
            own.token.withLock { $0 = "changed" }
            return .status(request.headers["X-Token"] == "one" ? 503 : 200)
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(rig.mock.requests.map { $0.headers["X-Token"] } == ["one", "changed"])
    }

    @Test("a mock sees a request with its credential, and with the whole body even if it is sent in pieces")
    func mocked() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file")
            try Data("from disk".utf8).write(to: file)
            let rig = Rig { $0.authentication = BearerAuthentication(token: "token") }
            rig.mock.on(.post, "/x") { .text("\($0.headers["Authorization"] ?? "-") \($0.bodyText)") }
            var form = MultipartForm()
            form.append(file: file, named: "f")
            form.append(named: "made") { HTTPBody(Data("later".utf8)) }
            let text = try await rig.ness.httpRequest(.post, withUrl: "x").set(multipart: form).dataRequest().value.message.text
            #expect(text.hasPrefix("Bearer token --") && text.contains("\r\n\r\nfrom disk\r\n") && text.contains("\r\n\r\nlater\r\n"))
        }
    }

    @Test("a request can leave out its environment's credential; a request that a refresh makes does so by itself")
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

    @Test("authentication handles only a 401; a 403 is up to the retry control if a validator rejects it")
    func forbidden() async throws {
        let own = Own(), control = AskedControl(), rig = Rig { $0.authentication = own }
        rig.mock.on(.get, "/x", replies: [.status(403), .status(200)])
        let promise = rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest(with: control)
        #expect(try await promise.value.message.statusCode == 200)
        #expect(own.asked.entries.isEmpty && control.asked.entries.map { $0.response?.statusCode } == [403])
    }
}
