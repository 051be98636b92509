#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// 100 MiB each way, compared by their digests.
    @Suite(.needs(.nginx, .apache, .node)) struct LargeBodyTests {
        private static let size = 100 << 20

        /// Puts a file to a server, compares it with the file that the server stored, and downloads it again.
        private func check(_ wire: Wire, _ address: String, storedAt stored: URL) async throws {
            let ness = try wire.ness()
            try await withFolder { folder in
                let file = folder.appending(path: "sent"), copy = folder.appending(path: "received")
                try await writeRandomBytes(Self.size, to: file)
                let put = try await ness.httpRequest(.put, withUrl: address).validate().uploadRequest(forFileLocation: file).value
                #expect([201, 204].contains(put.message.statusCode))
                let sent = try await digest(of: file)
                #expect(try await digest(of: stored) == sent)
                _ = try await ness.httpRequest(withUrl: address).downloadRequest(forSavedLocation: copy).value
                #expect(try await digest(of: copy) == sent)
                _ = try await ness.httpRequest(.delete, withUrl: address).validate().response()
            }
        }

        @Test("nginx stores 100 MiB, and returns them", arguments: Wire.allCases)
        func nginx(wire: Wire) async throws {
            let server = try await Servers.get(Nginx.self)
            try await check(wire, server.at("/big-\(wire.rawValue)"), storedAt: server.root.appending(path: "big-\(wire.rawValue)"))
        }

        @Test("Apache stores 100 MiB over HTTP/2 and TLS, and returns them")
        func apache() async throws {
            let server = try await Servers.get(Apache.self)
            try await check(.curl, server.securely(at: "/big"), storedAt: server.root.appending(path: "big"))
        }

        @Test("Node receives 100 MiB from memory, and sends 100 MiB", arguments: Wire.allCases)
        func node(wire: Wire) async throws {
            let node = try await Servers.get(Node.self), ness = try wire.ness()
            try await withFolder { folder in
                let file = folder.appending(path: "file")
                let result = try await ness.httpRequest(withUrl: node.at("/big")).downloadRequest(forSavedLocation: file).value
                let received = try await digest(of: file)
                #expect(received == result.message.headers["X-Digest"])
                let content = try Data(contentsOf: file)
                let seen = try await ness.httpRequest(.post, withUrl: node.at("/digest")).set(body: content).decoded(as: SeenBody.self)
                #expect(seen.length == Self.size && seen.sha256 == received)
            }
        }
    }
}
#endif
