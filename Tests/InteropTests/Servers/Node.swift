#if os(Linux)
import Foundation
import NessTesting

/// A Node server that runs `Programs/origin.mjs`, which lists its paths.
struct Node: SharedServer {
    let port: Int
    let process: ServerProcess

    static func start(in folder: URL) async throws -> Node { try await start(in: folder, port: nil) }

    /// Starts a server that is not shared, which a row may kill.
    /// - Parameters:
    ///   - folder: The working directory.
    ///   - port: The port; `nil` for a free one.
    static func start(in folder: URL, port: Int?) async throws -> Node {
        let port = try port ?? Ports.free()
        let script = Program.repository.appending(path: "Tests/InteropTests/Programs/origin.mjs").path
        return Node(port: port, process: try await .start(.node, [script, "\(port)"], in: folder, ready: "listening"))
    }

    /// A URL of this server.
    func at(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// The body of a request as `/digest` saw it.
struct SeenBody: Decodable {
    var method: String
    var length: Int
    var sha256: String
    var headers: [String: String]
}
#endif
