import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Challenges are responses like any other: URLSession must neither answer them, nor hold them back, nor eat their bodies.
@Suite(.inTurn) struct AuthenticationChallengeTests {
    struct Challenge: Sendable, CustomTestStringConvertible {
        let status: Int
        let fields: [String]
        var testDescription: String { "\(status) \(fields.joined(separator: " | "))" }
        var name: String { status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate" }
        var headers: HTTPHeaders {
            var headers = HTTPHeaders()
            for field in fields { headers.add(field, for: name) }
            return headers
        }
    }

    static let basic = "Basic realm=\"test\""
    static let digest = "Digest realm=\"test\", nonce=\"abc\", qop=\"auth\", algorithm=MD5"
    static let challenges: [Challenge] = [401, 407].flatMap { status in
        [
            [], [basic], [digest], ["Bearer realm=\"test\", error=\"invalid_token\""], ["Negotiate"], ["NTLM"], [basic, digest],
            [digest, basic],
            ["\(basic), \(digest)"], ["basic realm=test"], ["Basic"], ["Unknown x=y"], [""], ["=,\"\\"],
        ].map { Challenge(status: status, fields: $0) }
    }

    @Test(
        "without credentials, the 401 is the result with its body, after one request", arguments: challenges,
        [nil, "Basic dXNlcjpwYXNz", "Bearer token"])
    func challenge(_ challenge: Challenge, _ authorization: String?) async throws {
        try await serving({ _ in .text("who are you?", status: challenge.status, headers: challenge.headers) }) { server in
            var builder = Ness().httpRequest(withUrl: server.url)
            if let authorization { builder = builder.set(headers: ["Authorization": authorization]) }
            let response = try await builder.dataRequest().value.message
            #expect(response.statusCode == challenge.status)
            #expect(response.text == "who are you?")
            for field in challenge.fields where !field.isEmpty {
                #expect(response.headers[challenge.name]?.contains(field) == true)
            }
            #expect(server.requests.map { $0.headers["Authorization"] } == [authorization])
        }
    }

    @Test("a hundred challenges and successes in turn leave no connection behind")
    func many() async throws {
        try await serving({ request in
            request.path == "/fine" ? .text("fine") : .text("who?", status: 401, headers: ["WWW-Authenticate": Self.basic])
        }) { server in
            var ness: Ness? = Ness()
            for round in 0..<100 {
                let response = try await ness?.httpRequest(withUrl: server.at(round.isMultiple(of: 2) ? "/" : "/fine")).dataRequest().value
                    .message
                #expect(response?.text == (round.isMultiple(of: 2) ? "who?" : "fine"))
            }
            ness = nil
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }
}
