#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Redirects of requests with bodies (RFC 9110, 15.4), from nginx and Apache to Node. Node is another origin.
    @Suite(.needs(.nginx, .apache, .node)) struct RedirectTests {
        @Test(
            "307 and 308 send method and body again, and 301, 302 and 303 make a GET of a POST", arguments: WebServers.allCases,
            Wire.allCases)
        func post(server: WebServers, wire: Wire) async throws {
            // The longer body is still on its way when the redirect arrives.
            let body = patternedData(3 << 20), server = try await server.running(), ness = try wire.ness()
            for status in [301, 302, 303, 307, 308] {
                for size in [5, body.count] {
                    let request = ness.httpRequest(.post, withUrl: server.at("/moved/\(status)")).set(body: body.prefix(size))
                    let result = try await request.set(header: "X-Api-Key", to: "secret").decodedResponse(as: SeenBody.self)
                    let seen = result.value, keepsBody = status >= 307
                    #expect(seen.method == (keepsBody ? "POST" : "GET"), "\(status)")
                    #expect(seen.length == (keepsBody ? size : 0), "\(status)")
                    #expect(seen.headers["content-type"] == (keepsBody ? "application/octet-stream" : nil))
                    #expect(seen.headers["x-api-key"] == nil, "a secret goes to no other origin")
                    #expect(result.response.history.map(\.statusCode) == [status])
                }
            }
        }

        @Test("a PUT keeps its method, except after 303", arguments: WebServers.allCases, Wire.allCases)
        func put(server: WebServers, wire: Wire) async throws {
            let server = try await server.running(), ness = try wire.ness()
            for status in [301, 302, 303, 307, 308] {
                let request = ness.httpRequest(.put, withUrl: server.at("/moved/\(status)")).set(stringBody: "body")
                let seen = try await request.decoded(as: SeenBody.self)
                #expect(seen.method == (status == 303 ? "GET" : "PUT") && seen.length == (status == 303 ? 0 : 4), "\(status)")
            }
        }

        @Test(
            "a file is sent again from its start after 307, and a sequence that can be read once arrives whole or is an error",
            arguments: WebServers.allCases, Wire.allCases)
        func streams(server: WebServers, wire: Wire) async throws {
            let request = try await wire.ness().httpRequest(.post, withUrl: server.running().at("/moved/307"))
            try await withFolder { folder in
                let file = folder.appending(path: "body"), content = patternedData(2 << 20)
                try content.write(to: file)
                let seen = try await request.uploadRequest(forFileLocation: file).value.message.parseJSONBody(SeenBody.self)
                #expect(try await seen.sha256 == digest(of: file))
                let pieces = AsyncStream<Data> { continuation in
                    continuation.yield(content)
                    continuation.finish()
                }
                // A server that redirects before the sequence is read leaves it for the second request.
                switch await request.set(streamBody: pieces).dataRequest().settled {
                case .success(let result): #expect(try result.message.parseJSONBody(SeenBody.self).sha256 == seen.sha256)
                case .failure(let error): #expect((error as? NessError)?.kind == .redirect)
                }
            }
        }
    }
}
#endif
