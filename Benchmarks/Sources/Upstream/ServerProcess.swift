import Foundation

/// A server process that ends with this process, however that ends: it watches the other end of a pipe.
public final class ServerProcess: Sendable {
    private let process: Process
    private let input = Pipe()
    private let output = Pipe()

    /// Starts another program. A shell waits for the end of its input, which comes with the end of this process, and then ends the program.
    public init(program: String, _ arguments: [String]) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "\"$@\" & server=$!; read -r end; kill -9 $server", "sh", program] + arguments
        process.standardInput = input
        try process.run()
    }

    private init(_ arguments: [String]) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// Starts this program once more, with other arguments. It calls `announce`.
    public static func again(_ arguments: [String]) throws -> ServerProcess { try ServerProcess(arguments) }

    /// The line that the process announced.
    public func firstLine() -> String {
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        return text.split(separator: "\n").first.map(String.init) ?? ""
    }

    /// Ends the process.
    public func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Prints a line for the parent process, waits for its end, and ends this process.
    public static func announce(_ line: String) -> Never {
        print(line)
        fflush(nil)
        // The read ends with the parent process, which holds the other end of this pipe.
        _ = FileHandle.standardInput.readDataToEndOfFile()
        exit(0)
    }
}
