#if os(Linux)
import Foundation

/// A web server that offers files with ranges and WebDAV, redirects to `Node` at `/moved/STATUS`, and `Node` itself below `/origin/`.
///
/// Below `/slow/` are the files again: 2 MiB of a response arrive at once, the rest hardly.
protocol WebServer: SharedServer {
    /// The folder with the files.
    var root: URL { get }
    /// A URL of this server over http.
    func at(_ path: String) -> String
    /// A URL of this server over https, where it also speaks HTTP/2.
    func securely(at path: String) -> String
    /// Has the server read its configuration anew, and replace its workers as their requests end.
    func reload() async throws
}

/// The web servers, as arguments of rows.
enum WebServers: CaseIterable, Sendable {
    case nginx
    case apache

    /// Returns the server, which runs.
    func running() async throws -> any WebServer {
        switch self {
        case .nginx: try await Servers.get(Nginx.self)
        case .apache: try await Servers.get(Apache.self)
        }
    }
}

extension URL {
    /// Makes a file seem to have been changed an hour ago. Apache's tag for a file that has just been changed is weak, and changes with
    /// time.
    func makeOlder() throws {
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: path)
    }
}
#endif
