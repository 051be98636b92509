#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// TLS on loopback, with certificates that are made when they are needed.
@Suite(.inTurn, .inOwnProcess) struct SecureTests {
    private static func error(of server: TestServer, _ method: HTTPMethod = .get) async throws -> NessError {
        var builder = Ness().httpRequest(method, withUrl: "https://127.0.0.1:\(server.port)/")
        if method == .post { builder = builder.set(stringBody: "x") }
        let promise = builder.dataRequest()
        return try await stopping(server) { _ in try #require(await promise.nessError()) }
    }

    @Test("a server that closes during the handshake is a lost connection, and the request was not sent")
    func closesInHandshake() async throws {
        for first in [[], [ConnectionStep.receive(bytes: 1)]] {
            for method in [HTTPMethod.get, .post] {
                let error = try await Self.error(of: TestServer.start(script: { _ in first + [.close] }), method)
                #expect(error.kind == .connectionLost, "\(error)")
                #expect(error.tlsFailure == nil)
                #expect(error.isTransient)
                // A server that closes with unread bytes may reset the connection, and URLSession on Linux does not tell when that was.
                if Engine.isURLSessionOnLinux, error.context.reason.contains("reset") { continue }
                #expect(!error.mayHaveReachedServer)
                #expect(!error.description.contains("may have acted"))
            }
        }
    }

    @Test("a control may retry a connection lost in the handshake, even for a POST")
    func retries() async throws {
        let certificate = try OwnProcess.authority.get().certificate()
        let server = try await TestServer.start(certificate: certificate) { .text($0.bodyText) }
        let door = try await TestServer.start(script: { connection in
            connection.number < 3 ? [.receive(bytes: 1), .close] : [.tunnel(toPort: server.port)]
        })
        let ness = Ness { $0.retryControl = CounterRetryControl(maxRetryCount: 5) }
        let promise = ness.httpRequest(.post, withUrl: "https://127.0.0.1:\(door.port)/").set(stringBody: "x").dataRequest()
        let text = try await promise.value.message.text
        #expect(text == "x")
        #expect(door.connectionCount == 3)
        #expect(server.requestCount == 1)
        await door.stop()
        await server.stop()
    }
}
#endif
