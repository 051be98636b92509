#if os(Linux)
import Foundation

/// httpbin on gunicorn, with the route `/parts` of `Programs/bin.py`.
struct HTTPBin: SharedServer {
    let port: Int
    let process: ServerProcess

    static func start(in folder: URL) async throws -> HTTPBin {
        let port = try Ports.free()
        // A copy, because Python writes its compiled form beside it.
        let program = Program.repository.appending(path: "Tests/InteropTests/Programs/bin.py")
        try FileManager.default.copyItem(at: program, to: folder.appending(path: "bin.py"))
        let options = ["--bind", "127.0.0.1:\(port)", "--threads", "8", "--worker-tmp-dir", folder.path, "--pythonpath", folder.path]
        return HTTPBin(port: port, process: try await .start(.gunicorn, options + ["bin:app"], in: folder, ready: "Booting worker"))
    }

    /// A URL of this server.
    func at(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
#endif
