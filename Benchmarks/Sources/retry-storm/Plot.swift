/// A plot of requests per second over time, as an SVG.
struct Plot {
    struct Line {
        let name: String
        let color: String
        let values: [Int]
    }

    let lines: [Line]
    /// The seconds in which the server fails.
    let shaded: Range<Int>

    private let left = 70.0
    private let top = 50.0
    private let width = 860.0
    private let height = 380.0

    var svg: String {
        let seconds = lines.map(\.values.count).max() ?? 1
        let most = lines.flatMap(\.values).max() ?? 1
        let ceiling = (most / 200 + 1) * 200
        func x(_ second: Int) -> Double { left + Double(second) / Double(seconds) * width }
        func y(_ count: Int) -> Double { top + height - Double(count) / Double(ceiling) * height }
        func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
        func text(_ x: Double, _ y: Double, _ content: String, _ more: String = "") -> String {
            #"<text x="\#(number(x))" y="\#(number(y))"\#(more.isEmpty ? "" : " " + more)>\#(content)</text>"#
        }
        func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ stroke: String, _ strokeWidth: Double = 1) -> String {
            let ends = #"x1="\#(number(x1))" y1="\#(number(y1))" x2="\#(number(x2))" y2="\#(number(y2))""#
            return #"<line \#(ends) stroke="\#(stroke)" stroke-width="\#(strokeWidth)"/>"#
        }

        var parts = [
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 500" font-family="sans-serif" font-size="13">"#,
            #"<rect width="960" height="500" fill="white"/>"#,
            text(left, 28, "Requests of 1,000 clients to a server that fails", #"font-size="17""#),
            #"<rect x="\#(number(x(shaded.lowerBound)))" y="\#(top)" width="\#(number(x(shaded.upperBound) - x(shaded.lowerBound)))" "#
                + ##"height="\##(height)" fill="#fbeaea"/>"##,
            text(x(shaded.lowerBound) + 60, top + 18, "the server answers 503", ##"fill="#a05050""##),
        ]
        for count in stride(from: 0, through: ceiling, by: 200) {
            parts.append(line(left, y(count), left + width, y(count), "#e0e0e0"))
            parts.append(text(left - 8, y(count) + 4, "\(count)", #"text-anchor="end""#))
        }
        for second in stride(from: 0, through: seconds, by: 10) {
            parts.append(line(x(second), top + height, x(second), top + height + 5, "#333333"))
            parts.append(text(x(second), top + height + 20, "\(second)", #"text-anchor="middle""#))
        }
        parts.append(line(left, top + height, left + width, top + height, "#333333"))
        parts.append(line(left, top, left, top + height, "#333333"))
        parts.append(text(left + width / 2, top + height + 44, "simulated time in seconds", #"text-anchor="middle""#))
        parts.append(text(0, 0, "requests a second", #"text-anchor="middle" transform="translate(20 \#(top + height / 2)) rotate(-90)""#))
        for line in lines {
            // Each point lies in the middle of its second.
            let points = line.values.enumerated().map { "\(number(x($0.offset) + width / Double(seconds) / 2)),\(number(y($0.element)))" }
            parts.append(
                #"<polyline fill="none" stroke="\#(line.color)" stroke-width="1.8" points="\#(points.joined(separator: " "))"/>"#)
        }
        for (index, item) in lines.enumerated() {
            let height = top + 18 + Double(index) * 20
            parts.append(line(x(seconds) - 420, height - 4, x(seconds) - 396, height - 4, item.color, 3))
            parts.append(text(x(seconds) - 388, height, item.name))
        }
        return (parts + ["</svg>"]).joined(separator: "\n") + "\n"
    }
}
