import Foundation
import Measure

/// The contenders of one question.
struct Question {
    let contenders: [Measured]
    /// The contender that the others are compared with: the first whose name begins with "Ness".
    let reference: Measured

    /// Groups records by their question, in the order in which the questions and the contenders were reported.
    static func group(_ all: [Measured]) -> [Question] {
        let titles = all.reduce(into: [String]()) { if !$0.contains($1.question) { $0.append($1.question) } }
        return titles.map { title in
            let contenders = all.filter { $0.question == title }
            return Question(contenders: contenders, reference: contenders.first { $0.contender.hasPrefix("Ness") } ?? contenders[0])
        }
    }

    var title: String { reference.question }
    var unit: String { reference.unit }
    /// The reason why other libraries are faster. A variant of a question has the question's reason.
    var reason: String { (reasons[title] ?? reasons.first { title.hasPrefix($0.key) }?.value) ?? notExplained }
    /// The title of the chart.
    var heading: String { "\(title), \(unit) (\(reference.better) is better)" }
    /// The name of the chart's file.
    var fileName: String { results.fileName(title) }

    /// Compares Ness with another client, once for each variant that both have, such as ", 3,000 waiting". Above 1, Ness is better. Ness is
    /// called with promises, and ", awaited" without; the other clients have one way.
    func comparisons(with client: String) -> [(variant: String, ratio: Double)] {
        contenders.compactMap { ness in
            guard ness.contender.hasPrefix("Ness") else { return nil }
            let variant = String(ness.contender.dropFirst(4))
            let name = client + variant.replacing(", awaited", with: "")
            guard let other = contenders.first(where: { $0.contender == name }) else { return nil }
            return (variant, ness.better == .more ? ness.value / other.value : other.value / ness.value)
        }
    }

    /// The other libraries that are ahead of Ness by more than 3 %. `nil` if no library is.
    var ahead: String? {
        let ahead = contenders.compactMap { other -> String? in
            // The same variant of Ness, or else the reference.
            let variant = other.contender.firstIndex(of: ",").map { String(other.contender[$0...]) } ?? ""
            let own = contenders.first { $0.contender == "Ness" + variant } ?? reference
            let ratio = other.value / own.value
            guard own.contender.hasPrefix("Ness"), !other.contender.contains("Ness") else { return nil }
            guard other.better == .less ? ratio < 0.97 : ratio > 1.03 else { return nil }
            return "\(other.contender) \(figure(ratio)) × \(own.contender)"
        }
        return ahead.isEmpty ? nil : "- **\(title), \(unit)**: \(ahead.joined(separator: "; "))"
    }
}

/// Returns the name of the file of a chart with a title.
func fileName(_ title: String) -> String {
    title.lowercased().map { $0.isLetter || $0.isNumber ? String($0) : " " }.joined().split(separator: " ").joined(separator: "-") + ".svg"
}

/// Makes a list of the questions in which other libraries are ahead of Ness. The reason follows the questions that share it.
func listSlower(_ questions: [Question]) -> String {
    let slower = questions.filter { $0.ahead != nil }
    let causes = slower.reduce(into: [String]()) { causes, question in
        let reason = question.reason
        if !causes.contains(reason) { causes.append(reason) }
    }
    return causes.map { reason in
        let own = slower.filter { ($0.reason) == reason }
        return own.compactMap(\.ahead).joined(separator: "\n") + "\n\n  " + reason.replacing("\n", with: "\n  ") + "\n"
    }.joined(separator: "\n")
}

/// The last cell of a target that was missed.
let isMissed = "MISSED"

/// Compares the figures with the targets of a file. Its lines have the form "question | contender | at most or at least | limit | other".
/// The limit applies to the figure as a multiple of the other contender's, or to the figure itself if the other is empty.
func targetRows(_ path: String, _ questions: [Question]) throws -> [[String]] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
        let parts = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 5, ["at most", "at least"].contains(parts[2]), let limit = Double(parts[3]) else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSDebugDescriptionErrorKey: "\(line)"])
        }
        let contenders = questions.first { $0.title == parts[0] }?.contenders ?? []
        let other = contenders.first { $0.contender == parts[4] }
        // A quick run does not measure everything.
        guard let own = contenders.first(where: { $0.contender == parts[1] }), parts[4].isEmpty || other != nil else { return nil }
        // As the page shows it.
        let value = (own.value / (other?.value ?? 1) * 100).rounded() / 100
        let isMet = parts[2] == "at most" ? value <= limit : value >= limit
        let work = "\(own.contender): \(own.question), \(other.map { "× \($0.contender)" } ?? own.unit)"
        return [work, "\(parts[2]) \(figure(limit))", figure(value), isMet ? "met" : isMissed]
    }
}
