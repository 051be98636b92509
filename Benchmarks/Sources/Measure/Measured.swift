import Foundation

/// The figures of one contender for one question. A contender whose name begins with "Ness" is the reference of its question.
public struct Measured: Codable, Sendable {
    /// The side that is better.
    public enum Better: String, Codable, Sendable {
        case less, more
    }

    /// The work that was measured, such as "64 concurrent GETs".
    public let question: String
    /// The unit of the figures, such as "requests per second".
    public let unit: String
    /// The better direction of the figures.
    public let better: Better
    /// The library or the way that did the work.
    public let contender: String
    /// The figure of each round.
    public let rounds: [Double]

    /// Makes a record. The environment variable NESS_VARIANT, such as "newest libcurl", follows the question.
    public init(_ question: String, _ unit: String, _ better: Better, _ contender: String, _ rounds: [Double]) {
        self.question = [question, ProcessInfo.processInfo.environment["NESS_VARIANT"]].compactMap(\.self).joined(separator: ", ")
        (self.unit, self.better, self.contender, self.rounds) = (unit, better, contender, rounds)
    }

    /// The median of the rounds.
    public var value: Double { median(rounds) }
    /// The lowest and the highest figure of the rounds. Empty if they are equal.
    public var spread: String {
        let (lowest, highest) = (figure(rounds.min() ?? 0), figure(rounds.max() ?? 0))
        return lowest == highest ? "" : "\(lowest)–\(highest)"
    }

    /// Prints the record, and adds it to the file of results.
    public func report() throws {
        print("\(question), \(unit): \(contender): \(figure(value))\(spread.isEmpty ? "" : " (\(spread))")")
        try record(self)
    }
}

/// The responses to concurrent callers of one request, by one policy for duplicates.
public struct Sharing: Codable, Sendable {
    /// The policy.
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

/// The cost of one unit of a kind of work that meets many of something.
public struct Growth: Codable, Sendable {
    /// The title of the plot that the kind belongs to.
    public let plot: String
    /// The kind of work.
    public let kind: String
    /// The number that it meets.
    public let count: Int
    /// The processor time of a unit in each round, in microseconds.
    public let micros: [Double]
    /// The instructions of a unit in user mode; `nil` if they were not counted.
    public let instructions: Double?

    /// Makes a record.
    public init(plot: String, kind: String, count: Int, micros: [Double], instructions: Double?) {
        (self.plot, self.kind, self.count, self.micros, self.instructions) = (plot, kind, count, micros, instructions)
    }

    /// Prints the record, and adds it to the file of results.
    public func report() throws {
        let counted = instructions.map { ", \(figure($0)) instructions" } ?? ""
        print("\(kind), \(figure(Double(count))): \(figure(median(micros))) µs\(counted)")
        fflush(nil)
        try record(self)
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

/// A number with three digits, or with all digits before the point. A whole number has no zeros behind the point.
public func figure(_ value: Double) -> String {
    guard value != value.rounded(), value < 99.95 else {
        let digits = Array("\(Int(value.rounded()))")
        return digits.indices.map { ($0 > 0 && (digits.count - $0) % 3 == 0 ? "," : "") + String(digits[$0]) }.joined()
    }
    return String(format: value < 9.995 ? "%.2f" : "%.1f", value)
}
