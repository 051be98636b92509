import Foundation
import Upstream

/// Counts the instructions of this program with other arguments.
struct Callgrind {
    private let valgrind: String
    /// This program without debugging information, which valgrind can't read.
    private let program: String

    /// `nil` without valgrind or strip.
    static let program: Callgrind? = {
        guard let valgrind = findProgram("valgrind"), let strip = findProgram("strip") else { return nil }
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent("ness-growth-\(UUID().uuidString)").path
        let stripped = try? output(of: strip, ["--strip-debug", "-o", copy, CommandLine.arguments[0]])
        return stripped == nil ? nil : Callgrind(valgrind: valgrind, program: copy)
    }()

    /// Returns the instructions of a run, in user mode.
    func instructions(_ arguments: [String]) throws -> Double {
        let text = try Self.output(of: valgrind, ["--tool=callgrind", "--callgrind-out-file=/dev/null", program] + arguments)
        let line = text.split(separator: "\n").first { $0.contains("refs:") } ?? ""
        guard let count = Double(line.split(separator: " ").last?.filter(\.isNumber) ?? "") else { throw Failed(reason: text) }
        return count
    }

    /// Runs a program, and returns what it has written to standard error.
    private static func output(of program: String, _ arguments: [String]) throws -> String {
        let process = Process(), pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(reason: text) }
        return text
    }
}
