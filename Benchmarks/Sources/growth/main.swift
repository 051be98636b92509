// The cost of a unit among many: requests that wait, callers of an exchange, handlers and links of promises, cookies, cached responses, files. Each
// kind of work runs with 10 to 10,000 of them, without a network. Where the cost of one grows with their number, the line bends upward.
//   swift run -c release --package-path Benchmarks growth             processor time, and instructions if valgrind is installed
//   swift run -c release --package-path Benchmarks growth NAME        one kind, or those whose names contain the text
//   growth run NAME COUNT TIMES                                       does the work of one kind, for a profiler
import Dispatch
import Foundation
import Measure
import Upstream

/// The least number of units of a round, so that the clock can measure them.
let unitsOfRound = isQuick ? 2_000 : 20_000

/// Returns the instructions of a unit by callgrind. `nil` without valgrind.
func instructions(_ kind: Kind, _ count: Int) throws -> Double? {
    guard kind.isCounted, !isQuick, Callgrind.isInstalled else { return nil }
    let times = max(1, 1_000 / count)
    let few = try Callgrind.instructions(["run", kind.name, "\(count)", "1"])
    let many = try Callgrind.instructions(["run", kind.name, "\(count)", "\(1 + times)"])
    return (many - few) / Double(times)
}

func run(_ name: String, _ count: Int, times: Int) async throws {
    guard let kind = Kind.all.first(where: { $0.name == name }), count > 0, times > 0 else {
        throw Failed(reason: "usage: growth run NAME COUNT TIMES, with the whole name of a kind")
    }
    let work = try await kind.prepare(count)
    for _ in 0..<times { try await work.run() }
}

func measure(_ kinds: [Kind]) async throws {
    for kind in kinds {
        for count in kind.sizes where !isQuick || count <= 1_000 {
            let work = try await kind.prepare(count)
            let times = max(1, min(unitsOfRound, kind.unitsOfRound) / work.units)
            let costs = try await Rounds.measure(rounds(5), [("", { for _ in 0..<times { try await work.run() } })])
            let micros = costs.micros("", per: times * work.units, of: \.processorSeconds)
            let counted = try instructions(kind, count).map { $0 / Double(work.units) }
            try Growth(plot: kind.plot, kind: kind.name, count: count, micros: micros, instructions: counted).report()
        }
    }
}

let arguments = Array(CommandLine.arguments.dropFirst())
// Not at the top level: callgrind does not survive the main thread's end in `dispatchMain`.
let done = DispatchSemaphore(value: 0)
Task.detached {
    do {
        if arguments.count == 4, arguments[0] == "run", let count = Int(arguments[2]), let times = Int(arguments[3]) {
            try await run(arguments[1], count, times: times)
        } else {
            try await measure(Kind.all.filter { arguments.isEmpty || $0.name.contains(arguments[0]) })
        }
    } catch {
        print(error)
        exit(1)
    }
    done.signal()
}
done.wait()
