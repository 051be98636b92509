import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Credentials that are renewed before the server refuses them, with requests of the manager.
@Suite(.inTurn(.withoutSockets)) struct RenewAheadTests {
    private struct Token: Codable, Sendable, Equatable {
        var text: String
        var isOld = false
    }

    private typealias Authentication = RefreshableAuthentication<Token>

    private static func authentication(
        _ first: Token = Token(text: "old", isOld: true), renew: @escaping @Sendable (Token, Ness) async throws -> Token
    ) -> Authentication {
        Authentication(credential: first, isStale: { $0.isOld }) {
            ["Authorization": $0.text]
        } renew: {
            try await renew($0, $1)
        }
    }

    private static func ask(_ ness: Ness) async throws -> Token {
        try await ness.httpRequest(.post, withUrl: "token").dataRequest(decoding: Token.self).value
    }

    @Test("a stale credential is renewed once for all requests before any of them is sent; the renewal itself carries no credential")
    func once() async throws {
        let go = TestGate()
        let authentication = Self.authentication { stale, ness in
            #expect(stale.text == "old")
            await go.wait()
            return try await Self.ask(ness)
        }
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = authentication }
        rig.mock.on(.post, "/token", replies: [.json(Token(text: "new"))])
        let uploads = (0..<10).map { rig.ness.httpRequest(.post, withUrl: "\($0)").set(stringBody: "film").dataRequest() }
        try await rig.ness.waitForRequests(10, at: .refresh)
        #expect(rig.mock.requests.isEmpty)
        go.open()
        for upload in uploads { #expect(try await upload.value.message.statusCode == 200) }
        #expect(rig.mock.requests.count == 11)
        #expect(rig.mock.requests.first?.url.path == "/token" && rig.mock.requests.first?.headers["Authorization"] == nil)
        #expect(rig.mock.requests.dropFirst().allSatisfy { $0.headers["Authorization"] == "new" })
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(rig.mock.requests.count == 12)
    }

    @Test("an authentication that wraps another passes on the manager, for an early renewal and after a 401")
    func wrapped() async throws {
        struct Wrapper: NessHTTP.Authentication {
            let wrapped: RenewAheadTests.Authentication
            func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
                var request = try await wrapped.authenticate(request, in: context)
                request.headers["X-Wrapped"] = "1"
                return request
            }
            func renew(after response: HTTPResponse, in context: AuthenticationContext) async throws -> Bool {
                try await wrapped.renew(after: response, in: context)
            }
        }
        let rig = Rig {
            $0.authentication = Wrapper(wrapped: Self.authentication { _, ness in try await Self.ask(ness) })
        }
        rig.mock.on(.post, "/token", replies: [.json(Token(text: "second")), .json(Token(text: "third"))])
        rig.mock.on(.get, "/x", replies: [.status(401), .status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest().value
        let credentials = rig.mock.requests.filter { $0.method == .get }.map { $0.headers["Authorization"] }
        #expect(credentials == ["second", "third"])
        #expect(rig.mock.requests.allSatisfy { ($0.method == .get) == ($0.headers["X-Wrapped"] != nil) })
    }

    @Test("a renewal that fails fails its request with the error, even a transient one; the request is neither sent nor retried")
    func fails() async throws {
        let renewals = Tally()
        let authentication = Self.authentication { _, _ in
            renewals.enter()
            throw NessError(.connectionLost, NessError.Context(request: nil, attempts: 0, reason: "lost"))
        }
        let rig = Rig {
            $0.authentication = authentication
            $0.retryControl = CounterRetryControl(maxRetryCount: 3)
        }
        #expect(await rig.ness.get("x").dataRequest().nessError()?.kind == .connectionLost)
        #expect(renewals.total == 1 && rig.mock.requests.isEmpty)
    }

    @Test("a new credential is sent once as it is, even if it is already stale: ahead of time and after a 401", arguments: [true, false])
    func stillStale(isOld: Bool) async throws {
        let renewals = Tally()
        let authentication = Self.authentication(Token(text: "old", isOld: isOld)) { _, _ in
            renewals.enter()
            return Token(text: "new", isOld: true)
        }
        let rig = Rig { $0.authentication = authentication }
        rig.mock.on(.get, "/x") { .status($0.headers["Authorization"] == "new" ? 200 : 401) }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        #expect(renewals.total == 1 && rig.mock.requests.count == (isOld ? 1 : 2))
    }

    @Test("a sign-out while requests wait for a renewal fails them; none is sent without a credential", arguments: [true, false])
    func signOut(isOutside: Bool) async throws {
        let session = Lock<Authentication?>(nil), asked = TestGate(), never = TestGate()
        let authentication = Self.authentication(Token(text: "old")) { stale, _ in
            guard stale.text == "old" else { throw Rejected() }
            asked.open()
            if isOutside { await never.wait() } else { session.withLock { $0 }?.credential = Token(text: "", isOld: true) }
            throw Rejected()
        }
        session.withLock { $0 = authentication }
        let rig = Rig(onUnmatched: .reply(.status(401))) { $0.authentication = authentication }
        let promises = (0..<3).map { rig.ness.httpRequest(withUrl: "\($0)").dataRequest() }
        await asked.wait()
        if isOutside { authentication.credential = Token(text: "", isOld: true) }
        for promise in promises { await #expect(throws: Rejected()) { _ = try await promise.value } }
        #expect(rig.mock.requests.allSatisfy { $0.headers["Authorization"] == "old" })
        never.open()
        session.withLock { $0 = nil }
    }

    @Test("a renewal outside a manager is an error")
    func alone() async throws {
        let authentication = Self.authentication { stale, _ in stale }
        let error = await #expect(throws: NessError.self) {
            _ = try await authentication.authenticate(HTTPRequest(url: try url("https://mock.test")), in: AuthenticationContext())
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test("a manager without authentication shares all else, sends no credential of the manager, and keeps the delegate alive")
    func withoutAuthentication() async throws {
        final class Delegate: NetworkSessionManagerDelegate {
            func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
                var request = request
                request.headers["X-Delegate"] = "1"
                return request
            }
        }
        let delegate = Delegate(), mock = MockTransport(onUnmatched: .reply(.status(200)))
        func make() -> Ness {
            let ness = Ness {
                $0.transport = mock
                $0.baseURL = URL(string: "https://mock.test")
                $0.authentication = BearerAuthentication(token: "t")
            }
            ness.delegate = delegate
            return ness.withoutAuthentication()
        }
        let plain = make()
        _ = try await plain.get("a").response()
        _ = try await plain.request(TypedRequest<User?>.get("b")).value
        _ = try await plain.get("c").authenticate().response()
        #expect(mock.requests.map { $0.headers["Authorization"] } == [nil, nil, "Bearer t"])
        #expect(mock.requests.allSatisfy { $0.headers["X-Delegate"] == "1" })
        #expect(plain.environment.baseURL == URL(string: "https://mock.test"))
    }
}
