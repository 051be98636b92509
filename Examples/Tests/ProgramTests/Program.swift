import Foundation
import NessTesting
import Synchronization

/// A running program of this package, and the text that it has written so far.
final class Program: Sendable {
    private struct State {
        var output = "", errors = ""
        /// Both pipes and the process itself.
        var running = 3
        var expected: [(text: String, gate: TestGate)] = []
    }

    private let process = Process()
    private let state = Mutex(State())
    private let ended = TestGate()

    /// The programs lie beside the test bundle. On Linux the bundle is the running program; on macOS another program loads it.
    private static var folder: URL {
        #if os(macOS)
        Bundle(for: Program.self).bundleURL.deletingLastPathComponent()
        #else
        URL(filePath: CommandLine.arguments.first ?? "").deletingLastPathComponent()
        #endif
    }

    /// Starts a program.
    init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = Self.folder.appending(path: name)
        process.arguments = arguments
        process.environment = ["SWIFT_BACKTRACE": "enable=no"].merging(environment) { _, new in new }
        let output = Pipe(), errors = Pipe()
        (process.standardOutput, process.standardError) = (output, errors)
        // Weak: a program that no test holds any more is ended.
        process.terminationHandler = { [weak self] _ in self?.endOne() }
        try process.run()
        read(output, into: \.output)
        read(errors, into: \.errors)
    }

    deinit {
        if process.isRunning { kill() }
    }

    /// Reads a pipe to its end, on a thread of its own. `availableData` would end the tests where a signal interrupts it.
    private func read(_ pipe: Pipe, into text: WritableKeyPath<State, String> & Sendable) {
        Thread.detachNewThread { [weak self] in
            var bytes: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = Foundation.read(pipe.fileHandleForReading.fileDescriptor, &piece, piece.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                bytes += piece.prefix(count)
                self?.set(text, to: String(decoding: bytes, as: UTF8.self))
            }
            self?.endOne()
        }
    }

    private func set(_ text: WritableKeyPath<State, String>, to read: String) {
        state.withLock { state in
            state[keyPath: text] = read
            for expected in state.expected where read.contains(expected.text) { expected.gate.open() }
        }
    }

    /// Counts one of the three that have ended.
    private func endOne() {
        let isOver = state.withLock { state in
            state.running -= 1
            if state.running == 0 { for expected in state.expected { expected.gate.open() } }
            return state.running == 0
        }
        if isOver { ended.open() }
    }

    /// The text of the standard output so far.
    var output: String { state.withLock { $0.output } }

    /// The text of the standard error so far.
    var errors: String { state.withLock { $0.errors } }

    /// Suspends until the program has written a text, or has ended.
    func wait(for text: String) async {
        let gate = TestGate()
        state.withLock { state in
            if state.running == 0 || state.output.contains(text) || state.errors.contains(text) { gate.open() }
            state.expected.append((text, gate))
        }
        await gate.wait()
    }

    /// Interrupts the program, as Ctrl-C does.
    func interrupt() { process.interrupt() }

    /// Asks the program to end, as a supervisor does.
    func terminate() { process.terminate() }

    /// Ends the program like a power cut.
    func kill() { _ = Foundation.kill(process.processIdentifier, SIGKILL) }

    /// Suspends until the program has ended.
    /// - Returns: Its exit code, or the negative number of the signal that ended it; `nil` if the test was canceled before.
    @discardableResult
    func end() async -> Int32? {
        await ended.wait()
        guard ended.isOpen else { return nil }
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }
}

/// Runs a program to its end.
func run(_ name: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> (code: Int32?, program: Program) {
    let program = try Program(name, arguments, environment: environment)
    return (await program.end(), program)
}

/// Makes a folder for a test, and removes it afterwards.
func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "examples-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}
