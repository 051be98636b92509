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

    @Test("every method gets a challenge as its result, with or without a request body", arguments: RedirectTests.methods, [basic, digest])
    func methods(_ method: HTTPMethod, _ field: String) async throws {
        try await serving({ _ in .text("who?", status: 401, headers: ["WWW-Authenticate": field]) }) { server in
            var builder = Ness().httpRequest(method, withUrl: server.url)
            if ![.get, .head, .options].contains(method) { builder = builder.set(stringBody: "content") }
            let response = try await builder.dataRequest().value.message
            #expect(response.statusCode == 401)
            #expect(response.text == (method == .head ? "" : "who?"))
            #expect(server.requestCount == 1)
            #expect(server.requests.first?.bodyText == ([.get, .head, .options].contains(method) ? "" : "content"))
        }
    }

    @Test("a challenge's body is complete, in every framing", arguments: ["large", "chunked", "until close", "empty"])
    func bodies(_ kind: String) async throws {
        let page = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        let headers: HTTPHeaders = ["WWW-Authenticate": Self.basic]
        try await serving({ _ in
            switch kind {
            case "large": .data(page, status: 401, headers: headers)
            case "chunked": .chunked([page.prefix(1_000), page.dropFirst(1_000)], status: 401, headers: headers)
            case "until close":
                .script([.send("HTTP/1.1 401 No\r\nWWW-Authenticate: \(Self.basic)\r\n\r\n"), .sendData(page), .close])
            default: .status(401, headers: headers)
            }
        }) { server in
            let response = try await Ness().httpRequest(withUrl: server.url).dataRequest().value.message
            #expect(response.statusCode == 401)
            #expect(response.body == (kind == "empty" ? Data() : page))
        }
    }

    @Test(
        "a challenge with a truncated body is an error",
        .toBeDecidedOnAMac("whether the head is known if a body without a Content-Type breaks off"),
        arguments: ["Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"])
    func cut(_ rest: String) async throws {
        try await serving(script: { _ in
            [.receiveRequest, .send("HTTP/1.1 401 No\r\nWWW-Authenticate: \(Self.basic)\r\n\(rest)"), .close]
        }) { server in
            #expect(await Ness().httpRequest(withUrl: server.url).dataRequest().nessError()?.kind == .truncated)
        }
    }

    @Test("the idle timeout, or a drop, ends a challenge whose body never ends", arguments: [true, false])
    func stalled(_ drops: Bool) async throws {
        let received = TestGate(), clock = ManualClock()
        try await serving(script: { _ in
            [
                .receiveRequest, .send("HTTP/1.1 401 No\r\nWWW-Authenticate: \(Self.basic)\r\nContent-Length: 9\r\n\r\nx"),
                .signal(received), .stall,
            ]
        }) { server in
            let promise = Ness { $0.clock = clock }.httpRequest(withUrl: server.url).dataRequest()
            let witness = Witness(promise)
            await received.wait()
            await clock.waitForSleepers(1)
            if drops {
                promise.drop()
            } else {
                while !promise.isCompleted {
                    clock.advance(by: .seconds(61))
                    await Task.yield()
                }
            }
            #expect(await witness.outcome() == [drops ? "dropped" : "timedOut"])
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("a validator turns a challenge into an error that holds the response")
    func validated() async throws {
        try await serving({ _ in .text("who?", status: 401, headers: ["WWW-Authenticate": Self.basic]) }) { server in
            let builder = Ness().httpRequest(withUrl: server.url).validate(statusCodes: 200..<300)
            let error = await builder.dataRequest().nessError()
            #expect(error?.kind == .validation)
            #expect(error?.response?.text == "who?")
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
