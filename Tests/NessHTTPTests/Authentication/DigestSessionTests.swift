import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

@Suite("Digest: in the pipeline", .inTurn(.withoutSockets))
struct DigestSessionTests {
    /// A server that checks Digest credentials with a sequence of nonces.
    private final class Guard: Sendable {
        private let state = Lock((nonces: ["n1"], refusals: 0))
        private let password: String
        /// True if the server reports that a nonce was merely too old.
        private let saysStale: Bool

        init(password: String = "secret", saysStale: Bool = true) {
            self.password = password
            self.saysStale = saysStale
        }

        var refusals: Int { state.withLock { $0.refusals } }
        func changeNonce() { state.withLock { $0.nonces.append("n\($0.nonces.count + 1)") } }

        func reply(to request: ReceivedRequest) -> Reply {
            let nonce = state.withLock { $0.nonces.last ?? "" }
            let field = #"Digest realm="r", qop="auth", algorithm=SHA-256, nonce="\#(nonce)""#
            guard let challenge = DigestChallenge.first(in: [field]), let sent = request.headers["Authorization"] else {
                return refuse(field)
            }
            let credentials = DigestCredentials(user: "user", password: password)
            let counted = sent.split(separator: ",").first { $0.hasPrefix(" nc=") }?.dropFirst(4)
            let count = counted.flatMap { Int($0, radix: 16) } ?? 0
            let answer = credentials.answer(
                challenge, method: request.method.rawValue, target: request.target, count: count, clientNonce: "c")
            let isRight = count > 0 && sent == answer
            return isRight ? .status(200) : refuse(field + (saysStale && !sent.contains("\"\(nonce)\"") ? ", stale=true" : ""))
        }

        private func refuse(_ field: String) -> Reply {
            state.withLock { $0.refusals += 1 }
            return .status(401, headers: ["WWW-Authenticate": field])
        }
    }

    private func rig(_ server: Guard) -> Rig {
        let rig = Rig { $0.authentication = DigestSession(DigestCredentials(user: "user", password: "secret")) { "c" } }
        rig.mock.on(.get, "/*any") { server.reply(to: $0) }
        return rig
    }

    private func status(_ rig: Rig, _ path: String) async throws -> Int {
        try await rig.ness.httpRequest(withUrl: path).dataRequest().value.message.statusCode
    }

    @Test("the first request is challenged, and later ones are authorized from the start")
    func theFirstRequestIsChallengedAndLaterOnesAreNot()
        async throws
    {
        let server = Guard(), rig = rig(server)
        for path in ["a", "b?x=%20y&z", "c/%C3%A4"] { #expect(try await status(rig, path) == 200) }
        #expect(server.refusals == 1)
        #expect(rig.mock.requests.map { $0.headers["Authorization"]?.contains("nc=0000000") } == [nil, true, true, true])
        let counts = rig.mock.requests.compactMap { $0.headers["Authorization"]?.split(separator: ",").first { $0.hasPrefix(" nc=") } }
        #expect(counts == [" nc=00000001", " nc=00000002", " nc=00000003"])
    }

    @Test("a stale nonce is replaced") func aStaleNonceIsReplaced() async throws {
        let server = Guard(), rig = rig(server)
        #expect(try await status(rig, "a") == 200)
        server.changeNonce()
        #expect(try await status(rig, "b") == 200)
        #expect(server.refusals == 2)
        #expect(rig.mock.requests.count == 4)
    }

    @Test("a wrong password is tried once for each request") func aWrongPassword() async throws {
        let server = Guard(password: "other"), rig = rig(server)
        for count in 1...3 {
            #expect(try await status(rig, "a") == 401)
            #expect(rig.mock.requests.count { $0.headers.contains("Authorization") } == count)
        }
    }

    @Test("a nonce that is rejected without a reason is removed: the next request gets a new challenge")
    func aServerThatStartedAnew() async throws {
        let server = Guard(saysStale: false), rig = rig(server)
        #expect(try await status(rig, "a") == 200)
        server.changeNonce()
        #expect(try await status(rig, "b") == 401)
        #expect(try await status(rig, "c") == 200)
        #expect(rig.mock.requests.map { $0.headers.contains("Authorization") } == [false, true, true, false, true])
    }

    @Test("concurrent requests all succeed, each after at most one challenge") func manyAtOnce() async throws {
        let server = Guard(), rig = rig(server)
        for round in 0..<2 {
            let promises = (0..<100).map { rig.ness.httpRequest(withUrl: "\(round)/\($0)").dataRequest() }
            for promise in promises { #expect(try await promise.value.message.statusCode == 200) }
            server.changeNonce()
        }
        #expect(rig.mock.requests.count <= 400)
    }

    @Test("a nonce is used for its origin only") func anAnswerIsForItsOriginAlone() async throws {
        let server = Guard(), session = DigestSession(DigestCredentials(user: "user", password: "secret")) { "c" }
        let rig = Rig()
        rig.mock.on(.get, "/a") { server.reply(to: $0) }
        rig.mock.on(.get, "//other.test/b", replies: [.status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "a").authenticate(with: session).dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "https://other.test/b").authenticate(with: session).dataRequest().value
        #expect(rig.mock.requests.map { $0.headers.contains("Authorization") } == [false, true, false])
    }

    @Test("an unsupported challenge leaves the 401 as the result") func whatCantBeAnsweredStands() async throws {
        let rig = Rig { $0.authentication = DigestSession(DigestCredentials(user: "user", password: "secret")) }
        rig.mock.on(.get, "/x", replies: [.status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])])
        #expect(try await status(rig, "x") == 401)
        #expect(rig.mock.requests.count == 1)
    }
}
