import Dispatch
import Foundation
import NessLock
import NessTesting
import Testing

/// Runs the tests of its suites one at a time in each line of a module, each within a time limit.
///
/// In parallel they would open some 5,000 files, and many machines allow a process 1,024 or 256. Running them in turn takes no longer. The
/// time that a test waits for its turn does not count. For suites only: a test that has this trait as well as its suite would wait for
/// itself.
package struct InTurn: SuiteTrait, TestTrait, TestScoping {
    /// The lines of a module. They run side by side.
    package enum Line: Sendable {
        /// The line of most suites. Only one test at a time may use sockets, libcurl's threads or the environment of the process.
        case sockets
        /// The line of suites that need none of these: values, files and mocks.
        case withoutSockets
    }

    let line: Line

    package var isRecursive: Bool { true }

    package func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        let turns = Turns.of("\(test.sourceLocation.moduleName) \(line)")
        await turns.take()
        // A test that hangs cannot be ended. The watchdog ends the process, and says why.
        let watchdog = Self.timer(.seconds(Self.limit + (Self.cancelsFirst ? 60 : 0))) {
            FileHandle.standardError.write(Data("\"\(test.displayName ?? test.name)\" took longer than \(Self.limit) seconds\n".utf8))
            // Leaves what the machine keeps of a process that aborts: a core file, or a backtrace of every thread.
            abort()
        }
        let result: Result<Void, any Error>
        do {
            if Self.cancelsFirst {
                let limit = TestGate(), timer = Self.timer(.seconds(Self.limit)) { limit.open() }
                defer { timer.cancel() }
                try await Self.run(until: limit, function)
            } else {
                try await function()
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        watchdog.cancel()
        await turns.pass()
        try result.get()
    }

    /// The time limit in seconds: several times what the longest test takes under the sanitizer on a busy machine.
    private static let limit = 900

    /// True where a test that hangs is canceled before the watchdog ends the process. A Mac that has never run the tests may have several,
    /// and each run should show all of them. On Linux a hang is a defect, whose core file shows more.
    private static var cancelsFirst: Bool {
        #if canImport(Darwin)
        true
        #else
        false
        #endif
    }

    private static func timer(_ time: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler(handler: body)
        timer.schedule(deadline: .now() + time)
        timer.resume()
        return timer
    }

    /// Runs a test's function, and cancels it when a gate opens before it ends. It ends then if it waits for something that heeds
    /// cancellation, as all waits of NessTesting and of promises do.
    /// - Throws: The function's error; `TookTooLong` after the cancellation.
    package static func run(until limit: TestGate, _ function: @Sendable () async throws -> Void) async throws {
        let ended = Lock(false), over = TestGate()
        async let _: Void = {
            await limit.wait()
            over.open()
        }()
        async let runs: Void = {
            defer {
                ended.withLock { $0 = true }
                over.open()
            }
            try await function()
        }()
        await over.wait()
        // Leaving the scope cancels what still runs, and waits for it.
        guard ended.withLock({ $0 }) else { throw TookTooLong() }
        try await runs
    }

    /// The error of a test that was canceled because it hung.
    package struct TookTooLong: Error {}
}

extension Trait where Self == InTurn {
    /// Runs the tests of the suites with this trait one at a time.
    package static var inTurn: InTurn { InTurn(line: .sockets) }

    /// Runs the tests of the suites with this trait and this line one at a time.
    package static func inTurn(_ line: InTurn.Line) -> InTurn { InTurn(line: line) }
}

private actor Turns {
    private static let all = Lock<[String: Turns]>([:])
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    static func of(_ line: String) -> Turns {
        all.withLock { all in
            let turns = all[line] ?? Turns()
            all[line] = turns
            return turns
        }
    }

    func take() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func pass() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
