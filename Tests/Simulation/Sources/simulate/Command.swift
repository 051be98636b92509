import CSim
import Foundation

/// The commands of the program: see `run`.
enum Command {
    static func run(_ arguments: [String]) -> Int32 {
        switch arguments.first {
        case "micro": return micro(Array(arguments.dropFirst()))
        default:
            print("usage: run micro [ROUNDS [SEED [NAME]]]")
            return 64
        }
    }

    private static let smallPrograms =
        FaultPrograms.all + SharingPrograms.all + LimitPrograms.all + LifePrograms.all + TransferPrograms.all

    private static func micro(_ arguments: [String]) -> Int32 {
        let rounds = arguments.first.flatMap(UInt64.init) ?? 1_000
        let first = arguments.dropFirst().first.flatMap(UInt64.init) ?? 1
        let name = arguments.dropFirst(2).first
        let start = csim_real_ns()
        var broken = 0
        for program in smallPrograms where name == nil || program.name == name {
            for seed in first..<first + rounds {
                guard let fault = run(program, seed) else { continue }
                print("\(program.name), seed \(seed): \(fault)\n  rule: \(program.rule)")
                broken += 1
                break
            }
        }
        let seconds = Double(csim_real_ns() - start) / 1e9
        print("\(smallPrograms.count) small programs, \(rounds) rounds each, \(broken) broken, \(String(format: "%.1f", seconds)) s")
        return broken == 0 ? 0 : 1
    }

    private static func run(_ program: SmallProgram, _ seed: UInt64) -> String? {
        nonisolated(unsafe) var stage: Stage?
        let end = Runner.run(seed, program.name) {
            let made = Stage()
            stage = made
            do { try await program.body(made) } catch { made.expect(false, "it throws \(error)") }
        }
        if end != .finished { return "\(end)" }
        return stage?.broken.first
    }
}
