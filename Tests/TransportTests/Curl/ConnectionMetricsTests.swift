#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The measurements of connections over libcurl.
@Suite(.inTurn) struct ConnectionMetricsTests {
    @Test(
        "a new connection has the times of its phases, the version and the addresses; a reused one has the same addresses",
        .keepingConnections)
    func plain() async throws {
        try await serving({ _ in .text("ok") }) { server in
            let recorder = ConnectionRecorder()
            let ness = try curlNess(observers: [recorder])
            var responses: [HTTPResponse] = []
            for _ in 0..<2 { responses.append(try await ness.httpRequest(withUrl: server.at("/")).dataRequest().value.message) }
            #expect(responses.map(\.connection) == recorder.log.entries)
            try #require(recorder.log.entries.count == 2)
            let (first, second) = (recorder.log.entries[0], recorder.log.entries[1])
            #expect(!first.isReused && second.isReused)
            #expect(first.nameLookup != nil && first.connect != nil && first.tls == nil)
            #expect(second.nameLookup == nil && second.connect == nil && second.tls == nil)
            // libcurl 8.6 measures the first byte after the head has been handed on.
            if CurlLibrary.shared?.version != 0x08_06_00 { #expect(first.firstByte != nil && second.firstByte != nil) }
            for connection in [first, second] {
                #expect(connection.httpVersion == .http1_1)
                #expect(connection.remoteAddress == ConnectionMetrics.Address(host: "127.0.0.1", port: server.port))
                #expect(connection.localAddress?.host == "127.0.0.1" && connection.localAddress?.port == first.localAddress?.port)
            }
            #expect(first.remoteAddress?.description == "127.0.0.1:\(server.port)")
            #expect(ConnectionMetrics.Address(host: "::1", port: 1).description == "[::1]:1")
        }
    }

    @Test("the TLS handshake has a separate time, and each exchange of a request has a connection", .keepingConnections)
    func secure() async throws {
        let authority = try TestAuthority()
        let server = try await TestServer.start(certificate: authority.certificate()) { request in
            request.path == "/a" ? .status(302, headers: ["Location": "/b"]) : .text("ok")
        }
        try await stopping(server) { server in
            let recorder = ConnectionRecorder()
            let ness = try curlNess({ $0.authorities = authority.pem }, observers: [recorder])
            let response = try await ness.httpRequest(withUrl: server.url.absoluteString + "/a").dataRequest().value.message
            #expect(response.connection == recorder.log.entries.last && response.history.first?.connection == recorder.log.entries.first)
            #expect(recorder.log.entries.map { $0.tls != nil } == [true, false])
            #expect(recorder.log.entries.map(\.isReused) == [false, true])
            // With a second core, a stream has another thread, and so another connection.
            for isReused in [ProcessInfo.processInfo.activeProcessorCount == 1, true] {
                let stream = ness.httpRequest(withUrl: server.url.absoluteString + "/b").streamRequest()
                let connection = try await stream.value.message.connection
                #expect(connection?.isReused == isReused && connection?.remoteAddress == response.connection?.remoteAddress)
                for try await _ in stream.chunks {}
            }
        }
    }

    private struct Sums: RequestObserver {
        let log = Log<Int>()
        func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) { log.add(metrics.resendCount) }
    }

    @Test(
        "a request that was sent again, because its idle connection broke, counts as resent; the metrics have the sum",
        .keepingConnections)
    func resends() async throws {
        let ok: ConnectionStep = .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        // The first connection breaks after the second request was read.
        let server = try await TestServer.start(script: {
            $0.number == 1 ? [.receiveRequest, ok, .receiveRequest, .close] : [.receiveRequest, ok]
        })
        try await stopping(server) { server in
            let recorder = ConnectionRecorder(), sums = Sums()
            let ness = try curlNess(observers: [recorder, sums])
            for _ in 0..<2 { #expect(try await ness.get(server.url).text() == "ok") }
            #expect(recorder.log.entries.map(\.resendCount) == [0, 1])
            await sums.log.wait(for: 2)
            #expect(sums.log.entries == [0, 1])
            #expect(server.connectionCount == 2)
        }
    }

    @Test("a request that fails after it was connected has measurements without a first byte; without a connection it has none")
    func failures() async throws {
        let recorder = ConnectionRecorder()
        let ness = try curlNess(observers: [recorder])
        _ = await ness.httpRequest(withUrl: try await refusingURL()).dataRequest().nessError()
        #expect(recorder.log.entries.isEmpty)
        try await serving({ _ in .script([.close]) }) { server in
            _ = await ness.httpRequest(withUrl: server.url).dataRequest().nessError()
        }
        let connection = try #require(recorder.log.entries.first)
        #expect(recorder.log.entries.count == 1 && connection.connect != nil && connection.firstByte == nil)
    }
}
#endif
