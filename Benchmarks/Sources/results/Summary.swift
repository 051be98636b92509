import Measure

/// Makes the few lines at the top of the page: the questions in which Ness is ahead of AsyncHTTPClient, level with it, or behind, and how
/// far it is ahead of URLSession.
func summary(_ questions: [Question]) -> String {
    func ratio(_ question: Question, to name: String) -> Double? {
        guard question.reference.contender == "Ness", let other = question.contenders.first(where: { $0.contender == name }) else {
            return nil
        }
        return question.reference.better == .more ? question.reference.value / other.value : other.value / question.reference.value
    }
    let peer = "AsyncHTTPClient"
    func line(_ title: String, where isChosen: (Double) -> Bool) -> String? {
        let chosen = questions.compactMap { question in
            ratio(question, to: peer).flatMap { isChosen($0) ? "\(question.title) (\(figure($0)))" : nil }
        }
        return chosen.isEmpty ? nil : "- **\(title) \(peer):** \(chosen.joined(separator: "; "))."
    }
    let session = questions.compactMap { ratio($0, to: "URLSession") }
    let lines = [
        line("Ahead of", where: { $0 > 1.03 }), line("Level with", where: { (0.97...1.03).contains($0) }),
        line("Behind", where: { $0 < 0.97 }),
        session.min().map { "- **Ahead of URLSession on this platform:** in every question, at least \(figure($0)) times." },
    ]
    return "In brief. A figure above 1 means that Ness is better:\n\n" + lines.compactMap(\.self).joined(separator: "\n")
}
