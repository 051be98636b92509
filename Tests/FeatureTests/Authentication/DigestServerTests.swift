import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// `DigestAuthentication` against a server that computes what it expects itself.
@Suite("Digest: with a server", .inTurn) struct DigestServerTests {
    /// A server that lets one user in, with a sequence of nonces.
    private final class DigestServer: Sendable {
        private static let (user, password, realm) = ("Mufasa", "Circle of Life", "http-auth@example.org")
        private let algorithm: String?
        private let saysStale: Bool
        private let hasProtection: Bool
        /// The number of the current nonce, and the counts that it was used with.
        private let state = Lock((nonce: 1, counts: Set<Int>()))

        /// Makes a server.
        /// - Parameter saysStale: True if the server reports that a nonce was merely too old.
        /// - Parameter hasProtection: False for a server of RFC 2069, without `qop`.
        init(algorithm: String? = "SHA-256", saysStale: Bool = true, hasProtection: Bool = true) {
            (self.algorithm, self.saysStale, self.hasProtection) = (algorithm, saysStale, hasProtection)
        }

        func changeNonce() { state.withLock { $0 = ($0.nonce + 1, []) } }

        func reply(to request: ReceivedRequest) -> Reply {
            let nonce = state.withLock { "7ypf/xlj9XXwfDPEoM4URrv\($0.nonce)" }
            let sent = request.headers["Authorization"]
            if let sent, isRight(sent, request, nonce) {
                return .text("\(request.method.rawValue) \(String(decoding: request.body, as: UTF8.self))")
            }
            let named = algorithm.map { ", algorithm=\($0)" } ?? ""
            let stale = saysStale && sent?.contains("\"\(nonce)\"") == false ? ", stale=true" : ""
            let protection = hasProtection ? #", qop="auth, auth-int""# : ""
            let challenge = #"Digest realm="\#(Self.realm)"\#(protection)\#(named), nonce="\#(nonce)", opaque="a,b""#
            return .status(401, headers: ["WWW-Authenticate": #"Basic realm="simple, or not", "# + challenge + stale])
        }

        private func isRight(_ field: String, _ request: ReceivedRequest, _ nonce: String) -> Bool {
            guard field.hasPrefix("Digest "), let parameters = Self.parameters(field.dropFirst(7)) else { return false }
            let wanted = ["username": Self.user, "realm": Self.realm, "nonce": nonce, "opaque": "a,b", "uri": request.target]
            guard wanted.allSatisfy({ parameters[$0.key] == $0.value }), parameters["algorithm"] == algorithm,
                parameters["qop"] == (hasProtection ? "auth" : nil)
            else { return false }
            let isSession = algorithm?.hasSuffix("-sess") == true
            guard parameters.keys.contains("nc") == hasProtection, parameters.keys.contains("cnonce") == (hasProtection || isSession) else {
                return false
            }
            let counted = parameters["nc"] ?? "", clientNonce = parameters["cnonce"] ?? ""
            guard !hasProtection || (counted.count == 8 && !clientNonce.isEmpty) else { return false }
            let hash = { (text: String) in
                let data = Data(text.utf8)
                return TestHash.hexadecimal(self.algorithm?.hasPrefix("SHA-256") == true ? TestHash.sha256(data) : TestHash.md5(data))
            }
            var secret = hash("\(Self.user):\(Self.realm):\(Self.password)")
            if isSession { secret = hash("\(secret):\(nonce):\(clientNonce)") }
            let asked = hash("\(request.method.rawValue):\(request.target)")
            guard hasProtection else { return parameters["response"] == hash("\(secret):\(nonce):\(asked)") }
            let isFresh = Int(counted, radix: 16).map { count in state.withLock { $0.counts.insert(count).inserted } } ?? false
            return isFresh && parameters["response"] == hash("\(secret):\(nonce):\(counted):\(clientNonce):auth:\(asked)")
        }

        /// The parameters by their names; none of their values has a comma followed by a space.
        private static func parameters(_ text: Substring) -> [String: String]? {
            let pairs = text.split(separator: ", ").map { $0.split(separator: "=", maxSplits: 1) }
            guard pairs.allSatisfy({ $0.count == 2 }) else { return nil }
            return Dictionary(pairs.map { (String($0[0]), $0[1].trimmingCharacters(in: ["\""])) }) { _, _ in "named twice" }
        }
    }

    /// A manager over a server, with the right password or a wrong one.
    private func rig(_ server: DigestServer, password: String = "Circle of Life") -> Rig {
        let rig = Rig { $0.authentication = DigestAuthentication(user: "Mufasa", password: password) }
        rig.mock.on(nil, "/*any") { server.reply(to: $0) }
        return rig
    }

    private func status(_ rig: Rig, _ path: String) async throws -> Int { try await rig.ness.get(path).response().statusCode }

    /// True for each request that carried a credential.
    private func carried(_ rig: Rig) -> [Bool] { rig.mock.requests.map { $0.headers.contains("Authorization") } }

    @Test(
        "Digest responds to a server's challenge, and later requests are authorized from the start",
        arguments: [nil, "MD5", "MD5-sess", "SHA-256", "SHA-256-sess"])
    func answered(algorithm: String?) async throws {
        let digest = DigestServer(algorithm: algorithm)
        let authentication = DigestAuthentication(user: "Mufasa", password: "Circle of Life")
        try await withServer({ digest.reply(to: $0) }, configure: { $0.authentication = authentication }) { server, ness in
            var texts: [String] = []
            for path in ["dir/index.html", "a%20b?q=%C3%A4&r"] { texts.append(try await ness.get(path).text()) }
            texts.append(try await ness.post("form").set(body: Data("body".utf8)).text())
            #expect(texts == ["GET ", "GET ", "POST body"])
            #expect(server.requests.map { $0.headers.contains("Authorization") } == [false, true, true, true])
            let credentials = server.requests.compactMap { $0.headers["Authorization"] }
            #expect(credentials.enumerated().allSatisfy { $1.contains("nc=0000000\($0 + 1)") })
        }
    }

    @Test(
        "a server that sends no qop gets the response of RFC 2069, with the client nonce for a session",
        arguments: [nil, "MD5", "MD5-sess", "SHA-256"])
    func legacy(algorithm: String?) async throws {
        let digest = DigestServer(algorithm: algorithm, hasProtection: false)
        let authentication = DigestAuthentication(user: "Mufasa", password: "Circle of Life")
        try await withServer({ digest.reply(to: $0) }, configure: { $0.authentication = authentication }) { server, ness in
            let first = try await ness.get("dir/index.html").text()
            digest.changeNonce()
            let second = try await ness.post("form?q=%C3%A4").set(body: Data("body".utf8)).text()
            #expect([first, second] == ["GET ", "POST body"])
            #expect(server.requests.map { $0.headers.contains("Authorization") } == [false, true, true, true])
        }
    }

    @Test("a stale nonce is replaced; one that is rejected without a reason is removed, and the next request gets a new challenge")
    func newNonce() async throws {
        for (saysStale, statuses, expected) in [
            (true, [200, 200, 200], [false, true, true, true, true]), (false, [200, 401, 200], [false, true, true, false, true]),
        ] {
            let server = DigestServer(saysStale: saysStale), rig = rig(server)
            var seen = [try await status(rig, "a")]
            server.changeNonce()
            for path in ["b", "c"] { seen.append(try await status(rig, path)) }
            #expect(seen == statuses && carried(rig) == expected)
        }
    }

    @Test("a wrong password is tried once for each request, and gets the server's 401") func wrongPassword() async throws {
        let rig = rig(DigestServer(), password: "?")
        for count in 1...3 {
            #expect(try await status(rig, "a") == 401)
            #expect(carried(rig).count { $0 } == count)
        }
    }

    @Test("concurrent requests all succeed, each after at most one challenge") func manyAtOnce() async throws {
        let server = DigestServer(), rig = rig(server)
        let promises = (0..<100).map { rig.ness.get("\($0)").dataRequest() }
        for promise in promises { #expect(try await promise.value.message.statusCode == 200) }
        #expect(rig.mock.requests.count <= 200)
    }

    @Test("a nonce is used for its origin only") func otherOrigin() async throws {
        let rig = rig(DigestServer()), digest = DigestAuthentication(user: "Mufasa", password: "Circle of Life")
        rig.mock.on(.get, "//other.test/b", replies: [.status(200)])
        for url in ["a", "https://other.test/b"] { _ = try await rig.ness.get(url).authenticate(with: digest).response() }
        #expect(carried(rig) == [false, true, false])
    }
}
