#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A Node server of HTTP/2 that runs `Programs/http2.mjs`, which lists its modes. It ends with its standard input, and so with the tests.
final class HTTP2Server: Sendable {
    /// The path of Node; `nil` if it is not installed.
    static let executable = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/node" }
        .first(where: FileManager.default.isExecutableFile)

    let port: Int
    let authority: TestAuthority
    private let process: Child
    private let input: Pipe
    private let file: URL

    /// Starts a server. Returns when it listens.
    static func start(_ mode: String) async throws -> HTTP2Server {
        let authority = try TestAuthority(), certificate = try authority.certificate()
        let file = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID().uuidString).pem")
        try (certificate.pem() + certificate.keyPEM()).write(to: file, atomically: true, encoding: .utf8)
        let input = Pipe()
        let script = URL(filePath: #filePath).appending(path: "../../Programs/http2.mjs").standardized.path
        let process = try Child(
            [script, file.path, mode], executable: URL(filePath: try #require(executable)), input: input)
        await process.lines.wait { lines in lines.contains { $0.hasPrefix("port ") || $0.contains("Error") } }
        let line = try #require(process.lines.entries.first { $0.hasPrefix("port ") }, "\(process.lines.entries)")
        return HTTP2Server(try #require(Int(line.dropFirst(5))), authority, process, input, file)
    }

    private init(_ port: Int, _ authority: TestAuthority, _ process: Child, _ input: Pipe, _ file: URL) {
        (self.port, self.authority, self.process, self.input, self.file) = (port, authority, process, input, file)
    }

    /// The streams of the requests that have arrived, as connection and stream: `1/1`.
    var requests: [String] { process.lines.entries.filter { $0.hasPrefix("request ") }.map { String($0.dropFirst(8)) } }

    /// Suspends until a number of requests have arrived.
    func waitForRequests(_ count: Int) async {
        await process.lines.wait { lines in lines.count { $0.hasPrefix("request ") } >= count }
    }

    /// Returns a URL of this server.
    func at(_ path: String) -> String { "https://127.0.0.1:\(port)\(path)" }

    /// Makes a manager that trusts this server.
    func ness(
        observers: [any RequestObserver] = [], configure: (inout Ness.Configuration) -> Void = { _ in }
    ) throws -> Ness {
        try curlNess({ $0.authorities = authority.pem }, observers: observers, configure: configure)
    }

    /// Ends the server.
    func stop() async {
        process.kill()
        _ = await process.end()
        try? FileManager.default.removeItem(at: file)
    }
}

/// Starts a server of HTTP/2, and ends it in every case.
func servingHTTP2(_ mode: String, _ body: (HTTP2Server) async throws -> Void) async throws {
    let server = try await HTTP2Server.start(mode)
    do {
        try await body(server)
        await server.stop()
    } catch {
        await server.stop()
        throw error
    }
}
#endif
