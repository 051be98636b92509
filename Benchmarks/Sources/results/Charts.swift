import Foundation
import Measure

/// Draws each figure that has a target on one scale: its multiple of the target. Left of the middle the target is met.
func targetPlot(_ rows: [Row]) -> String {
    let shown = rows.filter { $0.target != nil }
    let (left, width, step) = (640.0, 320.0, 24.0)
    let bottom = 64 + step * Double(shown.count)
    var svg = SVG(width: 1_080, height: Int(bottom) + 44, title: "Figures against their targets")
    /// Returns the place of a multiple. The scale is logarithmic, and ends at 1/8 and at 8.
    func across(_ multiple: Double) -> Double { left + (min(3, max(-3, log2(max(multiple, 1e-9)))) + 3) / 6 * width }
    for (multiple, name) in [(0.125, "⅛ or less"), (0.25, "¼"), (0.5, "½"), (1, "target"), (2, "2"), (4, "4"), (8, "8 or more")] {
        svg.rule(across(multiple), 50, across(multiple), bottom, isAxis: multiple == 1)
        svg.text(name, across(multiple), bottom + 18, .middle)
    }
    svg.text("better", left, bottom + 36)
    svg.text("worse", left + width, bottom + 36, .end)
    for (index, row) in shown.enumerated() {
        let y = 70 + step * Double(index)
        func multiple(_ value: Double) -> Double {
            guard case .atLeast(let limit) = row.target else { return value / (row.target?.limit ?? 1) }
            return limit / value
        }
        let isMet = row.verdict == "met"
        let color = SVG.colors[isMet ? 3 : 2]
        svg.text(row.work.filter { $0 != "`" }, left - 20, y + 4, .end)
        svg.curve([(across(multiple(row.lowest)), y), (across(multiple(row.highest)), y)], color)
        svg.dot(across(multiple(row.value)), y, color, isHollow: !isMet)
        svg.text(decimal(row.value), left + width + 70, y + 4, .end)
    }
    return svg.file
}

/// Draws the time until all callers are served, by the number of callers.
func sharingPlot(_ sharings: [Sharing]) -> String {
    let handlers = sharings.reduce(into: [String]()) { if !$0.contains($1.handler) { $0.append($1.handler) } }
    let lines = zip(handlers, SVG.colors).map { handler, color in
        LinePlot.Line(
            name: handler, color: color,
            points: sharings.filter { $0.handler == handler }.map { (x: Double($0.callers), y: $0.milliseconds) })
    }
    return LinePlot(
        "Time until all callers of the same GET are served",
        x: LinePlot.Axis("callers at once", marks: [1, 10, 100, 1_000], isLogarithmic: true),
        y: LinePlot.Axis("milliseconds", marks: [10, 100, 1_000, 10_000], isLogarithmic: true), lines: lines
    ).file
}
