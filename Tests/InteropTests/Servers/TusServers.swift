#if os(Linux)
import Foundation

/// A third-party tus server: see `Programs/tus.py`.
protocol TusServer: SharedServer {
    var port: Int { get }
    /// The URL of the folder with its files.
    var folder: URL { get }
    /// Returns the file of an upload that is complete.
    func file(_ identifier: String) -> URL
}

extension TusServer {
    /// The URL of the requests that create uploads.
    var creation: String { "http://127.0.0.1:\(port)/files" }

    fileprivate static func start(_ mode: String, in folder: URL) async throws -> (port: Int, folder: URL, process: ServerProcess) {
        let port = try Ports.free()
        let arguments = [TusProgram.path, mode, "\(port)", folder.path]
        return (port, folder, try await .start(.python, arguments, in: folder, ready: "Uvicorn running"))
    }
}

enum TusProgram {
    /// The path of the program.
    static let path = Program.repository.appending(path: "Tests/InteropTests/Programs/tus.py").path
}

/// tussi keeps whole parts only.
struct Tussi: TusServer {
    let port: Int
    let folder: URL
    let process: ServerProcess

    static func start(in folder: URL) async throws -> Tussi {
        let (port, folder, process) = try await start("tussi", in: folder)
        return Tussi(port: port, folder: folder, process: process)
    }

    func file(_ identifier: String) -> URL { folder.appending(path: "completed/\(identifier)") }
}

/// litestar-tus keeps the bytes of a part that breaks off.
struct LitestarTus: TusServer {
    let port: Int
    let folder: URL
    let process: ServerProcess

    static func start(in folder: URL) async throws -> LitestarTus {
        let (port, folder, process) = try await start("litestar", in: folder)
        return LitestarTus(port: port, folder: folder, process: process)
    }

    func file(_ identifier: String) -> URL { folder.appending(path: identifier) }
}
#endif
