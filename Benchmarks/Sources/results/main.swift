// Writes RESULTS.md and its charts from what the other programs measured, and prints the targets. `Benchmarks/run` calls it.
//   results RECORDS MACHINE TARGETS FOLDER
// RECORDS is the file that NESS_RESULTS named, MACHINE a file of lines about the machine, and FOLDER the folder to write to.
import Foundation
import Measure
import NessHTTP

guard CommandLine.arguments.count == 5 else {
    print("usage: results RECORDS MACHINE TARGETS FOLDER")
    exit(2)
}
let lines = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1])).split(separator: UInt8(ascii: "\n"))
var machine = try String(contentsOfFile: CommandLine.arguments[2], encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
#if os(Linux)
machine += "\n- \(CurlTransport.libraryVersion ?? "no libcurl")"
#endif
let questions = Question.group(lines.compactMap { try? JSONDecoder().decode(Measured.self, from: $0) })
let sharings = lines.compactMap { try? JSONDecoder().decode(Sharing.self, from: $0) }
let folder = URL(fileURLWithPath: CommandLine.arguments[4], isDirectory: true)
let plots = folder.appendingPathComponent("Plots", isDirectory: true)
try FileManager.default.createDirectory(at: plots, withIntermediateDirectories: true)

var sections: [String] = []
for question in questions {
    let header = ["", question.unit, "spread", "× \(question.reference.contender)"]
    let rows = question.contenders.map {
        [$0.contender, figure($0.value), $0.spread, figure($0.value / question.reference.value)]
    }
    sections.append("## \(question.title)\n\n")
    if question.contenders.count > 1 {
        try Data(barChart(question).utf8).write(to: plots.appendingPathComponent(question.fileName))
        sections.append("![\(question.heading)](Plots/\(question.fileName))\n\n")
    }
    sections.append(table(header, rows) + "\n\n")
}
let sharing = table(
    ["policy", "callers", "served", "ms", "requests", "bytes"],
    sharings.map { [$0.handler, "\($0.callers)", "\($0.answered)", figure($0.milliseconds), "\($0.requests)", "\($0.bytes)"] })

let page = """
    # Results

    `Benchmarks/run` wrote this page.

    \(machine)

    "Ness" is Ness over the engine that it chooses: libcurl on Linux, URLSession on Apple platforms. The contenders of a question take turns
    in one run. A bar and the table show the median of the rounds. The thin line and the column "spread" show the lowest and the highest
    round. The last column is the median as a multiple of the contender that its head names.

    \(sections.joined())
    ## Duplicate requests

    Concurrent callers send the same GET to a server that responds after 20 ms with 10,000 bytes. The manager uses at most six connections.
    Each line is the round of the median time. The column "served" counts the callers who received the response. The policies
    `keepFirstCompletion`, `keepLatestCompletion` and `dropPreviousRequest` fail all others with `NessError.duplicate`. The column "bytes"
    counts what the server received and sent, heads included. `requestAllSeparately` shares nothing. A manager without a handler does what
    `keepAllCompletion` does.

    ![Time until all callers are served](Plots/coalescing.svg)

    \(sharing)

    ## Where Ness is slower, and why

    \(listSlower(questions))
    """
try Data(page.utf8).write(to: folder.appendingPathComponent("RESULTS.md"))
try Data(sharingPlot(sharings).utf8).write(to: plots.appendingPathComponent("coalescing.svg"))

for question in questions {
    print("\n\(question.heading)")
    for each in question.contenders { print("  \(each.contender): \(figure(each.value))") }
}
print("\n" + table(["target", "limit", "value", ""], try targetRows(CommandLine.arguments[3], questions)))
