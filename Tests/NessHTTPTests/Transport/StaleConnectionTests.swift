import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

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

    @Test("a request that has a body or must not be repeated arrives once and complete", arguments: cases)
    func once(_ given: Case) async throws {
        let seen = Log<String>()
        try await serving(Self.closesOnSecond(seen)) { server in
            let ness = Ness()
            for round in 0..<5 {
                // Leaves a connection that will die under whoever takes it.
                _ = try await ness.httpRequest(withUrl: server.at("/warm")).dataRequest().value
                var builder = ness.httpRequest(given.method, withUrl: server.at("/\(round)"))
                if let body = given.body { builder = builder.set(body: HTTPBody(Data(body.utf8))) }
                let response = try await builder.dataRequest().value.message
                #expect(response.statusCode == 200)
                #expect(response.text == (given.body ?? "") + "!")
            }
            let expected = (0..<5).map { "\(given.method) /\($0) \(given.body ?? "")" }
            #expect(seen.entries.filter { !$0.hasPrefix("GET") } == expected)
        }
    }

    @Test("a large body arrives complete", arguments: [HTTPMethod.post, .put])
    func largeBody(_ method: HTTPMethod) async throws {
        let body = Data((0..<(2 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try await serving({ request in
            request.requestNumberOnConnection == 1 ? .text("\(request.body.count)") : .script([.close])
        }) { server in
            let ness = Ness()
            _ = try await ness.httpRequest(withUrl: server.at("/warm")).dataRequest().value
            let response = try await ness.httpRequest(method, withUrl: server.at("/big")).set(body: body).dataRequest().value.message
            #expect(response.text == "\(body.count)")
            #expect(server.requests.filter { $0.target == "/big" }.map { $0.body == body } == [true])
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

    @Test("many simultaneous requests of all kinds are neither lost nor doubled")
    func mixture() async throws {
        let seen = Log<String>()
        try await serving(Self.closesOnSecond(seen)) { server in
            let ness = Ness()
            let promises = (0..<120).map { number in
                switch number % 4 {
                case 0: ness.httpRequest(withUrl: server.at("/get")).dataRequest()
                case 1: ness.httpRequest(.post, withUrl: server.at("/\(number)")).set(stringBody: "content").dataRequest()
                case 2: ness.httpRequest(.put, withUrl: server.at("/\(number)")).set(stringBody: "content").dataRequest()
                default: ness.httpRequest(.patch, withUrl: server.at("/\(number)")).dataRequest()
                }
            }
            let outcomes = try await Promise.allSettled(promises).value
            for (number, outcome) in outcomes.enumerated() {
                let text = try outcome.get().message.text
                #expect(text == (number % 4 == 1 || number % 4 == 2 ? "content!" : "!"), "\(number)")
            }
            let writes = seen.entries.filter { !$0.hasPrefix("GET") }
            #expect(writes.count == 90)
            #expect(Set(writes).count == 90)
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
