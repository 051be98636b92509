#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Bodies over HTTP/1.1 and HTTP/2.
    @Suite struct VersionTests {
        @Test(
            "bodies travel both ways over HTTP/1.1, and one connection serves requests without a body", .needs(.nginx, .apache, .node),
            arguments: WebServers.allCases, Wire.allCases)
        func plain(server: WebServers, wire: Wire) async throws {
            let server = try await server.running()
            try await check(wire, server.at("/a-\(wire.rawValue)"), origin: server.at("/origin/digest"), version: .http1_1)
        }

        @Test("the same over TLS, with HTTP/2 if it is used", .needs(.nginx, .apache, .node), arguments: WebServers.allCases)
        func secure(server: WebServers) async throws {
            let server = try await server.running()
            try await check(.curl, server.securely(at: "/b"), origin: server.securely(at: "/origin/digest"), version: Wire.secureVersion)
        }

        /// Puts, gets and deletes files, and has the origin behind the server look at bodies.
        private func check(_ wire: Wire, _ file: String, origin: String, version: ConnectionMetrics.HTTPVersion) async throws {
            let recorder = ConnectionRecorder()
            let ness = try wire.ness(observers: [recorder])
            for size in [0, 1, 70_000, 2 << 20] {
                let content = patternedData(size)
                let put = try await ness.httpRequest(.put, withUrl: file).set(body: content).validate().response()
                #expect([201, 204].contains(put.statusCode))
                let saved = try await ness.httpRequest(withUrl: file).data() == content
                #expect(saved, "\(size)")
                let seen = try await ness.httpRequest(.post, withUrl: origin).set(body: content).decoded(as: SeenBody.self)
                #expect(seen.method == "POST" && seen.length == size)
            }
            let head = try await ness.httpRequest(.head, withUrl: file).response()
            #expect(head.headers["Content-Length"] == "\(2 << 20)" && head.body.isEmpty)
            let deleted = try await ness.httpRequest(.delete, withUrl: file).response()
            #expect(deleted.statusCode == 204)
            let missing = try await ness.httpRequest(withUrl: file).response()
            #expect(missing.statusCode == 404)
            guard wire == .curl else { return }
            #expect(recorder.log.entries.allSatisfy { $0.httpVersion == version })
            #expect(recorder.log.entries.last?.isReused == true)
        }

        @Test("early hints are reported, and trailers do not disturb the body", .needs(.node))
        func interim() async throws {
            let node = try await Servers.get(Node.self)
            let ness = try Wire.curl.ness(), hints = Log<String>()
            let hinted = ness.httpRequest(withUrl: node.at("/hints")).onInterim {
                hints.add("\($0.statusCode) \($0.headers["Link"] ?? "")")
            }
            #expect(try await hinted.text() == "hinted")
            #expect(hints.entries == ["103 </style.css>; rel=preload; as=style"])
            #expect(try await ness.httpRequest(withUrl: node.at("/trailers")).text() == "with a trailer")
        }
    }
}
#endif
