import Foundation

/// A figure of a benchmark: one row of the table of results.
public struct Row: Codable, Sendable {
    /// The limit that a figure has to keep.
    public enum Target: Codable, Sendable {
        case atMost(Double)
        case atLeast(Double)

        /// The limit.
        public var limit: Double {
            switch self {
            case .atMost(let limit), .atLeast(let limit): limit
            }
        }

        /// The limit with its direction.
        public var text: String {
            switch self {
            case .atMost(let limit): "at most \(decimal(limit))"
            case .atLeast(let limit): "at least \(decimal(limit))"
            }
        }
    }

    /// The work that was measured, and the unit of the figure.
    public var work: String
    /// The median of the rounds.
    public var value: Double
    /// The least value of a round.
    public var lowest: Double
    /// The greatest value of a round.
    public var highest: Double
    /// The target, if the figure has one.
    public var target: Target?
    /// The reason why the figure misses its target. The page of results shows it if it does.
    public var reason: String?

    /// Makes a row.
    /// - Parameters:
    ///   - work: The work that was measured, and the unit of the figure.
    ///   - rounds: The figure of each round. Both sides of a ratio come from the same round.
    ///   - target: The target, if the figure has one.
    ///   - reason: The reason why the figure misses its target, if it does.
    public init(_ work: String, _ rounds: [Double], _ target: Target? = nil, missedBecause reason: String? = nil) {
        self.work = work
        self.reason = reason
        (value, lowest, highest) = (median(rounds), rounds.min() ?? 0, rounds.max() ?? 0)
        self.target = target
    }

    /// The lowest and the highest value of the rounds.
    public var spread: String { lowest == highest ? "" : "\(decimal(lowest))–\(decimal(highest))" }

    /// True if the figure misses its target.
    public var isMissed: Bool {
        switch target {
        case .atMost(let limit): value > limit
        case .atLeast(let limit): value < limit
        case nil: false
        }
    }

    /// A word that tells whether the figure keeps its target. Empty without a target.
    public var verdict: String { target == nil ? "" : isMissed ? "MISSED" : "met" }

    /// Prints the row, and adds it to the file of results.
    public func report() throws {
        let notes = [spread, target.map { "target: \($0.text)" } ?? ""].filter { !$0.isEmpty }.joined(separator: "; ")
        print("\(work): \(decimal(value))\(notes.isEmpty ? "" : " (\(notes))")\(verdict.isEmpty ? "" : ": \(verdict)")")
        try record(self)
    }
}

/// The answers to callers who send the same request at once, by one way of treating duplicates.
public struct Sharing: Codable, Sendable {
    /// The way of treating duplicates.
    public var handler: String
    /// The number of callers.
    public var callers: Int
    /// The number of callers who got the response.
    public var answered: Int
    /// The time until the last caller's promise was settled, in milliseconds.
    public var milliseconds: Double
    /// The number of requests that reached the server.
    public var requests: Int
    /// The bytes that the server received and sent, with the heads, without TCP.
    public var bytes: Int

    /// Makes a record.
    public init(handler: String, callers: Int, answered: Int, milliseconds: Double, requests: Int, bytes: Int) {
        (self.handler, self.callers, self.answered) = (handler, callers, answered)
        (self.milliseconds, self.requests, self.bytes) = (milliseconds, requests, bytes)
    }
}

/// Adds a record, as a line of JSON, to the file that the environment variable NESS_RESULTS names. Does nothing without the variable.
public func record(_ value: some Encodable) throws {
    guard let path = ProcessInfo.processInfo.environment["NESS_RESULTS"] else { return }
    if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: JSONEncoder().encode(value) + Data("\n".utf8))
    try file.close()
}

/// Makes a table in Markdown whose columns are aligned, so that it is readable on a terminal, too. All columns after the first are figures.
public func table(_ header: [String], _ rows: [[String]]) -> String {
    let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 2 }
    let rules = widths.enumerated().map { column, width in
        column == 0 ? String(repeating: "-", count: width) : String(repeating: "-", count: max(1, width - 1)) + ":"
    }
    let lines = [header, rules] + rows
    return lines.map { cells in
        let padded = cells.enumerated().map { column, cell in
            let space = String(repeating: " ", count: widths[column] - cell.count)
            return column == 0 ? cell + space : space + cell
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }.joined(separator: "\n")
}
