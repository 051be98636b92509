import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The features that every transport gets from the steps above it.
@Suite(.inTurn) struct CustomTransportTests {
    /// A manager whose transport always gives the same answer.
    private func ness(
        _ status: Int = 200, _ headers: HTTPHeaders = [:], _ pieces: [String] = [], configure: (inout Ness.Configuration) -> Void = { _ in }
    ) -> Ness {
        Ness { configuration in
            configuration.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: status, headers: headers))
                for piece in pieces { try await receive(.body(Data(piece.utf8))) }
            }
            configure(&configuration)
        }
    }

    @Test("a manager's configuration tells its transport: libcurl on Linux, URLSession elsewhere or if it is chosen")
    func defaultTransport() {
        #if canImport(FoundationNetworking)
        #expect("\(Ness().configuration.transport)".hasPrefix(Engine.isCurl ? "CurlTransport (HTTP/" : "URLSessionTransport"))
        #else
        #expect(Ness().configuration.transport is URLSessionTransport)
        #endif
        #expect("\(Ness { $0.transport = URLSessionTransport() }.configuration.transport)" == "URLSessionTransport")
    }

    @Test("a custom transport's events make the response")
    func response() async throws {
        let message = try await ness(201, ["X": "1"], ["a", "", "bc"]).httpRequest(withUrl: "http://x/").dataRequest().value.message
        #expect(message.statusCode == 201)
        #expect(message.headers["x"] == "1")
        #expect(message.text == "abc")
        #expect(message.url.absoluteString == "http://x/")
    }

    @Test("a custom transport sees resolved and checked requests")
    func request() async throws {
        let seen = Log<HTTPRequest>()
        let ness = Ness { configuration in
            configuration.baseURL = URL(string: "HTTPS://host/v1")
            configuration.defaultHeaders = ["X-Default": "d"]
            configuration.transport = FakeTransport { request, receive in
                seen.add(request)
                try await receive(.head(statusCode: 200, headers: [:]))
            }
        }
        _ = try await ness.httpRequest(.put, withUrl: "users#part").set(stringBody: "x").dataRequest().value
        #expect(await ness.httpRequest(withUrl: "x").set(headers: ["a b": "1"]).dataRequest().nessError()?.kind == .invalidRequest)
        let request = try #require(seen.entries.first)
        #expect(seen.entries.count == 1)
        #expect(request.url.absoluteString == "https://host/v1/users")
        #expect(request.headers["X-Default"] == "d")
        #expect(request.body?.data == Data("x".utf8))
    }

    @Test("a body with another length than announced is truncated, and the error holds the received part", arguments: ["3", "5"])
    func truncated(length: String) async {
        let error = await ness(200, ["Content-Length": length], ["ab", "cd"]).httpRequest(withUrl: "http://x").dataRequest().nessError()
        #expect(error?.kind == .truncated)
        #expect(error?.response?.text == "abcd")
        #expect(error?.context.reason == "received only 4 of \(length) bytes of the body")
    }

    @Test(
        "an invalid Content-Length is an error, and so is a last transfer coding that hides the end of the body",
        arguments: ["", "-1", "+4", "4x", "0x4", "4.0", "four", "4, 5", "99999999999999999999999"].map { ("Content-Length", $0) }
            + ["gzip", "chunked, gzip"].map { ("Transfer-Encoding", $0) })
    func badFraming(name: String, value: String) async {
        let error = await ness(200, [name: value], ["abcd"]).httpRequest(withUrl: "http://x").dataRequest().nessError()
        #expect(error?.kind == .malformedResponse)
    }

    @Test("a Content-Length that does not count the body, as for HEAD, is ignored")
    func otherLengths() async throws {
        for headers: HTTPHeaders in [
            ["Content-Length": "4"], ["Content-Length": "4, 4"], ["Content-Length": "4", "content-length": "4"],
            ["Content-Length": "9", "Content-Encoding": "gzip"], ["Content-Length": "9", "Transfer-Encoding": "chunked"],
            ["Content-Length": "4", "Content-Encoding": "identity"],
        ] {
            let text = try await ness(200, headers, ["abcd"]).httpRequest(withUrl: "http://x").dataRequest().value.message.text
            #expect(text == "abcd")
        }
        _ = try await ness(200, ["Content-Length": "9"]).httpRequest(.head, withUrl: "http://x").dataRequest().value
        _ = try await ness(304, ["Content-Length": "9"]).httpRequest(withUrl: "http://x").dataRequest().value
    }

    @Test("an exchange without a response is malformed")
    func noResponse() async {
        let ness = Ness { $0.transport = FakeTransport { _, _ in } }
        #expect(await ness.httpRequest(withUrl: "http://x").dataRequest().nessError()?.kind == .malformedResponse)
    }

    @Test("each kind of transport error is a case of the library's error", arguments: TransportError.Kind.allCases)
    func errors(kind: TransportError.Kind) async {
        let ness = Ness { $0.transport = FakeTransport { _, _ in throw TransportError(kind, "why", underlying: Rejected()) } }
        let error = await ness.httpRequest(withUrl: "http://x").dataRequest().nessError()
        #expect(error?.kind.rawValue == "\(kind)")
        #expect(error?.request?.url.absoluteString == "http://x")
        #expect(error?.context.reason == "why")
        #expect(error?.context.underlying as? Rejected == Rejected())
        #expect(error?.context.attempts == 1)
    }

    @Test("time limits end the exchange, even if the transport ignores cancellation")
    func timeouts() async throws {
        let never = TestGate(), started = TestGate(), clock = ManualClock()
        let ness = Ness { configuration in
            configuration.clock = clock
            configuration.transport = FakeTransport { _, _ in
                started.open()
                await Task { await never.wait() }.value
            }
        }
        let promise = ness.httpRequest(withUrl: "http://x").set(timeout: .seconds(3)).dataRequest()
        await started.wait()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(3))
        #expect(await promise.nessError()?.kind == .timedOut)
        never.open()
    }

    @Test("a drop cancels the transport's task")
    func drop() async {
        let started = TestGate(), cancelled = TestGate()
        let ness = Ness { configuration in
            configuration.transport = FakeTransport { _, _ in
                started.open()
                await TestGate().wait()
                if Task.isCancelled { cancelled.open() }
                throw CancellationError()
            }
        }
        let promise = ness.httpRequest(withUrl: "http://x").dataRequest()
        await started.wait()
        promise.drop()
        await cancelled.wait()
        #expect(await promise.nessError()?.kind == .dropped)
    }

    @Test("a body up to the limit is fine, announced or not")
    func withinLimit() async throws {
        for headers: HTTPHeaders in [[:], ["Content-Length": "4"]] {
            let ness = ness(200, headers, ["ab", "cd"]) { $0.maximumResponseBytes = 4 }
            let text = try await ness.httpRequest(withUrl: "http://x").dataRequest().value.message.text
            #expect(text == "abcd")
        }
    }

    @Test(
        "a body beyond the limit is rejected as soon as its length is known, for every kind of request",
        arguments: ["data", "stream", "download"], [[:], ["Content-Length": "6"]] as [HTTPHeaders])
    func beyondLimit(kind: String, headers: HTTPHeaders) async throws {
        let delivered = Log<String>()
        let ness = Ness { configuration in
            configuration.maximumResponseBytes = 4
            configuration.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: 200, headers: headers))
                for piece in ["ab", "cd", "ef", "gh"] {
                    try await receive(.body(Data(piece.utf8)))
                    delivered.add(piece)
                }
            }
        }
        let request = ness.httpRequest(withUrl: "http://x")
        try await withFolder { folder in
            let error = await #expect(throws: NessError.self) {
                switch kind {
                case "stream": for try await _ in request.streamRequest().chunks {}
                case "download": _ = try await request.downloadRequest(forSavedLocation: folder.appending(path: "file")).value
                default: _ = try await request.dataRequest().value
                }
            }
            #expect(error?.kind == .responseTooLarge && error?.context.reason.contains("4 bytes") == true)
            #expect(kind != "data" || error?.response?.statusCode == 200)
            #expect(!folder.entries.contains("file"))
        }
        #expect(delivered.entries == (headers.isEmpty ? ["ab", "cd"] : []))
    }

    @Test("the limit applies to the whole file of a download in parts, even if no part exceeds it") func parts() async throws {
        let server = FileServer(content: patternedData(100_000))
        try await withFolder { folder in
            try await withServer({ server.reply(to: $0) }, configure: { $0.maximumResponseBytes = 80_000 }) { server, ness in
                let promise = ness.httpRequest(withUrl: "x").downloadRequest(forSavedLocation: folder.appending(path: "file"), segments: 2)
                #expect(await promise.nessError()?.kind == .responseTooLarge)
                #expect(server.requests.map { $0.headers["Range"] } == ["bytes=0-0"])
            }
        }
    }

    @Test("a header of more than a megabyte is rejected, in one field or in many", arguments: [1, 40_000])
    func longHeader(count: Int) async {
        var headers = HTTPHeaders()
        for index in 0..<count { headers.add(String(repeating: "x", count: 1_100_000 / count), for: "X-\(index)") }
        let error = await ness(200, headers, ["ab"]).httpRequest(withUrl: "http://x").dataRequest().nessError()
        #expect(error?.kind == .malformedResponse)
        #expect(error?.context.reason.contains("header") == true)
    }

    @Test("the pieces of a stream are those that the transport reports, each with indices from 0") func pieces() async throws {
        var sizes: [Int] = []
        for try await piece in ness(200, [:], ["abc", "defg"]).httpRequest(withUrl: "http://x").streamRequest().chunks {
            sizes.append(piece.count)
            #expect(piece.startIndex == 0)
        }
        #expect(sizes == [3, 4])
    }
}
