import CSim
import Foundation
import NessHTTP

/// One run of a program, from its seed to its verdict.
enum ProgramRun {
    struct Verdict {
        /// The first broken rule; `nil` if none is.
        var broken: String?
        var trace: [String]
        var hash: UInt64
        /// The number of requests that the servers received.
        var exchanges: Int
    }

    static func run(_ program: Program, isTraced: Bool = false) -> Verdict {
        nonisolated(unsafe) var execution: Execution?
        let end = Runner.run(program.seed, "a random program") {
            let made = Execution(program, isTraced: isTraced)
            execution = made
            await made.run()
        }
        execution?.release()
        // "The manager is released when nothing uses it any more" (Concepts).
        if end == .finished, execution?.snapshot.managers.contains(where: { $0.manager != nil }) == true {
            execution?.world.breaks("the manager is still alive at the end")
        }
        let world = execution?.world.snapshot
        let broken = end == .finished ? world?.broken.first : "\(end)"
        let (trace, exchanges) = (execution?.world.traced ?? [], execution?.world.exchangeCount ?? 0)
        return Verdict(broken: broken, trace: trace, hash: csim_hash(), exchanges: exchanges)
    }

    /// The rule that a text names, without numbers: two programs break the same rule if these are equal.
    static func kind(_ broken: String) -> String {
        String(
            broken.split(separator: " ").filter { !$0.contains(where: \.isNumber) && !$0.contains("/") }.prefix(6).joined(separator: " "))
    }

    /// Removes operations and features while the program still breaks the same rule, under a few schedules each.
    static func shrunk(_ program: Program, _ broken: String) -> Program {
        let kind = kind(broken)
        var best = program
        func holds(_ candidate: Program) -> Program? {
            for offset in 0..<24 as Range<UInt64> {
                var candidate = candidate
                candidate.seed = offset == 0 ? best.seed : program.seed &+ offset &* 16 &+ best.seed % 16
                if let text = run(candidate).broken, Self.kind(text) == kind { return candidate }
            }
            return nil
        }
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            var size = max(1, best.operations.count / 2)
            while size >= 1 {
                var start = 0
                while start < best.operations.count {
                    var candidate = best
                    candidate.operations.removeSubrange(start..<min(start + size, best.operations.count))
                    if let smaller = holds(candidate) { (best, isSmaller) = (smaller, true) } else { start += size }
                }
                size /= 2
            }
            for change in simplifications {
                var candidate = best
                change(&candidate)
                guard encoded(candidate) != encoded(best), let smaller = holds(candidate) else { continue }
                (best, isSmaller) = (smaller, true)
            }
        }
        return best
    }

    private static let simplifications: [@Sendable (inout Program) -> Void] = [
        { program in
            program.others = nil
            for index in program.operations.indices { program.operations[index].manager = nil }
        },
        { $0.shared = nil }, { $0.shared?.cookies = false }, { $0.shared?.cache = false },
        { program in
            guard let first = program.others?.first else { return }
            program.others = [first]
            program.operations.removeAll { $0.manager == 2 }
        },
        // Every manager like the first, except for its user.
        { program in
            program.others = program.others?.map { [program] in
                var plan = program.manager
                plan.user = $0.user
                return plan
            }
        },
        { $0.manager.retries = nil }, { $0.manager.repeatsRefused = false }, { $0.manager.budget = false }, { $0.manager.breaker = false },
        { $0.manager.rate = nil }, { $0.manager.hostLimit = 6 }, { $0.manager.total = nil }, { $0.manager.cache = nil },
        { $0.manager.cache = .memory }, { $0.manager.cookies = false }, { $0.manager.authentication = false },
        { $0.manager.refreshesAhead = false }, { $0.manager.duplicates = nil }, { $0.manager.loaders = [] },
        { $0.manager.observers = false },
        { $0.manager.deadline = nil }, { $0.manager.timeout = 60_000 }, { $0.manager.stopping = .controlled },
        { program in for index in program.operations.indices { program.operations[index].delay = 0 } },
        { program in for index in program.operations.indices { program.operations[index].actor = 0 } },
        { program in change(&program) { $0.faults = [] } }, { program in change(&program) { $0.timeout = nil } },
        { program in change(&program) { $0.deadline = nil } }, { program in change(&program) { $0.retries = nil } },
        { program in change(&program) { $0.range = nil } }, { program in change(&program) { $0.reading = nil } },
        { program in change(&program) { $0.isAwaited = false } }, { program in change(&program) { $0.kind = .data } },
    ]

    private static func change(_ program: inout Program, _ body: (inout RequestPlan) -> Void) {
        for index in program.operations.indices {
            guard case .send(var plan) = program.operations[index].action else { continue }
            body(&plan)
            program.operations[index].action = .send(plan)
        }
    }

    static func encoded(_ program: Program) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(program)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
