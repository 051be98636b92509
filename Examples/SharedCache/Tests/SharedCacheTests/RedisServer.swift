import Foundation
import NessTesting
import Synchronization

/// A Redis server of a test, on a Unix socket in its own folder. It writes nothing to the disk.
final class RedisServer: Sendable {
    struct NotStarted: Error {}

    static let program = ["/usr/bin/redis-server", "/usr/local/bin/redis-server", "/opt/homebrew/bin/redis-server"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    /// CI has installed the server, so a test that is skipped would be a failure.
    static let isExpected = program != nil || ProcessInfo.processInfo.environment["CI"] == "true"

    private let folder: URL
    private let process = Mutex<Process?>(nil)

    /// The path of the socket. A system allows about a hundred characters.
    var path: String { folder.appending(path: "s").path }

    /// Starts a server, runs the test, and ends the server.
    static func run(_ body: @escaping @Sendable (RedisServer) async throws -> Void) async throws {
        let server = RedisServer()
        try FileManager.default.createDirectory(at: server.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: server.folder) }
        try await server.start()
        let result = await Task { try await body(server) }.result
        await server.stop()
        try result.get()
    }

    private init() { folder = URL(filePath: "/tmp/redis-\(UUID().uuidString.prefix(8))") }

    /// Starts the server, and returns when it accepts connections.
    func start() async throws {
        guard let program = Self.program else { throw NotStarted() }
        let process = Process(), output = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", folder.path]
        process.standardOutput = output
        try process.run()
        self.process.withLock { $0 = process }
        let isReady = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var text = "", bytes = [UInt8](repeating: 0, count: 4_096)
                let file = output.fileHandleForReading.fileDescriptor
                while !text.contains("ready to accept connections") {
                    let count = Foundation.read(file, &bytes, bytes.count)
                    if count <= 0 { return continuation.resume(returning: false) }
                    text += String(decoding: bytes[..<count], as: UTF8.self)
                }
                continuation.resume(returning: true)
                // The server blocks if nobody reads its log.
                while Foundation.read(file, &bytes, bytes.count) > 0 {}
                withExtendedLifetime(output) {}
            }
        }
        if !isReady { throw NotStarted() }
    }

    /// Ends the server. What it has stored is lost.
    func stop() async {
        guard let process = process.withLock({ $0.take() }) else { return }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // A process inherits the signals that the thread blocks which starts it, but none can block this one.
                kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
                continuation.resume()
            }
        }
    }

    /// Stops the server's process, so that it accepts connections and commands, but does not reply.
    func suspend() { _ = process.withLock { $0?.suspend() } }

    func resume() { _ = process.withLock { $0?.resume() } }
}
