import Foundation
import Measure

/// The growth of one kind of work.
struct GrowthOfKind {
    let kind: String
    /// The records, the smallest number first.
    let records: [Growth]

    static func group(_ all: [Growth]) -> [GrowthOfKind] {
        let kinds = all.reduce(into: [[String]]()) { if !$0.contains([$1.plot, $1.kind]) { $0.append([$1.plot, $1.kind]) } }
        return kinds.map { kind in
            let records = all.filter { [$0.plot, $0.kind] == kind }
            return GrowthOfKind(kind: kind[1], records: records.sorted { $0.count < $1.count })
        }
    }

    var plot: String { records[0].plot }
    var usesSockets: Bool { plot.hasPrefix("Over sockets") }

    /// The largest factor by which the cost grows when the number grows tenfold, from 100 on: below, what happens once in a round counts.
    private func factor(of cost: (Growth) -> Double?) -> Double? {
        let known = records.filter { $0.count >= 100 }.compactMap { record in cost(record).map { (count: Double(record.count), cost: $0) } }
        return zip(known, known.dropFirst()).map { pow($1.cost / $0.cost, log(10) / log($1.count / $0.count)) }.max()
    }

    var factorOfInstructions: Double? { factor(of: \.instructions) }
    var factorOfTime: Double? { factor { median($0.micros) } }
}

/// Says what a reader with 10,000 of something can expect. Empty if it was not measured.
func growthSummary(_ kinds: [GrowthOfKind]) -> String {
    let factors = kinds.compactMap(\.factorOfInstructions)
    guard let worst = factors.max() else { return "" }
    func worstTime(_ isIncluded: (GrowthOfKind) -> Bool) -> Double? { kinds.filter(isIncluded).compactMap(\.factorOfTime).max() }
    let time = worstTime { !$0.usesSockets } ?? 1
    var text = """


        When the number of waiting requests, callers of one exchange, handlers, links or cookies grows tenfold, the instructions of one grow by
        a factor of at most \(figure(worst)), and its time by one of at most \(figure(time)).
        """
    if let own = worstTime({ $0.kind == "Ness" }), let other = worstTime({ $0.kind == "AsyncHTTPClient" }) {
        text +=
            "\nOver sockets, the time grows by a factor of at most \(figure(own)), and that of AsyncHTTPClient by one of \(figure(other))."
    }
    return text
}

/// Makes the section about growth: the plots are in the folder beside the page.
func growthSection(_ kinds: [GrowthOfKind]) -> String {
    let plots = kinds.reduce(into: [String]()) { if !$0.contains($1.plot) { $0.append($1.plot) } }
    let parts = plots.map { plot in
        let own = kinds.filter { $0.plot == plot }, counts = Set(own.flatMap { $0.records.map(\.count) }).sorted()
        let rows = own.map { kind in
            [kind.kind]
                + counts.map { count in kind.records.first { $0.count == count }.map { figure(median($0.micros)) } ?? "" }
                + [kind.factorOfTime.map(figure) ?? "", kind.factorOfInstructions.map(figure) ?? ""]
        }
        let header = ["µs for"] + counts.map { "at \(figure(Double($0)))" } + ["time", "instructions"]
        return "### \(plot)\n\n![\(plot)](Plots/\(fileName(plot)))\n\n\(table(header, rows))\n"
    }
    let reasons = kinds.compactMap { kind -> String? in
        let name = kind.kind == "Ness" ? kind.plot : kind.kind, reason = reasonsOfGrowth[name]
        guard (kind.factorOfInstructions ?? 0) > 1.05 || reason != nil else { return nil }
        return "- **\(name)**: \((reason ?? notExplained).replacing("\n", with: "\n  "))"
    }
    return """
        ## One among many

        The processor time of one request, caller, handler or link when there are 10 to 10,000 of them, without a network unless a heading says
        so. The columns "time" and "instructions" hold the largest factor by which the cost of one grows when their number grows tenfold, from
        100 on.

        \(parts.joined(separator: "\n"))
        Where the time grows and the instructions do not, the likely cause is the processor's caches. Where no factor of instructions is given,
        nobody has counted them. Where they grow by more than a twentieth:

        \(reasons.joined(separator: "\n"))

        """
}
