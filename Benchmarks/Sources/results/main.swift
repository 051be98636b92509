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
let growth = GrowthOfKind.group(lines.compactMap { try? JSONDecoder().decode(Growth.self, from: $0) })
let sharings = lines.compactMap { try? JSONDecoder().decode(Sharing.self, from: $0) }
let folder = URL(fileURLWithPath: CommandLine.arguments[4], isDirectory: true)
let plots = folder.appendingPathComponent("Plots", isDirectory: true)
try FileManager.default.createDirectory(at: plots, withIntermediateDirectories: true)

var sections: [String] = []
for question in questions {
    let note = notes.first { question.title.hasPrefix($0.key) }.map { $0.value + "\n\n" } ?? ""
    let header = ["", question.unit, "spread", "× \(question.reference.contender)"]
    let rows = question.contenders.map {
        [$0.contender, figure($0.value), $0.spread, figure($0.value / question.reference.value)]
    }
    sections.append("## \(question.title)\n\n")
    if question.contenders.count > 1 {
        try Data(barChart(question).utf8).write(to: plots.appendingPathComponent(question.fileName))
        sections.append("![\(question.heading)](Plots/\(question.fileName))\n\n")
    }
    sections.append(table(header, rows) + "\n\n" + note)
}
let missed = try targetRows(CommandLine.arguments[3], questions).filter { $0.last == isMissed }
let sharing = table(
    ["policy", "callers", "served", "ms", "requests", "bytes"],
    sharings.map {
        [
            $0.handler, figure(Double($0.callers)), figure(Double($0.answered)), figure($0.milliseconds), figure(Double($0.requests)),
            figure(Double($0.bytes)),
        ]
    })

let page = """
    # Results

    `Benchmarks/run` generates this page.

    \(summary(questions))\(growthSummary(growth))

    Measured on:

    \(machine)

    "Ness" uses its default transport: libcurl on Linux, URLSession on Apple platforms. In each section, the contenders take turns in the same
    run. The bars and the tables show the median of all rounds. The thin lines and the column "spread" show the lowest and the highest round.
    The last column is the row's median divided by the median of the client in the column heading. Compare figures within a section only,
    because the speed of the machine varies.

    \(sections.joined())
    \(growth.isEmpty ? "" : growthSection(growth))
    ## Duplicate requests

    Concurrent callers send the same GET. The server responds after 20 ms with 10,000 bytes, and the manager uses at most six connections. Each
    row shows the round with the median time.

    - "served" is the number of callers that received the response. With `keepFirstCompletion`, `keepLatestCompletion` and
      `dropPreviousRequest`, the other callers fail with `NessError.Kind.duplicate`.
    - "bytes" is what the server received and sent, including header fields.
    - `requestAllSeparately` shares nothing. A manager without a handler behaves as with `keepAllCompletion` for GET, HEAD and OPTIONS.
    - "requests" counts the requests that reached the server. With `dropPreviousRequest`, each caller drops the request of the one before,
      and most were dropped before that.

    ![Time until all callers are served or have failed](Plots/coalescing.svg)

    \(sharing)

    ## A server that fails

    This chart is a simulation of 1,000 clients, under several retry policies. `swift run -c release --package-path Benchmarks retry-storm`
    repeats it.

    ![Requests of 1,000 clients to a server that fails](Plots/retry-storm.svg)

    ## Where Ness is slower, and why

    \(listSlower(questions))
    ## Targets that this run missed

    \(missed.isEmpty ? "None." : table(["question", "target", "value"], missed.map { Array($0.dropLast()) }))

    """
try Data(page.utf8).write(to: folder.appendingPathComponent("RESULTS.md"))
for (plot, kinds) in Dictionary(grouping: growth, by: \.plot) {
    try Data(growthPlot(plot, kinds).utf8).write(to: plots.appendingPathComponent(fileName(plot)))
}
try Data(sharingPlot(sharings).utf8).write(to: plots.appendingPathComponent("coalescing.svg"))

for question in questions {
    print("\n\(question.heading)")
    for each in question.contenders { print("  \(each.contender): \(figure(each.value))") }
}
print("\n" + table(["target", "limit", "value", ""], try targetRows(CommandLine.arguments[3], questions)))
