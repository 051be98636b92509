import CSim
import Foundation
import Synchronization

/// Runs one program at a time under the seeded scheduler.
enum Runner {
    /// The way in which a run ended.
    enum End: Sendable, Equatable {
        case finished
        /// The program waits for something that never happens: no task is runnable, and no timer is left.
        case hangs
        case tooManySteps
        case deadlock
    }

    private static let hasFinished = Atomic(false)
    /// The program's switch points: the chances, of 65,536, that another task runs next.
    private static let preemptions: [UInt32] = [0, 400, 3_000, 14_000]

    /// Runs a program to its end, and then everything that it left behind.
    /// - Parameters:
    ///   - seed: Decides each step.
    ///   - name: Names the program if the process crashes.
    ///   - program: The program. Nothing of an earlier program may run any more.
    static func run(_ seed: UInt64, _ name: String, _ program: @escaping @Sendable () async -> Void) -> End {
        hasFinished.store(false, ordering: .relaxed)
        csim_set_seed(seed)
        name.withCString { csim_note(strdup($0)) }
        csim_begin(seed, Int32(seed % 4), preemptions[Int(seed / 4 % 4)])
        defer { csim_end() }
        Task {
            await program()
            hasFinished.store(true, ordering: .relaxed)
        }
        let verdict = csim_run({ Runner.hasFinished.load(ordering: .relaxed) }, 1_000_000, 100_000_000_000_000)
        guard hasFinished.load(ordering: .relaxed) else {
            return verdict == 0 ? .hangs : verdict == 3 ? .deadlock : .tooManySteps
        }
        // Timers that were canceled are still in the list.
        return csim_run(nil, 1_000_000, .max / 4) == 0 ? .finished : .tooManySteps
    }
}
