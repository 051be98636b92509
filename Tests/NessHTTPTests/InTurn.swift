import Dispatch
import Foundation
import Testing

/// Runs the tests of its suites one at a time, each within a time limit.
///
/// In parallel they would open some 5,000 files, and many machines allow a process 1,024 or 256. Running them in turn takes no longer. The
/// time that a test waits for its turn does not count. For suites only: a test that has this trait as well as its suite would wait for
/// itself.
struct InTurn: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        await Turns.shared.take()
        // A test that hangs cannot be ended. The watchdog ends the process, and says why.
        let watchdog = DispatchSource.makeTimerSource(queue: .global())
        watchdog.setEventHandler {
            FileHandle.standardError.write(Data("\"\(test.displayName ?? test.name)\" took longer than five minutes\n".utf8))
            // Leaves what the machine keeps of a process that aborts: a core file, or a backtrace of every thread.
            abort()
        }
        watchdog.schedule(deadline: .now() + .seconds(300))
        watchdog.resume()
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        watchdog.cancel()
        await Turns.shared.pass()
        try result.get()
    }
}

extension Trait where Self == InTurn {
    /// Runs the tests of the suites with this trait one at a time.
    static var inTurn: InTurn { InTurn() }
}

private actor Turns {
    static let shared = Turns()
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

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
