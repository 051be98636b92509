import Dispatch
import Foundation
import Testing

/// Runs the tests of all suites with this trait one at a time, each with a time limit.
///
/// All tests at once would open some 5,000 files. Many machines allow a process 1,024, or 256. One at a time they are no slower. The time
/// that a test waits for its turn does not count.
struct InTurn: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        await Turns.shared.take()
        // A test that hangs cannot be ended. The process can, and prints the reason.
        let watchdog = DispatchSource.makeTimerSource(queue: .global())
        watchdog.setEventHandler {
            FileHandle.standardError.write(Data("\"\(test.displayName ?? test.name)\" took longer than five minutes\n".utf8))
            exit(1)
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
    /// Runs the tests of all suites with this trait one at a time.
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
