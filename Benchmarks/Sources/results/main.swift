// Prints the table of what the other programs measured, and writes RESULTS.md and its charts. `Benchmarks/run` calls it.
//   results ROWS MACHINE FOLDER: the file that NESS_RESULTS named, a file of lines about the machine, and the folder to write to
import Foundation
import Measure
import NessHTTP

guard CommandLine.arguments.count == 4 else {
    print("usage: results ROWS MACHINE FOLDER")
    exit(2)
}
let lines = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1])).split(separator: UInt8(ascii: "\n"))
var machine = try String(contentsOfFile: CommandLine.arguments[2], encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
#if os(Linux)
machine += "\n- \(CurlTransport.libraryVersion ?? "no libcurl")"
#endif
let rows = lines.compactMap { try? JSONDecoder().decode(Row.self, from: $0) }
let sharings = lines.compactMap { try? JSONDecoder().decode(Sharing.self, from: $0) }

let figures = table(
    ["work", "value", "spread", "target", ""],
    rows.map { [$0.work, decimal($0.value), $0.spread, $0.target?.text ?? "", $0.verdict] })
let sharing = table(
    ["duplicates", "callers", "answered", "ms", "requests", "bytes"],
    sharings.map { [$0.handler, "\($0.callers)", "\($0.answered)", decimal($0.milliseconds), "\($0.requests)", "\($0.bytes)"] })
print(figures)
let missed = rows.filter(\.isMissed)
// Rows of one cause stand together.
var reasons: [(reason: String, works: [String])] = []
for row in missed {
    let reason = row.reason ?? "Not explained."
    if let place = reasons.firstIndex(where: { $0.reason == reason }) {
        reasons[place].works.append(row.work)
    } else {
        reasons.append((reason, [row.work]))
    }
}
let explanations = reasons.map { entry in
    "\(entry.works.map { "- **\($0)**" }.joined(separator: "\n"))\n\n  \(entry.reason.replacing("\n", with: "\n  "))\n"
}

let page = """
    # Results

    `Benchmarks/run` wrote this page.

    \(machine)

    The contenders of a ratio take turns. Each round gives a ratio; the value is the median of the rounds, and the spread reaches from the
    lowest to the highest. "times" is a multiple of the other side's time, unless the row names a speed.

    ![Each figure against its target](Plots/results.svg)

    \(figures)

    ## Targets that are missed

    The reasons were found with `perf`, on the machine above.

    \(explanations.joined(separator: "\n"))

    ## Duplicate requests

    Callers send the same GET at once, to a server that takes 20 ms for an answer of 10,000 bytes. At most six exchanges run at a time. Each
    line is the round of the median time. "answered" counts the callers who got the response: the policies `keepFirstCompletion`,
    `keepLatestCompletion` and `dropPreviousRequest` fail all others with `NessError.duplicate`. The bytes are those that the server received
    and sent, with the heads. `requestAllSeparately` shares nothing; a manager without a handler does what `keepAllCompletion` does.

    ![Time until all callers are served](Plots/coalescing.svg)

    \(sharing)

    """
let folder = URL(fileURLWithPath: CommandLine.arguments[3], isDirectory: true)
let plots = folder.appendingPathComponent("Plots", isDirectory: true)
try FileManager.default.createDirectory(at: plots, withIntermediateDirectories: true)
try Data(page.utf8).write(to: folder.appendingPathComponent("RESULTS.md"))
try Data(targetPlot(rows).utf8).write(to: plots.appendingPathComponent("results.svg"))
try Data(sharingPlot(sharings).utf8).write(to: plots.appendingPathComponent("coalescing.svg"))
