import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The bodies of redirects, which a server may send without an end.
@Suite("Bodies of redirects", .inTurn) struct RedirectBodyTests {
    private static let most = 64 << 10

    private static func redirecting(_ body: Data) -> TestServer.Handler {
        { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number < 3 ? .data(body, status: 302, headers: ["Location": "/\(number + 1)"]) : .text("end")
        }
    }

    @Test("of a redirect's body at most 64 KiB are kept", arguments: [1_000, 64 << 10, 64 << 10 + 1, 4 << 20])
    func kept(count: Int) async throws {
        let body = patternedData(count)
        try await serving(Self.redirecting(body)) { server in
            let response = try await Ness().get(server.at("/0")).response()
            #expect(response.text == "end" && response.history.count == 3)
            #expect(response.history.allSatisfy { $0.body == body.prefix(Self.most) })
        }
    }

    @Test(
        "a redirect whose body never ends is followed, for data, streams and downloads",
        // URLSession on Linux reports a redirect after the end of its body.
        .enabled(if: !Engine.isURLSessionOnLinux))
    func endless() async throws {
        let head = "HTTP/1.1 302 Found\r\nLocation: /end\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunk = Data("10000\r\n".utf8) + Data(count: 1 << 16) + Data("\r\n".utf8)
        try await serving({ request in
            request.path == "/end" ? .text("end") : .script([.send(head), .sendUntilClosed(chunk)])
        }) { server in
            let request = Ness().get(server.at("/start"))
            #expect(try await request.text() == "end")
            var streamed = Data()
            for try await piece in try await request.streamRequest().value.chunks { streamed += piece }
            #expect(streamed == Data("end".utf8))
            try await withFolder { folder in
                let file = try await request.downloadRequest(forSavedLocation: folder.appending(path: "a")).value.dataLocalURL
                #expect(try Data(contentsOf: file) == Data("end".utf8))
            }
        }
    }

    @Test("a redirect whose body trickles is followed a second after its head") func trickling() async throws {
        let clock = ManualClock(), head = TestGate(), more = TestGate()
        let transport = FakeTransport { request, receive in
            if request.url.path == "/end" { return try await receive(.head(statusCode: 204, headers: [:])) }
            try await receive(.head(statusCode: 302, headers: ["Location": "/end"]))
            try await receive(.body(Data("a".utf8)))
            head.open()
            await more.wait()
            // Each byte comes within the idle timeout.
            while true { try await receive(.body(Data("a".utf8))) }
        }
        let ness = Ness {
            $0.transport = transport
            $0.clock = clock
        }
        let promise = ness.get("http://mock.test/start").dataRequest()
        await head.wait()
        clock.advance(by: .seconds(2))
        more.open()
        #expect(try await promise.value.message.history.map(\.text) == ["aa"])
    }

    @Test("a redirect that is not followed, or that a closure decides about, has its whole body")
    func whole() async throws {
        let body = patternedData(1 << 20), seen = Lock(0)
        try await serving(Self.redirecting(body)) { server in
            let request = Ness().get(server.at("/0"))
            #expect(try await request.set(redirects: .stop).response().body == body)
            let decided = RedirectPolicy.decide { redirection in
                seen.withLock { $0 = redirection.response.body.count }
                return redirection.count == 0 ? .follow : .stop
            }
            let response = try await request.set(redirects: decided).response()
            #expect(response.body == body && seen.withLock { $0 } == body.count)
            #expect(response.history.map(\.body.count) == [Self.most])
        }
    }

    @Test("a loader that makes a response of a long redirect gets no part of its body as a whole") func changedByLoader() async throws {
        try await serving(Self.redirecting(Data(count: 1 << 20))) { server in
            let ness = Ness { $0.insert(.modifyResponse { $0.statusCode = 200 }, at: .exchange) }
            #expect(await ness.get(server.at("/0")).dataRequest().nessError()?.kind == .truncated)
        }
    }

    @Test("the limit of a body counts for the bodies of all redirects and of the response together")
    func limit() async throws {
        try await serving(Self.redirecting(Data(count: 10_000))) { server in
            for (limit, isEnough) in [(30_003, true), (30_002, false), (25_000, false)] {
                let promise = Ness { $0.maximumResponseBytes = limit }.get(server.at("/0")).dataRequest()
                if isEnough {
                    let text = try await promise.value.message.text
                    #expect(text == "end")
                } else {
                    let error = await promise.nessError()
                    #expect(error?.kind == .responseTooLarge && error?.context.reason.contains("\(limit)") == true)
                }
            }
        }
        // Bytes that are not received do not count.
        try await serving(Self.redirecting(Data(count: 4 << 20))) { server in
            let text = try await Ness { $0.maximumResponseBytes = 1 << 20 }.get(server.at("/0")).text()
            #expect(text == "end")
        }
    }
}
