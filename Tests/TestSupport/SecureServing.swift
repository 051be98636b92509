#if os(Linux)
import Foundation
import NessTesting

/// Starts a server with TLS and a certificate that is trusted, and stops it whatever the body does.
package func servingSecurely<Result>(
    _ handler: @escaping TestServer.Handler, _ body: (TestServer) async throws -> Result
) async throws -> Result {
    try await stopping(TestServer.start(certificate: OwnProcess.authority.get().certificate(), handler), after: body)
}

extension TestServer {
    /// A URL of this server, which has a certificate.
    package func securely(at path: String) -> String { url.absoluteString + path }
}
#endif
