#if os(Linux)
import Foundation

/// httpbin on gunicorn, with the route `/parts` of `Programs/bin.py`.
final class HTTPBin: SharedServer {
    let port: Int
    private let process: ServerProcess

    private init(_ port: Int, _ process: ServerProcess) { (self.port, self.process) = (port, process) }

    static func start(in folder: URL) async throws -> HTTPBin {
        let port = try Ports.free()
        // A copy, because Python writes its compiled form beside it.
        let program = Program.repository.appending(path: "Tests/InteropTests/Programs/bin.py")
        try FileManager.default.copyItem(at: program, to: folder.appending(path: "bin.py"))
        let options = ["--bind", "127.0.0.1:\(port)", "--threads", "8", "--worker-tmp-dir", folder.path, "--pythonpath", folder.path]
        return HTTPBin(port, try await .start(.gunicorn, options + ["bin:app"], in: folder, ready: "Booting worker"))
    }

    /// A URL of this server.
    func at(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    func stop() async { await process.stop() }
}
#endif
