import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Kept connections that die under a request. What must not be sent twice is not, and no body arrives empty.
@Suite(.inTurn) struct StaleConnectionTests {
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

    @Test("a POST uses no connection that the server has reset, over http and https", arguments: [false, true])
    func reset(isSecure: Bool) async throws {
        let authority = try TestAuthority(), isReset = TestGate()
        let handler: TestServer.Handler = { request in
            if request.method == .post { return .text(request.bodyText) }
            return .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .wait(isReset), .reset])
        }
        let server = try await TestServer.start(certificate: isSecure ? authority.certificate() : nil, handler)
        try await stopping(server) { server in
            let ness = try curlNess { if isSecure { $0.authorities = authority.pem } }
            #expect(try await ness.get(server.url).text() == "ok")
            isReset.open()
            await server.waitUntil { $0.openConnections == 0 }
            #expect(try await ness.post(server.url).set(stringBody: "x").text() == "x")
            #expect(server.connectionCount == 2)
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
        // Every connection answers once, keeps alive, and closes when it has the second request whole.
        try await serving({ $0.requestNumberOnConnection == 1 ? .text("!") : .script([.close]) }) { server in
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
        "the error says that the server may have acted if the request must not be repeated and was sent",
        arguments: [
            (HTTPMethod.post, ConnectionStep.reset, true), (.post, .close, true), (.patch, .reset, true), (.patch, .close, true),
            (.get, .close, false), (.put, .close, false), (.delete, .close, false),
        ])
    func mayHaveActed(_ method: HTTPMethod, _ end: ConnectionStep, _ mayHaveActed: Bool) async throws {
        func request(to url: URL) -> RequestBuilder {
            let request = Ness().httpRequest(method, withUrl: url)
            return method == .get ? request : request.set(stringBody: "x")
        }
        try await serving(script: { _ in [.receiveRequest, end] }) { server in
            let error = try #require(await request(to: server.url).dataRequest().nessError())
            #expect(error.kind == .connectionLost)
            #expect(error.description.hasSuffix("; the server may have acted on the request") == mayHaveActed)
            #expect(!mayHaveActed || server.requestCount == 1)
        }
        let unreached = await request(to: try await refusingURL()).dataRequest().nessError()
        #expect(unreached?.kind == .cannotConnect && unreached?.description.contains("may have acted") == false)
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
