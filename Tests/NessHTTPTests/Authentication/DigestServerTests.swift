import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// `DigestAuthentication` over sockets, against a server that computes what it expects itself.
@Suite(.inTurn) struct DigestServerTests {
    /// A server that lets one user in, by one algorithm.
    private final class DigestServer: Sendable {
        private static let (user, password, realm, nonce) = ("Mufasa", "Circle of Life", "http-auth@example.org", "7ypf/xlj9XXwfDPEoM4URrv")
        private let algorithm: String?
        private let highestCount = Lock(0)

        init(algorithm: String?) { self.algorithm = algorithm }

        func reply(to request: ReceivedRequest) -> Reply {
            guard let field = request.headers["Authorization"], isRight(field, request) else {
                let named = algorithm.map { ", algorithm=\($0)" } ?? ""
                let challenge = #"Digest realm="\#(Self.realm)", qop="auth, auth-int"\#(named), nonce="\#(Self.nonce)", opaque="a,b""#
                return .status(401, headers: ["WWW-Authenticate": #"Basic realm="simple, or not", "# + challenge])
            }
            return .text("\(request.method.rawValue) \(String(decoding: request.body, as: UTF8.self))")
        }

        private func isRight(_ field: String, _ request: ReceivedRequest) -> Bool {
            guard field.hasPrefix("Digest "), let parameters = Self.parameters(field.dropFirst(7)) else { return false }
            let wanted = [
                "username": Self.user, "realm": Self.realm, "nonce": Self.nonce, "opaque": "a,b", "uri": request.target, "qop": "auth",
            ]
            guard wanted.allSatisfy({ parameters[$0.key] == $0.value }), parameters["algorithm"] == algorithm,
                let counted = parameters["nc"], counted.count == 8, let count = Int(counted, radix: 16),
                let clientNonce = parameters["cnonce"], !clientNonce.isEmpty
            else { return false }
            let hash = { (text: String) in
                let data = Data(text.utf8)
                return TestHash.hexadecimal(self.algorithm?.hasPrefix("SHA-256") == true ? TestHash.sha256(data) : TestHash.md5(data))
            }
            var secret = hash("\(Self.user):\(Self.realm):\(Self.password)")
            if algorithm?.hasSuffix("-sess") == true { secret = hash("\(secret):\(Self.nonce):\(clientNonce)") }
            let asked = hash("\(request.method.rawValue):\(request.target)")
            let isFresh = highestCount.withLock { highest in
                defer { highest = max(highest, count) }
                return count == highest + 1
            }
            return isFresh && parameters["response"] == hash("\(secret):\(Self.nonce):\(counted):\(clientNonce):auth:\(asked)")
        }

        /// The parameters by their names; none of their values has a comma followed by a space.
        private static func parameters(_ text: Substring) -> [String: String]? {
            let pairs = text.split(separator: ", ").map { $0.split(separator: "=", maxSplits: 1) }
            guard pairs.allSatisfy({ $0.count == 2 }) else { return nil }
            return Dictionary(pairs.map { (String($0[0]), $0[1].trimmingCharacters(in: ["\""])) }) { _, _ in "named twice" }
        }
    }

    private static let algorithms = [nil, "MD5", "MD5-sess", "SHA-256", "SHA-256-sess"]

    @Test("Digest responds to a server's challenge, and later requests are authorized from the start", arguments: algorithms)
    func answered(algorithm: String?) async throws {
        let digest = DigestServer(algorithm: algorithm)
        let server = try await TestServer.start { digest.reply(to: $0) }
        let ness = Ness {
            $0.baseURL = server.url
            $0.authentication = DigestAuthentication(user: "Mufasa", password: "Circle of Life")
        }
        for path in ["dir/index.html", "a%20b?q=%C3%A4&r"] {
            #expect(try await ness.httpRequest(withUrl: path).dataRequest().value.message.text == "GET ")
        }
        let post = ness.httpRequest(.post, withUrl: "form").set(body: Data("body".utf8))
        #expect(try await post.dataRequest().value.message.text == "POST body")
        #expect(server.requests.map { $0.headers.contains("Authorization") } == [false, true, true, true])
        await server.stop()
    }

    @Test("a wrong password gets the server's 401") func wrongPassword() async throws {
        let digest = DigestServer(algorithm: "SHA-256")
        let server = try await TestServer.start { digest.reply(to: $0) }
        let ness = Ness { $0.authentication = DigestAuthentication(user: "Mufasa", password: "Circle of Live") }
        let request = ness.httpRequest(withUrl: server.url).authenticate(with: DigestAuthentication(user: "Mufasa", password: "?"))
        #expect(try await request.dataRequest().value.message.statusCode == 401)
        #expect(server.requests.count == 2)
        await server.stop()
    }
}
