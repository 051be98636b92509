#if os(Linux)
import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport

/// A server program that runs as a child of the tests, with all processes that it starts.
///
/// A shell supervises the server: it kills the server's process group when the tests close its standard input. They do so in `stop()`, and
/// the system does so when they crash. So no server outlives the tests.
final class ServerProcess: Sendable {
    /// One run of the program.
    private struct Run: Sendable {
        let child: Child
        let input: Pipe
        let pid: Int32
    }

    private let program: Program
    private let arguments: [String]
    private let folder: URL
    private let ready: String
    private let run: Lock<Run>

    /// The lines that the server has written since it was started last.
    private var lines: Log<String> { run.withLock { $0.child.lines } }

    /// Starts a server.
    /// - Parameters:
    ///   - program: The program.
    ///   - arguments: Its arguments. It has to stay in the foreground.
    ///   - folder: Its working directory.
    ///   - ready: A text in the line that the server writes when it accepts connections.
    /// - Returns: The server, which accepts connections.
    static func start(_ program: Program, _ arguments: [String], in folder: URL, ready: String) async throws -> ServerProcess {
        let run = try await run(program, arguments, folder, ready)
        return ServerProcess(program, arguments, folder, ready, run)
    }

    private init(_ program: Program, _ arguments: [String], _ folder: URL, _ ready: String, _ run: Run) {
        (self.program, self.arguments, self.folder, self.ready) = (program, arguments, folder, ready)
        self.run = Lock(run)
    }

    private static func run(_ program: Program, _ arguments: [String], _ folder: URL, _ ready: String) async throws -> Run {
        guard let path = program.path else { throw ServerFailure(description: "\(program.rawValue) is not installed") }
        let input = Pipe()
        let child = try Child(
            ["-c", supervision, "supervisor", folder.path, path] + arguments, executable: URL(filePath: "/bin/bash"), input: input)
        await child.lines.wait { lines in
            let isReady = lines.contains { $0.contains(ready) } && lines.contains { $0.hasPrefix(started) }
            return isReady || lines.contains { $0.hasPrefix(ended) }
        }
        let lines = child.lines.entries
        let pid = lines.first { $0.hasPrefix(started) }.flatMap { Int32($0.dropFirst(started.count)) }
        guard let pid, !lines.contains(where: { $0.hasPrefix(ended) }) else { throw ServerFailure(program, lines) }
        return Run(child: child, input: input, pid: pid)
    }

    /// Sends a signal to the server itself, not to its workers. Returns when the server has written one more line with a text.
    func signal(_ signal: Int32, until text: String) async throws {
        let count = lines.entries.filter { $0.contains(text) }.count
        _ = kill(run.withLock { $0.pid }, signal)
        try await wait(for: text, count: count + 1)
    }

    /// Suspends until the server has written a number of lines with a text.
    func wait(for text: String, count: Int = 1) async throws {
        let lines = lines
        await lines.wait { lines in lines.filter { $0.contains(text) }.count >= count || lines.contains { $0.hasPrefix(Self.ended) } }
        if lines.entries.contains(where: { $0.hasPrefix(Self.ended) }) { throw ServerFailure(program, lines.entries) }
    }

    /// Kills the server and its workers. Returns when they have ended and their ports are free.
    func stop() async {
        let run = run.withLock { $0 }
        try? run.input.fileHandleForWriting.close()
        // Workers that are being killed may still listen.
        await run.child.endOfLines()
    }

    /// Starts the server again after `stop()`.
    func startAgain() async throws {
        let new = try await Self.run(program, arguments, folder, ready)
        run.withLock { $0 = new }
    }

    /// Kills the server, and starts it again.
    func restart() async throws {
        await stop()
        try await startAgain()
    }

    private static let started = "supervisor: started "
    private static let ended = "supervisor: ended "
    /// Runs the program in a process group of its own, until it ends or the standard input does.
    private static let supervision = """
        set -m
        exec 3<&0 </dev/null 1>&2
        cd "$1" && shift
        "$@" 3<&- &
        server=$!
        echo "\(started)$server"
        { cat <&3 >/dev/null; kill -KILL -- "-$server"; } 2>/dev/null &
        guard=$!
        wait "$server" 2>/dev/null
        echo "\(ended)$?"
        kill -KILL -- "-$server" "-$guard" 2>/dev/null
        """
}

/// The error of a server that cannot be started. It is no failed expectation, because every row that needs the server has to fail with it.
struct ServerFailure: Error, CustomStringConvertible {
    var description: String

    fileprivate init(_ program: Program, _ lines: [String]) {
        self.init(description: "\(program.rawValue) ended:\n\(lines.suffix(40).joined(separator: "\n"))")
    }

    init(description: String) { self.description = description }
}
#endif
