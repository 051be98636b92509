#if os(Linux) || os(macOS)
import Foundation
import NessTesting

/// A child process: `ness-demo`, unless another program is named.
package final class Child: Sendable {
    // `Process` is not `Sendable` on macOS. It is set once, and its methods may be called by any thread.
    nonisolated(unsafe) private var process: Process
    private let ended = TestGate()
    private let isSilent = TestGate()
    /// The lines that the child has written to its standard error.
    package let lines = Log<String>()

    /// The executable lies beside the test bundle. On Linux the bundle is the running program; on macOS another program loads it.
    package static var executable: URL {
        #if os(macOS)
        let bundle = Bundle(for: Child.self).bundleURL
        #else
        let bundle = URL(fileURLWithPath: CommandLine.arguments.first ?? "")
        #endif
        return bundle.deletingLastPathComponent().appending(path: "ness-demo")
    }

    /// Starts a child.
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - executable: The path of the program.
    ///   - environment: Variables in addition to those of every child.
    ///   - input: Its standard input; `nil` for that of this process.
    package init(_ arguments: [String], executable: URL = Child.executable, environment: [String: String] = [:], input: Pipe? = nil) throws
    {
        process = Process()
        process.executableURL = executable
        process.arguments = arguments
        // The child uses the transport of this test run, and the sanitizer's options: a report that they do not suppress ends the child
        // with an error. To know the names in a report, the sanitizer looks for its symbolizer on the path.
        let inherited = ProcessInfo.processInfo.environment.filter { ["NESS_TRANSPORT", "TSAN_OPTIONS", "PATH"].contains($0.key) }
        process.environment = ["SWIFT_BACKTRACE": "enable=no"].merging(inherited) { mine, _ in mine }.merging(environment) { _, new in new }
        process.standardOutput = FileHandle.nullDevice
        if let input { process.standardInput = input }
        let errors = Pipe()
        process.standardError = errors
        process.terminationHandler = { [ended] _ in ended.open() }
        #if os(Linux)
        // A child inherits the signals that this thread blocks, and the threads that run tasks block nearly all.
        var (none, blocked) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        #endif
        try process.run()
        // A thread reads the pipe to its end. A `readabilityHandler` on Linux may still run when its pipe is released: of some thirty runs
        // of the whole suite, two crashed around here.
        let handle = errors.fileHandleForReading
        Thread.detachNewThread { [lines, isSilent] in
            defer { isSilent.open() }
            // Not `availableData`, which ends the process if a signal interrupts it.
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            // The start of a line whose end has not been read yet.
            var rest = Data()
            while true {
                let count = read(handle.fileDescriptor, &bytes, bytes.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { break }
                var parts = (rest + bytes.prefix(count)).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                rest = parts.popLast() ?? Data()
                for line in parts where !line.isEmpty { lines.add(String(decoding: line, as: UTF8.self)) }
            }
            if !rest.isEmpty { lines.add(String(decoding: rest, as: UTF8.self)) }
        }
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    /// Ends the process like a power cut. It gets no chance to clean up.
    package func kill() { _ = Foundation.kill(process.processIdentifier, SIGKILL) }

    /// Interrupts the process, as Ctrl-C does.
    package func interrupt() { process.interrupt() }

    package func end() async -> (reason: Process.TerminationReason, status: Int32) {
        await ended.wait()
        return (process.terminationReason, process.terminationStatus)
    }

    /// Suspends until all lines have been read, and until the processes that the child started have ended or closed their standard error.
    package func endOfLines() async { await isSilent.wait() }
}
#endif
