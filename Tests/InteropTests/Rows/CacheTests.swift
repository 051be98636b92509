#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import Testing

extension Interop {
    /// Stored responses that are validated with the ETags of each server.
    @Suite(.needs(.nginx, .apache, .node)) struct CacheTests {
        @Test("a 304 returns the stored file, and a changed file is fetched", arguments: WebServers.allCases, Wire.allCases)
        func validation(server: WebServers, wire: Wire) async throws {
            let server = try await server.running(), name = "cached-\(wire.rawValue)", file = server.root.appending(path: name)
            let ness = try wire.ness { $0.cache = HTTPCache(memoryLimit: 1 << 20) }
            for content in ["first", "the second"] {
                try Data(content.utf8).write(to: file)
                try file.makeOlder()
                for source in [HTTPResponse.Source.network, .revalidated] {
                    let response = try await ness.httpRequest(withUrl: server.at("/\(name)")).response()
                    #expect(response.statusCode == 200 && response.text == content && response.source == source)
                }
            }
        }
    }
}
#endif
