#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// HTTP/2 with a real server, nginx, which a unix socket reaches.
@Suite(
    .inTurn,
    .enabled(if: Nginx.executable != nil, "nginx is not installed (apt-get install nginx): HTTP/2 is not tested")
) struct HTTP2Tests {
    /// Starts nginx before a server, and ends it in every case.
    private static func served(
        _ handler: @escaping TestServer.Handler = { .data($0.body) },
        _ body: (_ nginx: Nginx, _ options: @Sendable (inout CurlTestOptions) -> Void) async throws -> Void
    ) async throws {
        try await serving(handler) { server in
            let authority = try TestAuthority()
            let nginx = try await Nginx.start(certificate: authority.certificate(), forwardingTo: server.port)
            defer { nginx.stop() }
            let (path, trusted) = (nginx.socketPath, authority.pem)
            try await body(nginx) { options in
                options.unixSocketPath = path
                options.authorities = trusted
            }
        }
    }

    private static let speaksHTTP2 = CurlLibrary.shared?.speaksHTTP2 == true

    @Test("requests use HTTP/2, with bodies in both directions, and simultaneous ones share a connection", .enabled(if: speaksHTTP2))
    func versions() async throws {
        try await Self.served { _, options in
            let recorder = ConnectionRecorder()
            let ness = try curlNess(options, observers: [recorder]) { $0.maximumConnectionsPerHost = 50 }
            for size in [0, 1, 100_000, 3 << 20] {
                let body = patternedData(size)
                #expect(try await ness.put("https://localhost/echo").set(body: body).data() == body)
            }
            let promises = (0..<50).map { ness.post("https://localhost/echo").set(stringBody: "\($0)").dataRequest() }
            for (number, promise) in promises.enumerated() { #expect(try await promise.value.message.text == "\(number)") }
            await recorder.log.wait(for: 54)
            #expect(recorder.log.entries.allSatisfy { $0.httpVersion == .http2 })
            #expect(recorder.log.entries.filter { !$0.isReused }.count < 50)
        }
    }

    @Test("simultaneous requests wait for the connection that the first of them opens, and share it", .enabled(if: speaksHTTP2))
    func opening() async throws {
        try await Self.served { nginx, options in
            var settings = CurlTestOptions()
            options(&settings)
            let given = settings.transport, trusted = try Certificates(pem: Data((settings.authorities ?? "").utf8))
            let transport = try CurlTransport { $0 = given }
            // The second manager demands a key, and so needs another connection to the same server.
            for rule in [ServerTrust.Rule.authorities(trusted), .publicKeys([nginx.publicKeyHash], signedBy: trusted)] {
                let recorder = ConnectionRecorder()
                let ness = Ness {
                    $0.transport = transport
                    $0.serverTrust = .pinned(["*": rule])
                    $0.observers = [recorder]
                    $0.maximumConnectionsPerHost = 30
                }
                let promises = (0..<30).map { ness.get("https://localhost/session?\($0)").dataRequest() }
                for promise in promises { _ = try await promise.value }
                await recorder.log.wait(for: 30)
                #expect(recorder.log.entries.filter { !$0.isReused }.count < 10)
            }
            await transport.shutdown()
        }
    }

    @Test("no POST is lost or arrives twice when the server ends its connections after 100 requests", .lostConnections)
    func endedConnections() async throws {
        try await Self.served { nginx, options in
            let ness = try curlNess(options) { $0.maximumConnectionsPerHost = 8 }
            let failures = Log<any Error>(), numbers = Tally()
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        while case let number = numbers.enter() + 1, number <= 2_000 {
                            let request = ness.httpRequest(.post, withUrl: "https://localhost/logged").set(header: "X-Id", to: "\(number)")
                            do {
                                let text = try await request.set(stringBody: "x").dataRequest().value.message.text
                                if text != "\(number)" { failures.add(URLError(.badServerResponse)) }
                            } catch {
                                failures.add(error)
                            }
                        }
                    }
                }
            }
            #expect(failures.entries.isEmpty, "\(failures.entries.count): \(String(describing: failures.entries.first))")
            // nginx logs a request after its response, but before it serves another.
            _ = try await ness.get("https://localhost/session").response()
            #expect(try nginx.loggedIDs.compactMap { Int($0) }.sorted() == Array(1...2_000))
        }
    }

    @Test("trailers over HTTP/2 are not header fields", .lostTrailers)
    func trailers() async throws {
        try await Self.served { nginx, options in
            let ness = try curlNess(options)
            for _ in 0..<2 {
                let response = try await ness.httpRequest(withUrl: "https://localhost/file").dataRequest().value.message
                #expect(response.body == nginx.file)
                #expect(!response.headers.contains("X-Trailer") && response.trailers["X-Trailer"] == "end")
            }
        }
    }

    @Test("HTTP/2 can be switched off; streams, downloads and expectations use HTTP/1.1 in any case")
    func http1() async throws {
        try await Self.served { nginx, options in
            let recorder = ConnectionRecorder()
            var ness = try curlNess(
                { settings in
                    options(&settings)
                    settings.allowsHTTP2 = false
                }, observers: [recorder])
            _ = try await ness.httpRequest(withUrl: "https://localhost/file").dataRequest().value
            ness = try curlNess(options, observers: [recorder])
            var body = Data()
            for try await chunk in ness.httpRequest(withUrl: "https://localhost/file").streamRequest().chunks { body += chunk }
            #expect(body == nginx.file)
            let post = ness.httpRequest(.post, withUrl: "https://localhost/echo").set(stringBody: "x").set(expectsContinue: true)
            #expect(try await post.dataRequest().value.message.text == "x")
            await recorder.log.wait(for: 3)
            #expect(recorder.log.entries.map(\.httpVersion) == Array(repeating: .http1_1, count: 3))
        }
    }
}
#endif
