import CSim
import Foundation

/// The commands of the program: see `run`.
enum Command {
    static func run(_ arguments: [String]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "micro": return micro(rest)
        case "trace": return trace(rest)
        case "found": return found(rest)
        case "survey": return survey(rest)
        case "until-broken": return untilBroken(rest)
        case let seed? where UInt64(seed) != nil: return random(arguments)
        default:
            print("usage: run SEED [COUNT] | micro [ROUNDS [SEED [NAME]]] | trace SEED-OR-FILE | found [FILE…]")
            return 64
        }
    }

    private static let smallPrograms =
        FaultPrograms.all + SharingPrograms.all + LimitPrograms.all + LifePrograms.all + TransferPrograms.all + UploadPrograms.all
        + ReaderPrograms.all
        + StorePrograms.all

    private static func number(_ arguments: [String], _ index: Int, _ standard: UInt64) -> UInt64 {
        arguments.indices.contains(index) ? UInt64(arguments[index]) ?? standard : standard
    }

    private static func seconds(since start: Int64) -> Double { Double(csim_real_ns() - start) / 1e9 }

    // MARK: small programs

    private static func micro(_ arguments: [String]) -> Int32 {
        let (rounds, first) = (number(arguments, 0, 1_000), number(arguments, 1, 1))
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
        print("\(smallPrograms.count) small programs, \(rounds) rounds each, \(broken) broken, \(Int(seconds(since: start))) s")
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

    // MARK: random programs

    private static func random(_ arguments: [String]) -> Int32 {
        let (first, count) = (number(arguments, 0, 1), number(arguments, 1, 1))
        let start = csim_real_ns()
        var (operations, exchanges, hash) = (0, 0, UInt64(0))
        for seed in first..<first + count {
            let program = Generator.program(seed)
            let verdict = ProgramRun.run(program)
            operations += program.operations.count
            exchanges += verdict.exchanges
            hash = hash &* 31 &+ verdict.hash
            guard let broken = verdict.broken else { continue }
            print("seed \(seed): \(broken)")
            fflush(nil)
            // Its threads and tasks are still there, and would disturb further runs of this process.
            if ["tooManySteps", "deadlock"].contains(broken) { return 1 }
            let shrunk = ProgramRun.shrunk(program, broken)
            let again = ProgramRun.run(shrunk, isTraced: true)
            print(again.trace.joined(separator: "\n"))
            // Last, because a reader may be shown the last lines only.
            print("shrunk to \(shrunk.operations.count) operations:\n\(ProgramRun.encoded(shrunk))")
            print("seed \(seed): \(broken)")
            return 1
        }
        let time = seconds(since: start)
        print(
            "seeds \(first) to \(first + count - 1): \(operations) operations, \(exchanges) exchanges, \(Int(time)) s, "
                + "\(Int(Double(count) / max(time, 0.001))) seeds a second, hash \(hash)")
        return 0
    }

    /// Runs programs without shrinking them, and prints each rule that is broken once.
    private static func survey(_ arguments: [String]) -> Int32 {
        let (first, count) = (number(arguments, 0, 1), number(arguments, 1, 1_000))
        var seen: [String: Int] = [:]
        let start = csim_real_ns()
        for seed in first..<first + count {
            if seed > first, (seed - first) % 1_000 == 0 {
                print("\(seed - first) seeds, \(Int(seconds(since: start))) s")
                fflush(nil)
            }
            guard let broken = ProgramRun.run(Generator.program(seed)).broken else { continue }
            let kind = ProgramRun.kind(broken)
            if seen[kind] == nil { print("seed \(seed): \(broken)") }
            fflush(nil)
            seen[kind, default: 0] += 1
            if ["tooManySteps", "deadlock"].contains(broken) { break }
        }
        print("\(count) seeds in \(Int(seconds(since: start))) s: \(seen.sorted { $0.value > $1.value })")
        return seen.isEmpty ? 0 : 1
    }

    /// Runs small and random programs in turn, until a rule is broken or the time is over.
    private static func untilBroken(_ arguments: [String]) -> Int32 {
        let (start, limit) = (csim_real_ns(), Double(number(arguments, 0, 60)))
        for seed in 1...UInt64.max {
            for program in smallPrograms {
                guard seconds(since: start) < limit else { return 0 }
                guard let fault = run(program, seed) else { continue }
                print("\(program.name), seed \(seed): \(fault)")
                return 1
            }
            for seed in seed * 3..<seed * 3 + 3 {
                guard let broken = ProgramRun.run(Generator.program(seed)).broken else { continue }
                print("random program \(seed): \(broken)")
                return 1
            }
        }
        return 0
    }

    private static func program(_ text: String) -> Program? {
        if let seed = UInt64(text) { return Generator.program(seed) }
        return FileManager.default.contents(atPath: text).flatMap { try? JSONDecoder().decode(Program.self, from: $0) }
    }

    private static func trace(_ arguments: [String]) -> Int32 {
        guard let program = arguments.first.flatMap(program) else { return 64 }
        print(ProgramRun.encoded(program))
        let verdict = ProgramRun.run(program, isTraced: true)
        print(verdict.trace.joined(separator: "\n"))
        print(verdict.broken ?? "no rule is broken", String(verdict.hash, radix: 16))
        return verdict.broken == nil ? 0 : 1
    }

    /// Replays programs that once broke a rule, under their own schedule and under more.
    private static func found(_ files: [String]) -> Int32 {
        var broken = 0
        for file in files {
            guard let program = program(file) else {
                print("\(file) is not a program")
                broken += 1
                continue
            }
            for offset in 0..<64 as Range<UInt64> {
                var program = program
                program.seed &+= offset
                guard let text = ProgramRun.run(program).broken else { continue }
                print("\(file), seed \(program.seed): \(text)")
                broken += 1
                break
            }
        }
        print("\(files.count) found programs, \(broken) broken")
        return broken == 0 ? 0 : 1
    }
}
