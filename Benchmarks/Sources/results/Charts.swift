import Measure

/// Draws the median of each contender as a bar, with its spread as a thin line. The bars of Ness are blue, and that of its transport is
/// green.
func barChart(_ question: Question) -> String {
    // A character of this size is at most 8 wide, on average.
    let left = 30 + 7.5 * Double(question.contenders.map(\.contender.count).max() ?? 0)
    let (width, step) = (440.0, 30.0)
    let scale = width / max(question.contenders.compactMap { $0.rounds.max() }.max() ?? 1, 1e-9)
    let total = max(left + width + 90, 40 + 9 * Double(question.heading.count))
    var svg = SVG(width: Int(total), height: Int(60 + step * Double(question.contenders.count)), title: question.heading)
    for (index, each) in question.contenders.enumerated() {
        let y = 64 + step * Double(index)
        let (low, high) = ((each.rounds.min() ?? 0) * scale, (each.rounds.max() ?? 0) * scale)
        svg.text(each.contender, left - 10, y + 4, .end)
        svg.bar(left, y - 10, each.value * scale, 20, color(of: each.contender))
        svg.rule(left + low, y, left + high, y, isAxis: true)
        svg.text(figure(each.value), left + max(each.value * scale, high) + 8, y + 4)
    }
    return svg.file
}

private func color(of contender: String) -> String {
    if contender.hasPrefix("CurlTransport") { return SVG.colors[4] }
    return SVG.colors[contender.contains("Ness") ? 3 : 0]
}

/// Draws the time until all callers are served or have failed, by the number of callers.
func sharingPlot(_ sharings: [Sharing]) -> String {
    let handlers = sharings.reduce(into: [String]()) { if !$0.contains($1.handler) { $0.append($1.handler) } }
    let lines = zip(handlers, SVG.colors).map { handler, color in
        LinePlot.Line(
            name: handler, color: color,
            points: sharings.filter { $0.handler == handler }.map { (x: Double($0.callers), y: $0.milliseconds) })
    }
    return LinePlot(
        "Time until all callers of the same GET are served or have failed",
        x: LinePlot.Axis("concurrent callers", marks: [1, 10, 100, 1_000], isLogarithmic: true),
        y: LinePlot.Axis("milliseconds", marks: [10, 100, 1_000, 10_000], isLogarithmic: true), lines: lines
    ).file
}

/// Draws the cost of one unit of each kind of work, by the number that the work meets. In the best case the lines are level.
func growthPlot(_ title: String, _ kinds: [GrowthOfKind]) -> String {
    let colors = SVG.colors + ["#9b59b6", "#16a2a2", "#8c5a2b", "#c2185b", "#7f8c1b"]
    let lines = zip(kinds, colors).map { kind, color in
        LinePlot.Line(name: kind.kind, color: color, points: kind.records.map { (x: Double($0.count), y: median($0.micros)) })
    }
    return LinePlot(
        title, x: LinePlot.Axis("number", marks: [10, 100, 1_000, 10_000], isLogarithmic: true),
        y: LinePlot.Axis("processor time of one, in microseconds", marks: [0.1, 1, 10, 100, 1_000], isLogarithmic: true), lines: lines
    ).file
}
