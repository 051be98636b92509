/// A drawing that follows the reader's light or dark colors.
public struct SVG {
    /// The colors of lines and bars, which stand out on light and on dark ground.
    public static let colors = ["#868686", "#d9423a", "#e08a00", "#3b82d6", "#2f9e57"]

    /// The end of a label that lies at its point.
    public enum Anchor: String { case start, middle, end }

    private let width: Int
    private let height: Int
    private var parts: [String] = []

    /// Makes an empty drawing with a title.
    public init(width: Int, height: Int, title: String) {
        (self.width, self.height) = (width, height)
        text(title, 20, 28, size: 17)
    }

    /// Adds a label. A `turned` label runs upwards.
    public mutating func text(_ content: String, _ x: Double, _ y: Double, _ anchor: Anchor = .start, size: Int = 13, turned: Bool = false)
    {
        let place = turned ? #"transform="translate(\#(short(x)) \#(short(y))) rotate(-90)""# : #"x="\#(short(x))" y="\#(short(y))""#
        let escaped = content.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
            .split(separator: "<", omittingEmptySubsequences: false).joined(separator: "&lt;")
        parts.append(#"<text class="ink" \#(place) text-anchor="\#(anchor.rawValue)" font-size="\#(size)">\#(escaped)</text>"#)
    }

    /// Adds a line of the grid, or of an axis.
    public mutating func rule(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, isAxis: Bool = false) {
        let ends = #"x1="\#(short(x1))" y1="\#(short(y1))" x2="\#(short(x2))" y2="\#(short(y2))""#
        parts.append(#"<line class="\#(isAxis ? "axis" : "grid")" \#(ends)/>"#)
    }

    /// Adds a shaded area.
    public mutating func shade(_ x: Double, _ y: Double, _ width: Double, _ height: Double) {
        parts.append(#"<rect class="shade" x="\#(short(x))" y="\#(short(y))" width="\#(short(width))" height="\#(short(height))"/>"#)
    }

    /// Adds a bar.
    public mutating func bar(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: String) {
        parts.append(#"<rect fill="\#(color)" x="\#(short(x))" y="\#(short(y))" width="\#(short(width))" height="\#(short(height))"/>"#)
    }

    /// Adds a line through points.
    public mutating func curve(_ points: [(x: Double, y: Double)], _ color: String, width: Double = 1.8) {
        let list = points.map { "\(short($0.x)),\(short($0.y))" }.joined(separator: " ")
        parts.append(#"<polyline fill="none" stroke="\#(color)" stroke-width="\#(width)" points="\#(list)"/>"#)
    }

    /// Adds a dot.
    public mutating func dot(_ x: Double, _ y: Double, _ color: String) {
        parts.append(#"<circle cx="\#(short(x))" cy="\#(short(y))" r="4.5" fill="\#(color)"/>"#)
    }

    /// The drawing as a file.
    public var file: String {
        let style = """
            <style>
            .back{fill:#ffffff}.ink{fill:#24292f}.axis{stroke:#57606a}.grid{stroke:#d8dee4}.shade{fill:#fbeaea}
            @media(prefers-color-scheme:dark){.back{fill:#0d1117}.ink{fill:#e6edf3}.axis{stroke:#8b949e}.grid{stroke:#30363d}.shade{fill:#3d1f1f}}
            </style>
            """
        let open = #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(width) \#(height)" font-family="sans-serif">"#
        let ground = #"<rect class="back" width="\#(width)" height="\#(height)"/>"#
        return ([open, style, ground] + parts + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    private func short(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
