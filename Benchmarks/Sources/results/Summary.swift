import Measure

/// Makes the few lines at the top of the page: the questions in which Ness is ahead of AsyncHTTPClient, level with it, or behind, and how
/// far it is ahead of URLSession.
func summary(_ questions: [Question]) -> String {
    let peer = "AsyncHTTPClient"
    func line(_ title: String, where isChosen: (Double) -> Bool) -> String? {
        let chosen = questions.flatMap { question in
            question.comparisons(with: peer).filter { isChosen($0.ratio) }.map { "\(question.title)\($0.variant) (\(figure($0.ratio)))" }
        }
        return chosen.isEmpty ? nil : "- **\(title) \(peer):** \(chosen.joined(separator: "; "))."
    }
    let session = questions.flatMap { $0.comparisons(with: "URLSession") }.map(\.ratio)
    let lines = [
        line("Ahead of", where: { $0 > 1.03 }), line("Level with", where: { (0.97...1.03).contains($0) }),
        line("Behind", where: { $0 < 0.97 }),
        session.min().map { "- **Against URLSession:** in every question, at least \(figure($0))." },
    ]
    return "In brief. Each figure compares the medians of Ness and of the other client. Above 1, Ness is better; up to 3 % is level:\n\n"
        + lines.compactMap(\.self).joined(separator: "\n")
}
