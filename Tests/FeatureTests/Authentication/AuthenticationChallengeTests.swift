import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Challenges are responses like any other: URLSession must neither answer them, nor hold them back, nor eat their bodies.
@Suite(.inTurn) struct AuthenticationChallengeTests {
    static let basic = "Basic realm=\"test\""
    static let digest = "Digest realm=\"test\", nonce=\"abc\", qop=\"auth\", algorithm=MD5"

    @Test(
        "the 401 or 407 is the result with its body, after one request, with and without an Authorization field",
        arguments: [(401, "WWW-Authenticate"), (407, "Proxy-Authenticate")],
        [
            [], [basic], [digest], ["Bearer realm=\"test\", error=\"invalid_token\""], ["Negotiate"], ["NTLM"], [basic, digest],
            [digest, basic], ["\(basic), \(digest)"], ["basic realm=test"], ["Basic"], ["Unknown x=y"], [""], ["=,\"\\"],
        ])
    func challenge(_ kind: (status: Int, name: String), _ fields: [String]) async throws {
        var challenge = HTTPHeaders()
        for field in fields { challenge.add(field, for: kind.name) }
        try await serving({ [challenge] _ in .text("who are you?", status: kind.status, headers: challenge) }) { server in
            for headers in [[:], ["Authorization": "Basic dXNlcjpwYXNz"], ["Authorization": "Bearer token"]] as [HTTPHeaders] {
                let response = try await Ness().get(server.url).set(headers: headers).response()
                #expect(response.statusCode == kind.status && response.text == "who are you?")
                for field in fields where !field.isEmpty { #expect(response.headers[kind.name]?.contains(field) == true) }
                #expect(server.requests.last?.headers["Authorization"] == headers["Authorization"])
            }
            #expect(server.requestCount == 3)
        }
    }
}
