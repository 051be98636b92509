import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Kept connections that die under a request. What must not be sent twice is not, and no body arrives empty.
@Suite(.inTurn) struct StaleConnectionTests {
    /// Every connection answers once, keeps alive, and closes when it has the second request whole.
    private static func closesOnSecond(_ seen: Log<String>) -> TestServer.Handler {
        { request in
            seen.add("\(request.method) \(request.target) \(request.bodyText)")
            return request.requestNumberOnConnection == 1 ? .text(request.bodyText + "!") : .script([.close])
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let method: HTTPMethod
        let body: String?
        var testDescription: String { "\(method)\(body == nil ? "" : " with body")" }
    }

    static let cases: [Case] = [
        Case(method: .post, body: "content"), Case(method: .post, body: nil), Case(method: .post, body: ""),
        Case(method: .patch, body: "content"), Case(method: .patch, body: nil), Case(method: .put, body: "content"),
        Case(method: .delete, body: "content"), Case(method: .custom("BREW"), body: "content"), Case(method: .custom("BREW"), body: nil),
    ]

    /// Over libcurl, such a request may use a connection that was idle for a moment. If the server closes it, the server may have acted.
    private static let mayFail = !Engine.isURLSessionOnLinux

    @Test("a request that must not be repeated is sent once: it arrives complete, or fails as one that may have acted", arguments: cases)
    func once(_ given: Case) async throws {
        let seen = Log<String>(), body = given.body ?? ""
        try await serving(Self.closesOnSecond(seen)) { server in
            let ness = Ness()
            for round in 0..<5 {
                // Leaves a connection that will die under the next request.
                _ = try await ness.httpRequest(withUrl: server.at("/warm")).dataRequest().value
                var builder = ness.httpRequest(given.method, withUrl: server.at("/\(round)"))
                if let body = given.body { builder = builder.set(body: HTTPBody(Data(body.utf8))) }
                let outcome = await builder.dataRequest().settled, isIdempotent = given.method.isIdempotent
                switch outcome {
                case .success(let result): #expect(result.message.text == body + "!")
                case .failure(let error):
                    let error = try #require(error as? NessError)
                    #expect(Self.mayFail && !isIdempotent && error.kind == .connectionLost && error.mayHaveReachedServer)
                }
                let arrived = seen.entries.filter { $0 == "\(given.method) /\(round) \(body)" }.count
                #expect(arrived == 1 || (isIdempotent && arrived == 2))
            }
            #expect(seen.entries.allSatisfy { $0.hasPrefix("GET") || $0.hasSuffix(" \(body)") })
        }
    }

    #if os(Linux)
    @Test("POST requests in a row use one connection, over http and https", arguments: [false, true])
    func reused(isSecure: Bool) async throws {
        let authority = try TestAuthority(), handler: TestServer.Handler = { .text($0.bodyText) }
        let server = try await TestServer.start(certificate: isSecure ? authority.certificate() : nil, handler)
        try await stopping(server) { server in
            let transport = try CurlTransport {
                // A stall of the machine must not age the connection.
                $0.maximumIdleTimeForWrites = .seconds(118)
            }
            let trusted = try authority.certificates
            let ness = Ness {
                $0.transport = transport
                $0.baseURL = server.url
                $0.serverTrust = .pinned(["*": .authorities(trusted)])
            }
            for number in 0..<200 { #expect(try await ness.post("x").set(stringBody: "\(number)").text() == "\(number)") }
            #expect(server.connectionCount == 1)
        }
    }

    @Test("with an idle time of zero each POST opens a connection; other limits are rejected")
    func neverReused() async throws {
        try await serving({ .text($0.bodyText) }) { server in
            let transport = try CurlTransport { $0.maximumIdleTimeForWrites = .zero }
            let ness = Ness { $0.transport = transport }
            for number in 0..<3 { #expect(try await ness.post(server.url).set(stringBody: "\(number)").text() == "\(number)") }
            #expect(server.connectionCount == 3)
        }
        for limit in [Duration.seconds(-1), .seconds(119)] {
            #expect(throws: CurlTransport.OptionError.self) { try CurlTransport { $0.maximumIdleTimeForWrites = limit } }
        }
    }
    #endif

    @Test("no POST arrives twice, although the server closes connections at random moments", arguments: seeds(1))
    func randomCloses(seed: UInt64) async throws {
        let random = Lock(SeededGenerator(seed: seed)), seen = Log<String>(), count = 1_000
        try await serving({ request in
            seen.add(request.bodyText)
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n\(request.bodyText)"
            return switch random.withLock({ Int.random(in: 0..<10, using: &$0) }) {
            // Before a response, in it, and just after it, when the client may have taken the connection for the next request.
            case 0: .script([.close])
            case 1: .script([.send(String(reply.dropLast())), .close])
            case 2: .script([.send(reply), .close])
            case 3: .script([.send(reply), .reset])
            default: .text(request.bodyText)
            }
        }) { server in
            let ness = Ness { $0.maximumConnectionsPerHost = 32 }
            let promises = (0..<count).map { ness.post(server.url).set(stringBody: "\($0)").dataRequest() }
            for (number, promise) in promises.enumerated() {
                switch await promise.settled {
                case .success(let result): #expect(result.message.text == "\(number)")
                case .failure(let error):
                    let error = try #require(error as? NessError)
                    #expect([.connectionLost, .truncated].contains(error.kind) && error.mayHaveReachedServer, "\(error)")
                }
            }
            #expect(Set(seen.entries).count == seen.entries.count)
        }
    }

    @Test("a repeatable request succeeds in spite of a broken connection", arguments: [HTTPMethod.get, .head, .options, .delete])
    func repeated(_ method: HTTPMethod) async throws {
        let seen = Log<String>()
        try await serving(Self.closesOnSecond(seen)) { server in
            let ness = Ness()
            for round in 0..<10 {
                let response = try await ness.httpRequest(method, withUrl: server.at("/\(round)")).dataRequest().value.message
                #expect(response.statusCode == 200)
            }
        }
    }

    // MARK: 408

    private static let timeoutAnswer = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    @Test("an unsolicited 408 does not become the next request's response", arguments: [HTTPMethod.get, .head, .post, .put])
    func unasked408(_ method: HTTPMethod) async throws {
        let first = TestGate()
        try await serving(script: { connection in
            guard connection.number == 1 else { return [.serve { _ in .text("second") }] }
            return [
                .receiveRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"), .wait(first), .send(Self.timeoutAnswer),
                .close,
            ]
        }) { server in
            let ness = Ness()
            let text = try await ness.httpRequest(withUrl: server.at("/1")).dataRequest().value.message.text
            #expect(text == "first")
            first.open()
            await server.waitUntil { $0.busyConnections == 0 }
            var builder = ness.httpRequest(method, withUrl: server.at("/2"))
            if method == .post || method == .put { builder = builder.set(stringBody: "x") }
            let response = try await builder.dataRequest().value.message
            #expect(response.statusCode == 200)
            #expect(response.text == (method == .head ? "" : "second"))
            #expect(server.requests.filter { $0.target == "/2" }.count == 1)
        }
    }

    @Test("an unsolicited 408 that crosses the request on the way does not become its response")
    func crossing408() async throws {
        try await serving(script: { connection in
            guard connection.number == 1 else { return [.serve { _ in .text("second") }] }
            return [
                .receiveRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"), .receiveRequest, .send(Self.timeoutAnswer),
                .close,
            ]
        }) { server in
            let ness = Ness()
            _ = try await ness.httpRequest(withUrl: server.at("/1")).dataRequest().value
            let response = try await ness.httpRequest(withUrl: server.at("/2")).dataRequest().value.message
            #expect(response.statusCode == 200)
            #expect(response.text == "second")
        }
    }

    @Test(
        "a real 408 is the result, after one retry where that does no harm",
        arguments: [(HTTPMethod.get, 2), (.put, 2), (.post, 1), (.patch, 1)])
    func meant408(_ method: HTTPMethod, _ requestCount: Int) async throws {
        try await serving({ _ in .text("slow", status: 408, headers: ["Connection": "close"]) }) { server in
            var builder = Ness().httpRequest(method, withUrl: server.url)
            if method != .get { builder = builder.set(stringBody: "x") }
            let response = try await builder.dataRequest().value.message
            #expect(response.statusCode == 408)
            #expect(response.text == "slow")
            #expect(server.requestCount == requestCount)
        }
    }

    // MARK: what the error says

    @Test(
        "the error of a request that must not be repeated says that the server may have acted", arguments: [HTTPMethod.post, .patch],
        [true, false])
    func mayHaveActed(_ method: HTTPMethod, _ resets: Bool) async throws {
        try await serving(script: { _ in [.receiveRequest, resets ? .reset : .close] }) { server in
            let error = await Ness().httpRequest(method, withUrl: server.url).set(stringBody: "x").dataRequest().nessError()
            #expect(error?.kind == .connectionLost)
            #expect(error?.context.reason.contains("may have acted") == true)
            #expect(error?.description.contains("may have acted") == true)
            #expect(server.requestCount == 1)
        }
    }

    @Test("the error of a repeatable request does not say that the server may have acted", arguments: [HTTPMethod.get, .put, .delete])
    func notFrightened(_ method: HTTPMethod) async throws {
        try await serving(script: { _ in [.receiveRequest, .close] }) { server in
            let error = await Ness().httpRequest(method, withUrl: server.url).dataRequest().nessError()
            #expect(error?.kind == .connectionLost)
            #expect(error?.context.reason.contains("may have acted") == false)
        }
    }

    @Test("if the request cannot have arrived, the error does not say that it may have")
    func refused() async throws {
        let url = try await serving({ _ in .text("") }) { $0.url }
        let error = await Ness().httpRequest(.post, withUrl: url).set(stringBody: "x").dataRequest().nessError()
        #expect(error?.kind == .cannotConnect)
        #expect(error?.context.reason.contains("may have acted") == false)
    }

    @Test("a request that is sent again after a 408 times out", arguments: [false, true], [false, true])
    func silenceAfter408(isDownload: Bool, hasLoader: Bool) async throws {
        let clock = ManualClock()
        try await serving(script: { connection in
            connection.number == 1 ? [.receiveRequest, .send(Self.timeoutAnswer), .close] : [.receiveRequest, .stall]
        }) { server in
            let ness = Ness {
                $0.clock = clock
                if hasLoader { $0.insert(.modifyRequest { _ in }, at: .exchange) }
            }
            try await withFolder { folder in
                let request = ness.httpRequest(withUrl: server.url).set(timeout: .seconds(60), firstByteTimeout: .seconds(5))
                let promise: Promise<Void> =
                    isDownload
                    ? request.downloadRequest(forSavedLocation: folder.appending(path: "a")).then { _ in }
                    : request.dataRequest().then { _ in }
                await server.waitUntil { $0.requestCount == 2 }
                clock.advance(by: .seconds(5))
                #expect(await promise.nessError()?.kind == .timedOut)
            }
        }
    }
}
