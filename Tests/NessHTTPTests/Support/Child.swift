#if os(Linux) || os(macOS)
import Foundation
import NessTesting

/// A child process: `ness-demo`, unless another program is named.
final class Child: Sendable {
    private let process: Process
    private let ended = TestGate()
    /// The lines that the child has written to its standard error.
    let lines = Log<String>()

    /// The executable lies beside the test bundle. On Linux the bundle is the running program; on macOS another program loads it.
    static var executable: URL {
        #if os(macOS)
        let bundle = Bundle(for: Child.self).bundleURL
        #else
        let bundle = URL(fileURLWithPath: CommandLine.arguments.first ?? "")
        #endif
        return bundle.deletingLastPathComponent().appending(path: "ness-demo")
    }

    init(_ arguments: [String], executable: URL = Child.executable, environment: [String: String] = [:]) throws {
        process = Process()
        process.executableURL = executable
        process.arguments = arguments
        // The child uses the transport of this test run, and the sanitizer's options: a report that they do not suppress ends the child with
        // an error. To know the names in a report, the sanitizer looks for its symbolizer on the path.
        let inherited = ProcessInfo.processInfo.environment.filter { ["NESS_TRANSPORT", "TSAN_OPTIONS", "PATH"].contains($0.key) }
        process.environment = ["SWIFT_BACKTRACE": "enable=no"].merging(inherited) { mine, _ in mine }.merging(environment) { _, new in new }
        process.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        process.standardError = errors
        process.terminationHandler = { [ended] _ in ended.open() }
        try process.run()
        // A thread reads the pipe to its end. A `readabilityHandler` on Linux may still run when its pipe is released: of some thirty runs
        // of the whole suite, two crashed around here.
        let handle = errors.fileHandleForReading
        Thread.detachNewThread { [lines] in
            // Not `availableData`, which ends the process if a signal interrupts it.
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(handle.fileDescriptor, &bytes, bytes.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                for line in String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n") { lines.add(String(line)) }
            }
        }
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    /// Ends the process like a power cut. It gets no chance to clean up.
    func kill() { _ = Foundation.kill(process.processIdentifier, SIGKILL) }

    /// Interrupts the process, as Ctrl-C does.
    func interrupt() { process.interrupt() }

    func end() async -> (reason: Process.TerminationReason, status: Int32) {
        await ended.wait()
        return (process.terminationReason, process.terminationStatus)
    }
}
#endif
