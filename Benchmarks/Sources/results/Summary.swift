import Measure

/// The end of the questions that were repeated with the newest libcurl: see `Benchmarks/run`.
private let repeated = ", newest libcurl"

/// Makes the top of the page: how Ness compares with AsyncHTTPClient, question by question, with both libcurls, and with URLSession.
func summary(_ questions: [Question]) -> String {
    let peer = "AsyncHTTPClient"
    func ratios(_ title: String) -> [String: Double] {
        let comparisons = questions.first { $0.title == title }?.comparisons(with: peer) ?? []
        return Dictionary(uniqueKeysWithValues: comparisons.map { ($0.variant, $0.ratio) })
    }
    func cell(_ ratio: Double?) -> String { ratio.map(figure) ?? "" }
    let rows = questions.filter { !$0.title.hasSuffix(repeated) }.flatMap { question in
        let again = ratios(question.title + repeated)
        return question.comparisons(with: peer).map { variant, ratio in
            // HTTP/2 needs the newer one in any case.
            question.title.hasSuffix("HTTP/2")
                ? [question.title + variant, "", cell(ratio)] : [question.title + variant, cell(ratio), cell(again[variant])]
        }
    }
    let session = questions.flatMap { $0.comparisons(with: "URLSession") }.map(\.ratio).min()
    return """
        In brief, each figure compares the medians of Ness and of \(peer). Above 1, Ness is better; up to 3 % is level. The
        system's libcurl, that of Debian 12, is from 2023. With the newest one, Ness is mostly ahead when many requests are concurrent. When one
        request follows the other, Ness is mostly behind, because each passes through two threads. Compared with URLSession, Ness is better in
        every question, by a factor of at least \(cell(session)).

        \(table(["", "the system's libcurl", "the newest libcurl"], rows))
        """
}
