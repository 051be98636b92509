import Foundation
import NessHTTP
import NessTesting
import Testing

/// The examples of `NessTesting`: mocks, the clock, the server and its gates. See `DocumentationExamples`.
@Suite(.inTurn) struct ServerExamples {
    @Test("a mock answers by path parameters, and with a list of replies") func mock() async throws {
        let mock = MockTransport()
        mock.on(.get, "/users/:id") { request in .json(["id": request.pathParameters["id"]]) }
        mock.on(.post, "/flaky", replies: [.failure(.timedOut), .status(503), .status(201)])
        let ness = Ness { $0.transport = mock }

        #expect(try await ness.httpRequest(withUrl: "http://x/users/7").dataRequest().value.message.text == #"{"id":"7"}"#)
        #expect(await ness.httpRequest(.post, withUrl: "http://x/flaky").dataRequest().nessError()?.kind == .timedOut)
        #expect(try await ness.httpRequest(.post, withUrl: "http://x/flaky").dataRequest().value.message.statusCode == 503)
    }

    @Test("a test with a manual clock reaches a timeout at once") func clock() async throws {
        let clock = ManualClock()
        let ness = Ness { $0.clock = clock }
        let server = try await TestServer.start(script: { _ in [.receiveRequest, .stall] })
        let promise = ness.httpRequest(withUrl: server.url).dataRequest()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        #expect(await promise.nessError()?.kind == .timedOut)
        await server.stop()
    }

    private func recording(to file: URL) throws -> Ness {
        let recorder = RecordingTransport(wrapping: URLSessionTransport())
        let ness = Ness { $0.transport = recorder }
        try recorder.archive.write(to: file)
        return ness
    }

    // MARK: the server

    @Test("a server of one handler answers by path") func server() async throws {
        let server = try await TestServer.start { request in
            request.path == "/hello" ? .text("hi") : .status(404)
        }
        #expect(try await Ness().httpRequest(withUrl: "\(server.url)/hello").dataRequest().value.message.text == "hi")
        await server.stop()
    }

    @Test("a handler answers with JSON, with a script, or with a status") func replies() async throws {
        let server = try await TestServer.start { request in
            switch request.path {
            case "/user": .json(["name": "Tabby"], headers: ["ETag": "\"1\""])
            case "/flaky": .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .reset])
            default: .status(404)
            }
        }
        #expect(try await Ness().httpRequest(withUrl: "\(server.url)/user").dataRequest().value.message.headers["ETag"] == "\"1\"")
        await server.stop()
    }

    private func proxy(_ server: TestServer) async throws -> TestServer {
        let proxy = try await TestServer.start { request in
            request.headers.contains("Proxy-Authorization") ? .tunnel(toPort: server.port) : .status(407)
        }
        return proxy
    }

    @Test("a server with a certificate of an authority says so in its URL") func secureServer() async throws {
        let authority = try TestAuthority()
        let server = try await TestServer.start(certificate: authority.certificate()) { _ in .text("hi") }
        #expect(server.url.absoluteString.hasPrefix("https://127.0.0.1:"))
        await server.stop()
    }

    @Test("gates order the steps of a test and of a script") func gates() async throws {
        let received = TestGate(), go = TestGate()
        let server = try await TestServer.start(script: { _ in
            [.receiveRequest, .signal(received), .wait(go), .respond(.text("late"))]
        })
        let promise = Ness().httpRequest(withUrl: server.url).dataRequest()
        await received.wait()
        go.open()
        #expect(try await promise.value.message.text == "late")
        await server.stop()
    }

    private func misbehaviours() async throws {
        for misbehaviour in Misbehaviour.all where !misbehaviour.onlyOutOfProcess {
            let server = try await TestServer.start(misbehaviour)
            await server.stop()
        }
    }
}
