import Foundation
import Upstream

/// Counts the instructions of this program with other arguments.
enum Callgrind {
    static let isInstalled = findProgram("valgrind") != nil

    /// Returns the instructions of a run, in user mode.
    static func instructions(_ arguments: [String]) throws -> Double {
        let process = Process(), pipe = Pipe()
        process.executableURL =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../instructions").standardized
        process.arguments = CommandLine.arguments.prefix(1) + arguments
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let count = Double(text.filter(\.isNumber)) else {
            throw Failed(reason: "instructions: \(text)")
        }
        return count
    }
}
