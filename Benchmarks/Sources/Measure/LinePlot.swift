import Foundation

/// A plot of lines, as an SVG.
public struct LinePlot {
    /// A line of a plot.
    public struct Line {
        let name: String
        let color: String
        let points: [(x: Double, y: Double)]

        /// Makes a line.
        public init(name: String, color: String, points: [(x: Double, y: Double)]) {
            (self.name, self.color, self.points) = (name, color, points)
        }
    }

    /// An axis with its marks, the lowest first. The axis reaches from the first mark to the last.
    public struct Axis {
        let title: String
        let marks: [Double]
        let isLogarithmic: Bool

        /// Makes an axis.
        public init(_ title: String, marks: [Double], isLogarithmic: Bool = false) {
            (self.title, self.marks, self.isLogarithmic) = (title, marks, isLogarithmic)
        }

        /// Returns the place of a value: 0 at the first mark, and 1 at the last.
        func place(_ value: Double) -> Double {
            func scaled(_ value: Double) -> Double { isLogarithmic ? log(max(value, 1e-9)) : value }
            guard let first = marks.first, let last = marks.last, first < last else { return 0 }
            return (scaled(value) - scaled(first)) / (scaled(last) - scaled(first))
        }

        /// The title, with the scale if it is not linear.
        var label: String { isLogarithmic ? title + " (logarithmic scale)" : title }

        func text(_ mark: Double) -> String { mark == mark.rounded() ? "\(Int(mark))" : "\(mark)" }
    }

    let title: String
    let x: Axis
    let y: Axis
    let lines: [Line]
    let shaded: (range: Range<Double>, title: String)?

    /// Makes a plot. A part of it can be shaded along the x axis.
    public init(_ title: String, x: Axis, y: Axis, lines: [Line], shaded: (range: Range<Double>, title: String)? = nil) {
        (self.title, self.x, self.y, self.lines, self.shaded) = (title, x, y, lines, shaded)
    }

    /// The plot as a file.
    public var file: String {
        let (left, top, width, height) = (70.0, 50.0, 600.0, 380.0)
        func across(_ value: Double) -> Double { left + x.place(value) * width }
        func down(_ value: Double) -> Double { top + (1 - y.place(value)) * height }
        var svg = SVG(width: 1_140, height: 500, title: title)
        if let shaded {
            let (start, end) = (across(shaded.range.lowerBound), across(shaded.range.upperBound))
            svg.shade(start, top, end - start, height)
            svg.text(shaded.title, (start + end) / 2, top + 18, .middle)
        }
        for mark in y.marks {
            svg.rule(left, down(mark), left + width, down(mark), isAxis: mark == y.marks.first)
            svg.text(y.text(mark), left - 8, down(mark) + 4, .end)
        }
        for mark in x.marks {
            svg.rule(across(mark), top + height, across(mark), top + height + 5, isAxis: true)
            svg.text(x.text(mark), across(mark), top + height + 20, .middle)
        }
        svg.text(x.label, left + width / 2, top + height + 44, .middle)
        svg.text(y.label, 18, top + height / 2, .middle, turned: true)
        for (index, line) in lines.enumerated() {
            svg.curve(line.points.map { (across($0.x), down($0.y)) }, line.color)
            // Few points are measurements, many are a course over time.
            if line.points.count < 10 { for point in line.points { svg.dot(across(point.x), down(point.y), line.color) } }
            let row = top + 14 + Double(index) * 22
            svg.curve([(left + width + 20, row - 4), (left + width + 44, row - 4)], line.color, width: 3)
            svg.text(line.name, left + width + 52, row)
        }
        return svg.file
    }
}
